// Numbers over runs or over time: lines, the mean of one and a band around it, marks, and flags where a line begins. It is SVG: it
// takes its colours from the style sheet, prints, and its text can be selected. A click chooses a point, a drag several.
import { useRef, useState } from 'preact/hooks';
import { instant, levelText, visible } from '../core/format';
import { known, strokes } from './Spark';
import { Pairs, showTip } from './Tip';
import { useWidth } from './width';

/** Of each point; null: no data. */
type Values = readonly (number | null)[];

export interface Line {
  name: string;
  values: Values;
}

export interface Mark {
  /** The index of the point. */
  index: number;
  label: string;
  kind: 'worse' | 'better';
}

interface Props {
  label: string;
  /** Milliseconds since 1970 of the points; without it they are runs, side by side. */
  times?: readonly number[];
  /** What names runs, and what stands below them: days or hours (axisOf); without it their numbers. */
  names?: readonly string[];
  below?: readonly string[];
  lines: readonly Line[];
  /** Lines that are compared have one scale, which begins at 0, and a colour each. */
  compared?: boolean;
  /** Of the only line: its moving mean, and the ends of a band around it. */
  mean?: Values;
  low?: Values;
  high?: Values;
  marks?: readonly Mark[];
  /** A line that begins after the first point has a flag with its name. */
  flags?: boolean;
  height?: number;
  format: (v: number) => string;
  /** The chosen time, in milliseconds. */
  chosen?: readonly [number, number] | null;
  /** A drag from one point to another, or a click on one. */
  onChoose?: ((from: number, to: number) => void) | undefined;
}

const bottom = 22;

/** The colour of a line: readable on both grounds. */
export const colourOf = (i: number): string => `hsl(${(212 + i * 137) % 360} 62% 50%)`;

/** What names runs in a chart: their keys and dates, and below it days or, of one day, hours. */
export function axisOf(runs: readonly { run: string; date?: string | undefined }[]): { names: string[]; below?: string[] } {
  const dates = runs.map(r => instant(r.date));
  const names = runs.map((r, i) => visible([r.run, dates[i]].filter(Boolean).join(' · ')));
  const given = dates.filter(Boolean).sort();
  const [first, last] = [given[0], given[given.length - 1]];
  if (!first || !last) return { names };
  const near = Date.parse(last) - Date.parse(first) < 3 * 86_400_000; // a day says too little
  const [from, to] = first.slice(0, 10) === last.slice(0, 10) ? [11, 16] : near ? [5, 16] : first.slice(0, 4) === last.slice(0, 4) ? [5, 10] : [0, 10];
  return { names, below: dates.map(d => d.slice(from, to)) };
}

/** A number over runs, with its moving mean and a band of so many standard deviations around it. */
export const banded = (values: Values, around: readonly { mean: number; deviation: number }[], width = 2) => ({
  lines: [{ name: 'value', values }],
  mean: around.map(l => l.mean),
  low: around.map(l => Math.max(0, l.mean - width * l.deviation)),
  high: around.map(l => l.mean + width * l.deviation),
});

/** Round numbers from low to high, about n of them. */
export function ticks(low: number, high: number, n: number): number[] {
  const raw = (high - low) / n;
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(k => k >= raw)!;
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) list.push(+(k * step).toPrecision(12));
  return list;
}

/** Round times, at most so many: full minutes, hours, days of UTC. */
export function hoursAt(first: number, last: number, most: number): number[] {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400].map(minutes => minutes * 60_000).find(s => (last - first) / s < most) ?? (last - first) / most;
  const from = Math.ceil(first / step);
  return Array.from({ length: Math.max(0, Math.floor(last / step) - from + 1) }, (_, i) => (from + i) * step);
}

/** The range of values with a margin on both sides. */
export function range(list: readonly number[]): [low: number, high: number] {
  const [low, high] = [Math.min(...list), Math.max(...list)];
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - pad, high + pad];
}

/** The round values of an axis, about n of them, each with its label. */
export const levelsOf = (low: number, high: number, n: number, format: (v: number) => string) => (n > 0 ? ticks(low, high, n) : []).map((v): [value: number, label: string] => [v, levelText(v, high, format)]);

/** The room left of a chart that its labels need. */
export const roomOf = (levels: ReturnType<typeof levelsOf>): number => Math.max(40, ...levels.map(([, label]) => 12 + 6.4 * label.length));

/** The lines of an axis, with their labels. */
export const Levels = ({ of, left, right, y }: { of: ReturnType<typeof levelsOf>; left: number; right: number; y: (v: number) => number }) => (
  <>
    {of.map(([v, label]) => (
      <g key={v}>
        <line class="grid" x1={left} x2={right} y1={y(v)} y2={y(v)} />
        <text class="axis" x={left - 6} y={y(v) + 4} text-anchor="end">
          {label}
        </text>
      </g>
    ))}
  </>
);

