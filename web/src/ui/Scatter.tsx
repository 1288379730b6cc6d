// Points of two numbers with the line through them, as SVG.
import { Levels, levelsOf, range, roomOf, ticks } from './Plot';

interface Props {
  label: string;
  points: readonly { x: number; y: number; name: string }[];
  /** y of the line at 0, and its slope; without a slope there is none. */
  slope?: number | undefined;
  intercept?: number | undefined;
  formatX: (v: number) => string;
  formatY: (v: number) => string;
}

const width = 360;
const height = 220;
const right = 12;
const top = 8;
const bottom = 24;

export function Scatter({ label, points, slope, intercept = 0, formatX, formatY }: Props) {
  const [x0, x1] = range(points.map(p => p.x));
  const [y0, y1] = range(points.map(p => p.y));
  const levels = levelsOf(y0, y1, 4, formatY);
  const left = roomOf(levels);
  const x = (v: number) => left + ((v - x0) / (x1 - x0)) * (width - left - right);
  const y = (v: number) => top + (1 - (v - y0) / (y1 - y0)) * (height - top - bottom);
  // The part of the line that is inside.
  const ends: [number, number][] = [];
  if (slope !== undefined) {
    const at = [x0, x1, ...(slope === 0 ? [] : [(y0 - intercept) / slope, (y1 - intercept) / slope])].sort((a, b) => a - b);
    for (const v of at.length === 4 ? at.slice(1, 3) : at) ends.push([v, intercept + slope * v]);
  }
  return (
    <div class="band scatter">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
        <Levels of={levels} left={left} right={width} y={y} />
        {ticks(x0, x1, 3).map(v => (
          <text key={v} class="axis" x={x(v)} y={height - 6} text-anchor="middle">
            {formatX(v)}
          </text>
        ))}
        {ends.length === 2 && <path class="mean" d={`M${ends.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('L')}`} />}
        {points.map((p, i) => (
          <circle key={i} class="point" cx={x(p.x)} cy={y(p.y)} r="3">
            <title>{`${p.name}: ${formatX(p.x)}, ${formatY(p.y)}`}</title>
          </circle>
        ))}
      </svg>
    </div>
  );
}
