// A series over time or runs, with its moving mean, a band around it, and marks. It is
// SVG: it takes its colours from the style sheet, prints, and its text can be selected.
import { useRef, useState } from 'preact/hooks';
import { instant, trimmed, visible } from '../core/format';
import { known, strokes } from './Spark';
import { Pairs, showTip } from './Tip';
import { useWidth } from './width';

export interface Series {
  /** Unix seconds, or positions if names has the text of each. */
  x: readonly number[];
  values: readonly (number | null)[];
  mean?: readonly (number | null)[];
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
}

export interface Mark {
  /** Index in Series.x. */
  index: number;
  label: string;
  kind: 'worse' | 'better' | 'note';
}

interface Props {
  label: string;
  series: Series;
  names?: readonly string[];
  /** What stands below the points: days or hours of runs (axisOf); without it their numbers. */
  below?: readonly string[];
  marks?: readonly Mark[];
  height?: number;
  format: (v: number) => string;
  /** A click on the point with this index. */
  onSelect?: (index: number) => void;
}

const bottom = 22;
const top = 8;

/** What names runs in a chart: their keys and dates, and below it days or, of one day, hours. */
export function axisOf(runs: readonly { run: string; date?: string | undefined }[]): { names: string[]; below?: string[] } {
  const dates = runs.map(r => (r.date ? instant(r.date) : ''));
  const names = runs.map((r, i) => visible([r.run, dates[i]].filter(Boolean).join(' · ')));
  const given = dates.filter(Boolean).sort();
  const [first, last] = [given[0], given[given.length - 1]];
  if (!first || !last) return { names };
  const near = Date.parse(last) - Date.parse(first) < 3 * 86_400_000; // a day says too little
  const [from, to] = first.slice(0, 10) === last.slice(0, 10) ? [11, 16] : near ? [5, 16] : first.slice(0, 4) === last.slice(0, 4) ? [5, 10] : [0, 10];
  return { names, below: dates.map(d => d.slice(from, to)) };
}

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

/** The round values of an axis, about n of them, each with its label. */
export const levelsOf = (low: number, high: number, n: number, format: (v: number) => string) => (n > 0 ? ticks(low, high, n) : []).map((v): [value: number, label: string] => [v, trimmed(format(v))]);

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

export function Band({ label, series, names, below, marks = [], height = 260, format, onSelect }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const width = Math.max(200, useWidth(host, 600));
  const [at, setAt] = useState(-1);
  const { x: xs, values, mean = [], low = [], high = [] } = series;
  const all = [values, mean, low, high].flatMap(list => list.filter(known));
  const pad = (Math.max(...all) - Math.min(...all)) * 0.06 || Math.abs(all[0] ?? 1) * 0.1 || 1;
  const [least, most] = [Math.min(...all) - pad, Math.max(...all) + pad];
  const [first, last] = [xs[0] ?? 0, xs[xs.length - 1] ?? 1];
  const levels = levelsOf(least, most, all.length > 0 ? Math.max(2, height / 55) : 0, format);
  const left = roomOf(levels);
  const x = (i: number) => left + 8 + (((xs[i] ?? 0) - first) / (last - first || 1)) * (width - left - 20);
  const y = (v: number) => top + (1 - (v - least) / (most - least)) * (height - top - bottom);
  const band = xs.map((_, i) => i).filter(i => known(low[i]) && known(high[i]));
  const area = [...band.map(i => [x(i), y(high[i]!)]), ...band.reverse().map(i => [x(i), y(low[i]!)])]
    .map(p => p.map(v => v!.toFixed(1)).join(' '))
    .join('L');
  const nameOf = (i: number) => names?.[i] ?? instant(new Date((xs[i] ?? 0) * 1000).toISOString());
  const under = (i: number) => (below ? below[i]! : names ? String(i + 1) : nameOf(i));
  const every = Math.max(1, Math.ceil(xs.length / Math.max(1, Math.floor((width - left) / 112))));
  const nearest = (e: MouseEvent) => {
    const px = e.clientX - host.current!.getBoundingClientRect().left;
    let best = 0;
    for (let i = 1; i < xs.length; i++) if (Math.abs(x(i) - px) < Math.abs(x(best) - px)) best = i;
    return best;
  };
  const hover = (e: MouseEvent) => {
    const i = nearest(e);
    setAt(i);
    const [value, of, from, to] = [values[i], mean[i], low[i], high[i]];
    showTip(
      e.clientX,
      e.clientY,
      <>
        <b>{nameOf(i)}</b>
        <small>
          {marks
            .filter(m => m.index === i)
            .map(m => m.label)
            .join(', ')}
        </small>
        <Pairs of={[known(value) && ['value', format(value)], known(of) && ['mean', format(of)], known(to) && ['band', known(from) ? `${format(from)} – ${format(to)}` : format(to)]]} />
      </>,
    );
  };
  const leave = () => {
    setAt(-1);
    showTip(0, 0, null);
  };
  return (
    <div ref={host} class={`band ${onSelect ? 'pick' : ''}`}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        onMouseMove={hover}
        onMouseLeave={leave}
        onClick={e => onSelect?.(nearest(e))}
      >
        <Levels of={levels} left={left} right={width} y={y} />
        {xs.map(
          (_, i) =>
            i % every === 0 &&
            (i === 0 || under(i) !== under(i - every)) && (
              <text key={i} class="axis" {...(x(i) > width - 52 ? { x: width, 'text-anchor': 'end' } : { x: x(i), 'text-anchor': 'middle' })} y={height - 6}>
                {under(i)}
              </text>
            ),
        )}
        {area && <path class="area" d={`M${area}Z`} />}
        <path class="mean" d={strokes(mean, x, y)} />
        <path class="line" d={strokes(values, x, y)} />
        {xs.length < 400 && values.map((v, i) => known(v) && <circle key={i} class="point" cx={x(i)} cy={y(v)} r="2" />)}
        {marks.map(m => {
          const v = values[m.index];
          return (
            <g key={m.index + m.label} class={`at ${m.kind}`}>
              <line x1={x(m.index)} x2={x(m.index)} y1={top} y2={height - bottom} />
              {known(v) && <circle cx={x(m.index)} cy={y(v)} r="4" />}
            </g>
          );
        })}
        {known(values[at]) && <circle class="now" cx={x(at)} cy={y(values[at]!)} r="4.5" />}
      </svg>
    </div>
  );
}
