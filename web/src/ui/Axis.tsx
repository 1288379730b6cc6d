// The axis above a graph: values, or times.
import { useRef } from 'preact/hooks';
import { levelText } from '../core/format';
import { ticks } from './Plot';
import { useWidth } from './width';

interface Props {
  from: number;
  to: number;
  format: (v: number) => string;
  /** Ticks are at round multiples of it. */
  scale?: number;
}

export function Axis({ from, to, format, scale = 1 }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const width = useWidth(ref, 800);
  return (
    <div ref={ref} class="axis-line" aria-hidden="true">
      {ticks(from / scale, to / scale, Math.max(2, width / 110)).map(t => {
        const [at, text] = [(t * scale - from) / (to - from || 1), levelText(t * scale, scale, format)];
        return (
          <span key={t} style={{ left: `${at * 100}%` }}>
            {at * width + 8 + 6.4 * text.length <= width && text}
          </span>
        );
      })}
    </div>
  );
}
