// The one tooltip of the page, beside the pointer.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

const tip = signal<{ x: number; y: number; content: ComponentChildren } | null>(null);

/** Shows content beside a point of the window; null hides the tooltip. */
export function showTip(x: number, y: number, content: ComponentChildren | null): void {
  tip.value = content === null ? null : { x, y, content };
}

const said = signal('');
let silence: ReturnType<typeof setTimeout> | undefined;

/** Says in a line at the foot of the page what was done. */
export function say(text: string): void {
  said.value = text;
  clearTimeout(silence);
  silence = setTimeout(() => (said.value = ''), 1800);
}

export function Said() {
  return (
    <p class={said.value ? 'said' : 'hidden'} role="status">
      {said.value}
    </p>
  );
}

export function Tip() {
  const ref = useRef<HTMLDivElement>(null);
  const at = tip.value;
  useLayoutEffect(() => {
    const e = ref.current;
    if (!e || !at) return;
    const { width, height } = e.getBoundingClientRect();
    e.style.left = `${Math.max(4, Math.min(at.x + 14, innerWidth - width - 8))}px`;
    e.style.top = `${at.y + 20 + height > innerHeight ? Math.max(4, at.y - height - 12) : at.y + 20}px`;
  });
  return at ? (
    <div ref={ref} class="tip" role="tooltip">
      {at.content}
    </div>
  ) : null;
}

/** Names and values in a tip; what is false is left out. */
export const Pairs = ({ of }: { of: readonly ((readonly [name: string, value: string]) | false)[] }) => (
  <table>
    <tbody>
      {of.map(
        pair =>
          pair && (
            <tr key={pair[0]}>
              <th scope="row">{pair[0]}</th>
              <td>{pair[1]}</td>
            </tr>
          ),
      )}
    </tbody>
  </table>
);

/** Copies a text, and says so, or that the browser lets no page copy: without TLS it does not. */
export const copy = (text: string, what: string): Promise<void> =>
  Promise.resolve()
    .then(() => navigator.clipboard.writeText(text))
    .then(
      () => say(`Copied the ${what}`),
      () => say(`The browser does not let this page copy the ${what}`),
    );
