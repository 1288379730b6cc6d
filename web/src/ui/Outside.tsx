// A link that leaves Dendro, if it is an address of the web: repositories come from configurations that nobody checked.
import type { ComponentChildren } from 'preact';

export const isWeb = (to = ''): boolean => /^https?:\/\//.test(to);

export const Outside = ({ to = '', title, children }: { to: string | undefined; title?: string; children: ComponentChildren }) =>
  isWeb(to) ? (
    <a href={to} target="_blank" rel="noreferrer" title={title}>
      {children}
    </a>
  ) : (
    <>{children}</>
  );
