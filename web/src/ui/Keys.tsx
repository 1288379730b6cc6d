// Keys of the page and their help. A page registers its keys while it is shown.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

export interface Key {
  /** As KeyboardEvent.key has it, with modifiers: "/", "ArrowUp", "Ctrl+z". Several are separated by a blank. */
  keys: string;
  help: string;
  /** Runs on the key; false passes it on. */
  run: (event: KeyboardEvent) => unknown;
}

/** The keys of what is shown, as they are now: a page that learns more of its data gets more of them. */
const sets = signal<readonly { current: readonly Key[] }[]>([]);
export const helpShown = signal(false);
/** What the search begins with, while it is shown: its code may load while one types. */
export const searchShown = signal<string | false>(false);

/** Registers keys while the component is shown; later ones take precedence. */
export function useKeys(list: Key[]): void {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    sets.value = [latest, ...sets.value];
    return () => {
      sets.value = sets.value.filter(s => s !== latest);
    };
  }, []);
}

function nameOf(e: KeyboardEvent): string {
  return (e.ctrlKey || e.metaKey ? 'Ctrl+' : '') + (e.altKey ? 'Alt+' : '') + e.key;
}

/** Runs the key's action; the Shell calls it for every key. An open dialog has the keys for itself. */
export function press(e: KeyboardEvent): void {
  if (document.querySelector('dialog[open]')) return;
  const name = nameOf(e);
  if (searchShown.value !== false) {
    if (name === 'Escape') searchShown.value = false;
    else if (name.length === 1) searchShown.value += name;
    else return;
    e.preventDefault();
    return;
  }
  const target = e.target as HTMLElement;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  if (typing && name !== 'Escape' && !name.startsWith('Ctrl+')) return;
  if (typing && /^Ctrl\+[acvxyz]$/i.test(name)) return; // editing
  if (/^(Enter| )$/.test(name) && /^(BUTTON|A|SUMMARY)$/.test(target.tagName)) return;
  for (const set of sets.value) {
    for (const k of set.current) {
      if (k.keys.split(' ').includes(name) && k.run(e) !== false) {
        e.preventDefault();
        return;
      }
    }
  }
}

const shown: Record<string, string> = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' };

/** The help: all keys that work now. */
export function KeyHelp() {
  const ref = useRef<HTMLDialogElement>(null);
  const open = helpShown.value;
  useLayoutEffect(() => {
    if (open) ref.current?.showModal();
    else ref.current?.close();
  }, [open]);
  return (
    <dialog ref={ref} class="help" aria-label="Keyboard" onClose={() => (helpShown.value = false)}>
      <h2>Keyboard</h2>
      <dl>
        {sets.value.flatMap(s => s.current).map(k => (
          <div key={k.keys}>
            <dt>
              {k.keys.split(' ').map(n => (
                <kbd key={n}>{shown[n] ?? n}</kbd>
              ))}
            </dt>
            <dd>{k.help}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
