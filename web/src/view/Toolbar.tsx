// The bar above the views, in one row: where it does not fit, the views become a menu, and then
// the menus beside the search do.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Group, Menu } from '../ui/Menu';
import { useWidth } from '../ui/width';

interface Props {
  views: readonly { name: string; title: string; shown: boolean; show: () => void }[];
  /** The search. */
  children: ComponentChildren;
  menus: readonly Group[];
  /** Copies a link to the view, or writes it as a file. */
  share?: () => void;
}

export function Toolbar({ views, children, menus, share }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [fold, setFold] = useState(0);
  const width = useWidth(ref);
  const needed = useRef<number[]>([]); // of each fold, the width that was too small for it
  const content = menus.map(m => m.label).join(' ');
  useLayoutEffect(() => {
    needed.current = [];
    setFold(0);
  }, [content]);
  useLayoutEffect(() => {
    const e = ref.current!;
    if (e.scrollWidth > e.clientWidth && fold < 2) {
      needed.current[fold] = e.scrollWidth;
      setFold(fold + 1);
    } else if (fold > 0 && width >= (needed.current[fold - 1] ?? 0)) setFold(fold - 1);
  });
  return (
    <div class="bar toolbar" ref={ref}>
      {fold === 0 ? (
        <div class="segments" role="group" aria-label="view">
          {views.map((v, i) => (
            <button key={v.name} type="button" aria-pressed={v.shown} title={`${v.title} (${i + 1})`} onClick={v.show}>
              {v.title}
            </button>
          ))}
        </div>
      ) : (
        <Menu
          label={views.find(v => v.shown)?.title ?? ''}
          title="view"
          left
          groups={[{ label: 'view', items: views.map((v, i) => ({ label: v.title, hint: String(i + 1), checked: v.shown, run: v.show })) }]}
        />
      )}
      {children}
      {fold < 2 ? menus.map(m => <Menu key={m.title ?? m.label} label={m.label} {...(m.title ? { title: m.title } : {})} groups={[m]} />) : <Menu label="More" groups={share ? [...menus, { label: 'Link', items: [{ label: 'Share', run: share }] }] : menus} />}
      {share && fold < 2 && (
        <button type="button" title="copy the link (y)" onClick={share}>
          Share
        </button>
      )}
    </div>
  );
}
