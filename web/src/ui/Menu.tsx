// A button with a list of actions or links.
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Item {
  label: string;
  /** An address opens it; run is called otherwise. */
  href?: string;
  run?: () => void;
  hint?: string;
  checked?: boolean;
}

export function Menu({ label, items, title }: { label: string; items: Item[]; title?: string }) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const entries = () => [...(ref.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    (entries().find(e => e.ariaChecked === 'true') ?? entries()[0])?.focus();
    const close = (e: Event) => {
      if (!ref.current?.contains(e.target as Node)) setOpen(false);
    };
    const key = (e: KeyboardEvent) => {
      const all = entries();
      const i = all.indexOf(document.activeElement as HTMLElement);
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) all[(i + step + all.length) % all.length]?.focus();
      else if (e.key === 'Escape' || e.key === 'Tab') {
        setOpen(false);
        ref.current?.querySelector('button')?.focus();
      } else return;
      e.stopPropagation();
      if (e.key !== 'Tab') e.preventDefault();
    };
    document.addEventListener('pointerdown', close);
    document.addEventListener('keydown', key, true);
    return () => {
      document.removeEventListener('pointerdown', close);
      document.removeEventListener('keydown', key, true);
    };
  }, [open]);
  const radio = items.some(i => i.checked !== undefined);
  return (
    <div class="menu" ref={ref}>
      <button type="button" aria-haspopup="menu" aria-expanded={open} title={title} onClick={() => setOpen(!open)}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div role="menu" aria-label={title ?? label}>
          {items.map(item => {
            const role = radio ? 'menuitemradio' : 'menuitem';
            const content = (
              <>
                <span>{item.label}</span>
                {item.hint && <small>{item.hint}</small>}
              </>
            );
            return item.href ? (
              <a key={item.label} role={role} tabIndex={-1} href={item.href} onClick={() => setOpen(false)}>
                {content}
              </a>
            ) : (
              <button
                key={item.label}
                type="button"
                role={role}
                tabIndex={-1}
                aria-checked={radio ? !!item.checked : undefined}
                onClick={() => {
                  setOpen(false);
                  item.run?.();
                }}
              >
                {content}
              </button>
            );
          })}
        </div>
      )}
    </div>
  );
}