export function Plot(p: Props) {
  const { times, lines, compared, mean = [], low = [], high = [], marks = [], height = 240, format, onChoose } = p;
  const host = useRef<HTMLDivElement>(null);
  const width = Math.max(200, useWidth(host, 600));
  const [at, setAt] = useState(-1);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const points = times ?? (lines[0]?.values ?? []).map((_, i) => i);
  const all = [...lines.map(l => l.values), mean, low, high].flatMap(list => list.filter(known));
  const [least, most] = compared ? [0, Math.max(...all, 0) * 1.08 || 1] : range(all);
  const [first = 0, last = first + 1] = [points[0], points[points.length - 1]];
  const levels = levelsOf(least, most, all.length > 0 ? Math.max(2, height / 55) : 0, format);
  const [left, right, top] = [roomOf(levels) + 8, width - 12, p.flags ? 18 : 8];
  const x = (v: number) => left + ((v - first) / (last - first || 1)) * (right - left);
  const place = (i: number) => x(points[i]!);
  const y = (v: number) => top + (1 - (v - least) / (most - least)) * (height - top - bottom);
  const band = points.map((_, i) => i).filter(i => known(low[i]) && known(high[i]));
  const area = [...band.map(i => [place(i), y(high[i]!)]), ...band.reverse().map(i => [place(i), y(low[i]!)])].map(c => c.map(v => v!.toFixed(1)).join(' ')).join('L');
  // What stands below: round times, or every so many runs; where it is the same again, nothing.
  const room = Math.max(2, Math.floor((right - left) / 112));
  const every = Math.max(1, Math.ceil(points.length / room));
  const under = times
    ? hoursAt(first, last, room).map((v): [number, string] => [v, instant(v).slice(last - first > 20 * 3_600_000 ? 5 : 11)])
    : points.filter(i => i % every === 0).map((i): [number, string] => [i, p.below ? p.below[i]! : String(i + 1)]);
  const begins = p.flags ? lines.map(l => l.values.findIndex(known)) : [];
  const chosen = drag ? [points[Math.min(...drag)]!, points[Math.max(...drag)]!] : p.chosen;
  const nearest = (e: MouseEvent) => {
    const px = e.clientX - host.current!.getBoundingClientRect().left;
    let best = 0;
    for (let i = 1; i < points.length; i++) if (Math.abs(place(i) - px) < Math.abs(place(best) - px)) best = i;
    return best;
  };
  const hover = (e: MouseEvent, i: number) => {
    setAt(i);
    const [of, from, to] = [mean[i], low[i], high[i]];
    showTip(
      e.clientX,
      e.clientY,
      <>
        <b>{p.names?.[i] ?? `${instant(points[i]!)} UTC`}</b>
        <small>
          {marks
            .filter(m => m.index === i)
            .map(m => m.label)
            .join(', ')}
        </small>
        <Pairs
          of={[
            ...lines.map(l => known(l.values[i]) && ([visible(l.name), format(l.values[i])] as const)),
            known(of) && ['mean', format(of)],
            known(to) && ['band', known(from) ? `${format(from)} – ${format(to)}` : format(to)],
          ]}
        />
      </>,
    );
  };
  const end = (choose: boolean) => {
    showTip(0, 0, null);
    setAt(-1);
    if (drag && choose) onChoose!(Math.min(...drag), Math.max(...drag));
    setDrag(null);
  };
  return (
    <div ref={host} class={`band ${onChoose ? 'pick' : ''}`}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={p.label}
        onPointerDown={e => {
          if (e.button !== 0 || !onChoose) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag([nearest(e), nearest(e)]);
        }}
        onPointerMove={e => {
          const i = nearest(e);
          if (drag) setDrag([drag[0], i]);
          hover(e, i);
        }}
        onPointerUp={() => end(true)}
        onPointerCancel={() => end(false)}
        onPointerLeave={() => !drag && end(false)}
      >
        <Levels of={levels} left={left - 8} right={width} y={y} />
        {under.map(
          ([v, text], k) =>
            text !== under[k - 1]?.[1] && (
              <text key={v} class="axis" {...(x(v) > width - 52 ? { x: width, 'text-anchor': 'end' } : x(v) < left + 30 ? { x: left - 8 } : { x: x(v), 'text-anchor': 'middle' })} y={height - 6}>
                {text}
              </text>
            ),
        )}
        {chosen && <rect class="chosen" x={x(chosen[0]!) - 1} width={Math.max(2, x(chosen[1]!) - x(chosen[0]!))} y={top} height={height - top - bottom} />}
        {area && <path class="area" d={`M${area}Z`} />}
        <path class="mean" d={strokes(mean, place, y)} />
        {lines.map(({ name, values }, k) => (
          <g key={name} style={compared ? { '--ink': colourOf(k) } : {}}>
            <path class="line" d={strokes(values, place, y)} />
            {values.map((v, i) => known(v) && (compared ? !known(values[i - 1]) && !known(values[i + 1]) : values.length < 400) && <circle key={i} class="point" cx={place(i)} cy={y(v)} r="2" />)}
            {known(values[at]) && <circle class="now" cx={place(at)} cy={y(values[at])} r="4.5" />}
          </g>
        ))}
        {marks.map(m => {
          const v = lines[0]!.values[m.index];
          return (
            <g key={m.index + m.label} class={`at ${m.kind}`}>
              <line x1={place(m.index)} x2={place(m.index)} y1={top} y2={height - bottom} />
              {known(v) && <circle cx={place(m.index)} cy={y(v)} r="4" />}
            </g>
          );
        })}
        {begins.map(
          (i, k) =>
            i > Math.min(...begins) && (
              <g key={lines[k]!.name} class="at flag">
                <line x1={place(i)} x2={place(i)} y1={top - 6} y2={height - bottom} />
                <text class="axis" {...(place(i) > right - 80 ? { x: place(i) - 4, 'text-anchor': 'end' } : { x: place(i) + 4 })} y={top - 6}>
                  {visible(lines[k]!.name).slice(0, 24)}
                </text>
              </g>
            ),
        )}
      </svg>
      {lines.length > 1 && (
        <p class="legend">
          {lines.map((l, k) => (
            <span key={l.name}>
              <i style={{ background: colourOf(k), width: '12px' }} /> {visible(l.name)}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
