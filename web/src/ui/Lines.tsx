// Lines over time on one scale that begins at 0, with flags where a line begins: a drag chooses a time.
import { useRef, useState } from 'preact/hooks';
import { instant, visible } from '../core/format';
import { Levels, levelsOf, roomOf } from './Band';
import { strokes } from './Spark';
import { Pairs, showTip } from './Tip';
import { useWidth } from './width';

export interface Line {
  name: string;
  /** Of each time; null: no data. */
  values: readonly (number | null)[];
}

interface Props {
  label: string;
  /** Milliseconds since 1970, of the points; of runs their positions. */
  times: readonly number[];
  /** What names runs, and what stands below them. */
  runs?: { names: readonly string[]; below?: readonly string[] };
  lines: readonly Line[];
  format: (v: number) => string;
  /** A line that begins after the first point has a flag with its name. */
  flags: boolean;
  /** The chosen time, in milliseconds. */
  chosen: readonly [number, number] | null;
  /** A drag from one point to another, or a click on one. */
  onChoose: (from: number, to: number) => void;
}

const [bottom, top, height] = [22, 18, 240];

/** The colour of a line: readable on both grounds. */
export const colourOf = (i: number): string => `hsl(${(212 + i * 137) % 360} 62% 50%)`;

/** "16:05", or with the day where the time spans more than one. */
const clock = (at: number, days: boolean): string => instant(new Date(at).toISOString()).slice(days ? 5 : 11);

/** Round times, at most so many: full minutes, hours, days of UTC. */
export function hoursAt(first: number, last: number, most: number): number[] {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400].map(minutes => minutes * 60_000).find(s => (last - first) / s < most) ?? (last - first) / most;
  const from = Math.ceil(first / step);
  return Array.from({ length: Math.max(0, Math.floor(last / step) - from + 1) }, (_, i) => (from + i) * step);
}

export function Lines({ label, times, runs, lines, format, flags, chosen, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const width = Math.max(240, useWidth(host, 900));
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const most = Math.max(...lines.flatMap(l => l.values.filter(v => v !== null)), 0) * 1.08 || 1;
  const [first = 0, last = first + 1] = [times[0], times[times.length - 1]];
  const levels = levelsOf(0, most, 4, format);
  const [left, right] = [roomOf(levels), width - 12];
  const x = (at: number) => left + ((at - first) / (last - first || 1)) * (right - left);
  const y = (v: number) => top + (1 - v / most) * (height - top - bottom);
  const nearest = (e: MouseEvent) => {
    const share = (e.clientX - host.current!.getBoundingClientRect().left - left) / (right - left);
    return Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1))));
  };
  const alone = (values: readonly (number | null)[], i: number) => values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
  const days = last - first > 20 * 3_600_000;
  const below = (at: number) => (runs ? (runs.below?.[Math.round(at)] ?? String(Math.round(at) + 1)) : clock(at, days));
  const count = Math.max(2, Math.min(Math.floor((right - left) / 120), runs ? times.length : Infinity));
  const ticksAt = runs ? Array.from({ length: count }, (_, i) => first + ((last - first) * i) / (count - 1)) : hoursAt(first, last, count);
  const begins = flags ? lines.map(l => l.values.findIndex(v => v !== null)) : [];
  const earliest = Math.min(...begins);
  const range = drag ? ([times[Math.min(...drag)]!, times[Math.max(...drag)]!] as const) : chosen;
  const tip = (e: MouseEvent, i: number) =>
    showTip(
      e.clientX,
      e.clientY,
      <>
        <b>{runs?.names[i] ?? `${instant(new Date(times[i]!).toISOString())} UTC`}</b>
        <Pairs of={lines.map(l => typeof l.values[i] === 'number' && [visible(l.name), format(l.values[i])])} />
      </>,
    );
  const end = (choose: boolean) => {
    showTip(0, 0, null);
    if (drag && choose) onChoose(Math.min(...drag), Math.max(...drag));
    setDrag(null);
  };
  return (
    <div ref={host} class="band pick">
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        onPointerDown={e => {
          if (e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag([nearest(e), nearest(e)]);
        }}
        onPointerMove={e => {
          const i = nearest(e);
          if (drag) setDrag([drag[0], i]);
          tip(e, i);
        }}
        onPointerUp={() => end(true)}
        onPointerCancel={() => end(false)}
        onPointerLeave={() => !drag && end(false)}
      >
        <Levels of={levels} left={left} right={right} y={y} />
        {ticksAt.map((at, i) => (
          <text key={i} class="axis" x={x(at)} y={height - 6} text-anchor={x(at) > right - 24 ? 'end' : 'middle'}>
            {i === 0 || below(at) !== below(ticksAt[i - 1]!) ? below(at) : ''}
          </text>
        ))}
        {range && <rect class="chosen" x={x(range[0]) - 1} width={Math.max(2, x(range[1]) - x(range[0]))} y={top} height={height - top - bottom} />}
        {lines.map((l, k) => (
          <g key={l.name}>
            <path class="line" d={strokes(l.values, i => x(times[i]!), y)} style={{ stroke: colourOf(k) }} />
            {l.values.map((v, i) => alone(l.values, i) && <circle key={i} cx={x(times[i]!)} cy={y(v!)} r="2" style={{ fill: colourOf(k) }} />)}
          </g>
        ))}
        {begins.map(
          (i, k) =>
            i > earliest && (
              <g key={lines[k]!.name} class="at note flag">
                <line x1={x(times[i]!)} x2={x(times[i]!)} y1={top - 6} y2={height - bottom} />
                <text class="axis" x={Math.min(x(times[i]!) + 4, right)} y={top - 6} text-anchor={x(times[i]!) > right - 80 ? 'end' : 'start'}>
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
