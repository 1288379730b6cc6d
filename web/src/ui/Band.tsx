// A series over time or runs, with its moving mean, a band around it, and marks.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { dark } from '../core/settings';

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
  marks?: readonly Mark[];
  height?: number;
  format: (v: number) => string;
  /** A click on the point with this index. */
  onSelect?: (index: number) => void;
}

export function Band({ label, series, names, marks = [], height = 260, format, onSelect }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = dark.value;
  useEffect(() => {
    const e = host.current!;
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string) => css.getPropertyValue(name).trim();
    const none = series.x.map(() => null);
    const axis = {
      stroke: colour('--dim'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { stroke: colour('--line'), width: 1 },
      font: '11px system-ui',
    };
    const plot = new uPlot(
      {
        width: Math.max(200, e.clientWidth),
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        scales: { x: { time: !names } },
        axes: [
          names ? { ...axis, values: (_u, at) => at.map(i => names[i] ?? '') } : axis,
          { ...axis, size: 74, values: (_u, at) => at.map(v => format(v)) },
        ],
        bands: [{ series: [4, 3], fill: colour('--band') }],
        series: [
          {},
          { stroke: colour('--ink'), width: 1.2, points: { show: series.x.length < 400, size: 5, fill: colour('--ink') } },
          { stroke: colour('--accent'), width: 1.4, dash: [5, 4], points: { show: false } },
          { stroke: 'transparent', points: { show: false } },
          { stroke: 'transparent', points: { show: false } },
        ],
        hooks: {
          draw: [
            u => {
              const { ctx, bbox } = u;
              for (const m of marks) {
                const x = u.valToPos(series.x[m.index] ?? 0, 'x', true);
                ctx.save();
                ctx.strokeStyle = ctx.fillStyle = colour(m.kind === 'worse' ? '--more' : m.kind === 'better' ? '--less' : '--dim');
                ctx.setLineDash([4, 3]);
                ctx.beginPath();
                ctx.moveTo(x, bbox.top);
                ctx.lineTo(x, bbox.top + bbox.height);
                ctx.stroke();
                const v = series.values[m.index];
                if (v !== null && v !== undefined) {
                  ctx.beginPath();
                  ctx.arc(x, u.valToPos(v, 'y', true), 4 * devicePixelRatio, 0, 7);
                  ctx.fill();
                }
                ctx.restore();
              }
            },
          ],
        },
      },
      [series.x, series.values, series.mean ?? none, series.low ?? none, series.high ?? none] as unknown as uPlot.AlignedData,
      e,
    );
    const click = () => {
      if (typeof plot.cursor.idx === 'number') onSelect?.(plot.cursor.idx);
    };
    if (onSelect) plot.over.addEventListener('click', click);
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(200, e.clientWidth), height }));
    watch.observe(e);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [series, names, marks, isDark, height]);
  return <div ref={host} class={`band ${onSelect ? 'pick' : ''}`} role="img" aria-label={label} />;
}
