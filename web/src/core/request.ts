// Which parameters of an address are sent to the API, and which are the state of a view.
import { everyBranch } from './scope';
import { parseTransform } from './transforms';

const ofView = new Set(['view', 'tab', 'list', 'q', 'sel', 'zoom', 'color', 'order', 'kind', 'transform', 'against-range', 'merged']);

/** The number of transforms, from the first, that the server has to apply. */
export function serverTransforms(params: URLSearchParams): number {
  return params.getAll('transform').findLastIndex(x => parseTransform(x) === null) + 1;
}

const isEvery = (name: string, value: string): boolean => name === 'branch' && value === everyBranch;

/** The parameters of the data that a page shows. */
export function dataParams(params: URLSearchParams): URLSearchParams {
  const q = new URLSearchParams();
  for (const [name, value] of params) if (!ofView.has(name) && !isEvery(name, value)) q.append(name, value);
  for (const x of params.getAll('transform').slice(0, serverTransforms(params))) q.append('transform', x);
  return q;
}

/** The parameters of what a view shows: the data with all transforms and the kind of functions, which the server applies. */
export function shownParams(params: URLSearchParams, more: Record<string, string>): URLSearchParams {
  const q = dataParams(params);
  q.delete('transform');
  for (const x of params.getAll('transform')) q.append('transform', x);
  for (const [name, value] of Object.entries({ kind: params.get('kind') ?? '', ...more })) if (value) q.set(name, value);
  return q;
}

/** The parameters that select profiles, without those that shape a view of them. */
export function selectionParams(params: URLSearchParams, side?: 'base' | 'head'): URLSearchParams {
  const q = new URLSearchParams();
  if (!side && params.has('base-file') && params.has('head-file')) for (const name of ['base-file', 'head-file']) if (params.has(name)) q.set(name, params.get(name)!);
  const names = ['group', 'benchmark', 'param', 'branch', 'commit', 'machine', 'attr', 'run', 'profile', 'since', 'until', 'last', 'file', 'service', 'labels'];
  for (const name of names) {
    const own = side ? params.getAll(`${side}-${name}`) : [];
    for (const value of own.length > 0 ? own : params.getAll(name)) if (!isEvery(name, value)) q.append(name, value);
  }
  return q;
}

/** The parameters of the lines of what a view shows: those of a profile, or of the head of a diff. */
export function linesParams(params: URLSearchParams, diff: boolean): URLSearchParams {
  const q = selectionParams(params, diff ? 'head' : undefined);
  for (const name of ['type', 'range', 'search', 'thread', 'state', 'label', 'no-label']) {
    const head = diff ? params.getAll(`head-${name}`) : [];
    for (const value of head.length > 0 ? head : params.getAll(name)) q.append(name, value);
  }
  return q;
}

/** Writes a message for the page: parameters instead of flags. */
export const withoutFlags = (text: string): string => text.replace(/--([a-z])/g, '$1');

/** Writes the notes of an answer for the page, whose menus say what flags could change. */
export function notesOf(notes: readonly string[] | undefined): string[] {
  return (notes ?? []).filter(n => !n.startsWith('value type ')).map(n => withoutFlags(n.replace(/ \(--[^()]*\)/g, '')));
}
