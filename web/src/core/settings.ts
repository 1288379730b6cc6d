// What a person chose, remembered by the browser. A report opened from a file may not
// have a storage: then it lasts as long as the page.
import { effect, type Signal, signal } from '@preact/signals';

export function remembered<T>(name: string, initial: T): Signal<T> {
  const key = `dendro.${name}`;
  const s = signal(initial);
  try {
    const text = localStorage.getItem(key);
    if (text !== null) s.value = JSON.parse(text) as T;
  } catch {
    // no storage, or of another version
  }
  let first = true;
  effect(() => {
    const text = JSON.stringify(s.value);
    if (first) {
      first = false;
      return;
    }
    try {
      localStorage.setItem(key, text);
    } catch {
      // no storage
    }
  });
  return s;
}

export type Theme = 'auto' | 'light' | 'dark';
export const theme = remembered<Theme>('theme', 'auto');

const system = typeof matchMedia === 'undefined' ? undefined : matchMedia('(prefers-color-scheme: dark)');
/** Whether the page is dark now. */
export const dark = signal(false);
/** Whether the page is being printed: it is light, and readable without colours. */
export const paper = signal(false);
if (typeof document !== 'undefined') {
  for (const [event, now] of [['beforeprint', true], ['afterprint', false]] as const)
    addEventListener(event, () => {
      paper.value = now;
    });
  const apply = () => {
    dark.value = paper.value ? false : theme.value === 'auto' ? !!system?.matches : theme.value === 'dark';
    document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
  };
  effect(apply);
  system?.addEventListener?.('change', apply);
}

export function nextTheme(): void {
  theme.value = theme.value === 'auto' ? (dark.value ? 'light' : 'dark') : theme.value === 'light' ? 'dark' : 'light';
}
