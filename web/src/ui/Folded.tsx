// Filters of a page, which a phone shows when they are asked for.
import { useState } from 'preact/hooks';
import { place } from '../core/url';

/** Returns a class for what is around the filters, and the button that shows them; they are shown if the address has one of these. */
export function useFolded(...names: string[]) {
  const [open, set] = useState(() => names.some(n => place.value.params.has(n)));
  const button = (
    <button type="button" class="unfold" aria-expanded={open} onClick={() => set(!open)}>
      Filters <span aria-hidden="true">{open ? '▴' : '▾'}</span>
    </button>
  );
  return [open ? '' : 'folded', button] as const;
}
