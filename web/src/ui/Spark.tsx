// A small line of values, without axes.

/** What differs by less of its largest value is nearly a line: noise does not look like a change. */
const flat = 0.1;

interface Props {
  values: readonly (number | null)[];
  /** The index of the value to mark; -1: none. */
  mark?: number;
  kind?: 'worse' | 'better';
  /** Read out in place of the picture. */
  label: string;
  width?: number;
  height?: number;
}

export const known = (v: number | null | undefined): v is number => v !== null && v !== undefined && Number.isFinite(v);

/** The path of a line through values at their places; it has gaps where they are unknown. */
export const strokes = (values: readonly (number | null)[], x: (i: number) => number, y: (v: number) => number): string =>
  values.map((v, i) => (known(v) ? `${known(values[i - 1]) ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}` : '')).join('');

export function Spark({ values, mark = -1, kind = 'worse', label, width = 120, height = 22 }: Props) {
  const list = values.filter(known);
  const [least, most] = [Math.min(...list), Math.max(...list)];
  const span = Math.max(most - least, Math.abs(most) * flat) || 1;
  const low = (least + most - span) / 2;
  const x = (i: number) => 3 + (values.length > 1 ? (i / (values.length - 1)) * (width - 6) : (width - 6) / 2);
  const y = (v: number) => (list.length > 1 && span ? height - 4 - ((v - low) / span) * (height - 8) : height / 2);
  const at = values[mark];
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path d={strokes(values, x, y)} />
      {at !== null && at !== undefined && <circle class={kind} cx={x(mark)} cy={y(at)} r="2.6" />}
    </svg>
  );
}
