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

export function Spark({ values, mark = -1, kind = 'worse', label, width = 120, height = 22 }: Props) {
  const known = values.filter((v): v is number => v !== null && Number.isFinite(v));
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const span = Math.max(most - least, Math.abs(most) * flat) || 1;
  const low = (least + most - span) / 2;
  const x = (i: number) => 3 + (values.length > 1 ? (i / (values.length - 1)) * (width - 6) : (width - 6) / 2);
  const y = (v: number) => (known.length > 1 && span ? height - 4 - ((v - low) / span) * (height - 8) : height / 2);
  let path = '';
  let pen = 'M';
  values.forEach((v, i) => {
    if (v === null || !Number.isFinite(v)) {
      pen = 'M';
      return;
    }
    path += `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = 'L';
  });
  const at = values[mark];
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path d={path} />
      {at !== null && at !== undefined && <circle class={kind} cx={x(mark)} cy={y(at)} r="2.6" />}
    </svg>
  );
}
