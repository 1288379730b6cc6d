// The frame of a page: its heading, which is also the title of the window.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

export function Page({
  title,
  sub,
  crumbs,
  actions,
  children,
}: {
  title: string;
  /** The way back, above the title. */
  crumbs?: ComponentChildren;
  sub?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}) {
  useTitle(title);
  return (
    <div class="page">
      <div class="head">
        <div>
          {crumbs}
          <h1>{title}</h1>
          {sub && <p class="sub">{sub}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Dendro` : 'Dendro';
  }, [title]);
}
