// The frame of a page whose requests wait until the base branch is known, and a choice of it.
import type { ComponentChildren } from 'preact';
import { update } from '../core/url';
import { Waiting } from './Load';
import { Page } from './Page';
import { type Scope, useScope } from './Pickers';
import { Select } from './Select';

/** What a scoped page gets: its choices, and the parameters of its requests. */
export interface InScope {
  scope: Scope;
  params: URLSearchParams;
}

/** Shows a page as soon as its scope is known; names are the parameters of its requests. */
export function Scoped({ title, names, children }: { title: string; names: readonly string[]; children: (in_: InScope) => ComponentChildren }) {
  const scope = useScope(names);
  if (scope.params) return <>{children({ scope, params: scope.params })}</>;
  return (
    <Page title={title}>
      <Waiting />
    </Page>
  );
}

/** The choice of what a page lists its rows by, which is in its address. */
export function By({ kinds, now }: { kinds: Record<string, string>; now: string }) {
  return (
    <div class="pickers">
      <Select title="By" value={now} options={Object.entries(kinds)} change={by => update({ by }, true)} />
    </div>
  );
}
