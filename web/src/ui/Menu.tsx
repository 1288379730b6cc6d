// A button with a list of actions or links.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Item {
  label: string;
  /** An address opens it; run is called otherwise. */
  href?: string;
  run?: () => void;
  hint?: string;
  /** What it does, in a sentence. */
  title?: string;
  checked?: boolean;
}

/** Items that belong together. */
export interface Group {
  label: string;
  /** What the label says, in words. */
  title?: string;
  items: readonly Item[];
}

/** A button that opens a list of items; of several groups each has a heading. */
export function Menu({ label, groups, title, left = false }: { label: string; groups: readonly Group[]; title?: string; left?: boolean }) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  return (
    <div class={left ? 'menu left' : 'menu'} ref={ref}>
      <button type="button" aria-haspopup="menu" aria-expanded={open} title={title} onClick={() => setOpen(!open)}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <List
          label={title ?? label}
          groups={groups}
          around={ref}
          close={back => {
            setOpen(false);
            if (back) ref.current?.querySelector('button')?.focus();
          }}
        />
      )}
    </div>
  );
}

/** The items of a menu at a point of the window; close is called when one was chosen or none. */
export function Popup({ label, items, x, y, close }: { label: string; items: Item[]; x: number; y: number; close: () => void }) {
  const ref = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  useLayoutEffect(() => {
    const list = ref.current!.firstElementChild as HTMLElement;
    const { width, height } = list.getBoundingClientRect();
    list.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 8))}px`;
    list.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 8))}px`;
  }, [x, y]);
  return (
    <div class="menu popup" ref={ref}>
      <List
        label={label}
        groups={[{ label, items }]}
        around={ref}
        close={back => {
          close();
          if (back) before.current?.focus({ preventScroll: true });
        }}
      />
    </div>
  );
}

function List({
  label,
  groups,
  around,
  close,
}: {
  label: string;
  groups: readonly Group[];
  /** A press outside of it closes the list. */
  around: { current: HTMLElement | null };
  /** back: the focus returns to where it was. */
  close: (back: boolean) => void;
}) {
  useEffect(() => {
    const entries = () => [...(around.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    (entries().find(e => e.ariaChecked === 'true') ?? entries()[0])?.focus();
    const press = (e: Event) => {
      if (!around.current?.contains(e.target as Node)) close(false);
    };
    const key = (e: KeyboardEvent) => {
      const all = entries();
      const i = all.indexOf(document.activeElement as HTMLElement);
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) all[(i + step + all.length) % all.length]?.focus();
      else if (e.key === 'Escape' || e.key === 'Tab') close(true);
      else return;
      e.stopPropagation();
      if (e.key !== 'Tab') e.preventDefault();
    };
    document.addEventListener('pointerdown', press);
    document.addEventListener('keydown', key, true);
    return () => {
      document.removeEventListener('pointerdown', press);
      document.removeEventListener('keydown', key, true);
    };
  }, []);
  const entry = (item: Item) => {
        const role = item.checked === undefined ? 'menuitem' : 'menuitemradio';
        const content = (
          <>
            <span>{item.label}</span>
            {item.hint && <small>{item.hint}</small>}
          </>
        );
        return item.href ? (
          <a key={item.label} role={role} tabIndex={-1} title={item.title} href={item.href} onClick={() => close(false)}>
            {content}
          </a>
        ) : (
          <button
            key={item.label}
            type="button"
            role={role}
            tabIndex={-1}
            title={item.title}
            aria-checked={item.checked}
            onClick={() => {
              close(true);
              item.run?.();
            }}
          >
            {content}
          </button>
        );
  };
  return (
    <div role="menu" aria-label={label}>
      {groups.map(g => (
        <div key={g.title ?? g.label} role="group" aria-label={g.title ?? g.label}>
          {groups.length > 1 && <small aria-hidden="true">{g.title ?? g.label}</small>}
          {g.items.map(entry)}
        </div>
      ))}
    </div>
  );
}
