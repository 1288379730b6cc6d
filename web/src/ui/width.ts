// The width of an element, which follows the window.
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { paper } from '../core/settings';

/** What a sheet of A4 has room for, in px: texts that were scaled down to it would be too small. */
const mostOnPaper = 680;

/** Returns the width in px; first is what it is taken for before it is known. */
export function useWidth(of: RefObject<HTMLElement | null>, first = 0): number {
  const [width, set] = useState(first);
  useLayoutEffect(() => {
    const e = of.current!;
    const read = () => set(e.clientWidth);
    read();
    if (typeof ResizeObserver === 'undefined') return;
    const watch = new ResizeObserver(read);
    watch.observe(e);
    return () => watch.disconnect();
  }, []);
  return paper.value ? Math.min(width, mostOnPaper) : width;
}
