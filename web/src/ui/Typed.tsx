// Answers about one value type, of stores that have several: the page takes the CPU time
// and lets people choose.
import { useEffect, useState } from 'preact/hooks';
import { type Options, type Params, Problem, queryOf, source } from '../core/source';
import { update } from '../core/url';
import { type Loading, useLoad } from './Load';
import type { Group, Item } from './Menu';

/** Orders value types: CPU time first. */
export function preferred(types: readonly string[]): string {
  return types.find(t => t === 'cpu') ?? types.find(t => t.startsWith('cpu')) ?? types[0] ?? '';
}

/** The value types without those that only count the samples of another one. */
export const amounts = (types: readonly string[], now = ''): string[] => types.filter(type => type === now || !type.endsWith('-samples') || !types.includes(type.slice(0, -8)));

/** Loads an answer; if the server says that there are several types, asks for one of them. */
export function useTyped<T>(
  path: string,
  params: Params,
  ask: (params: URLSearchParams, options: Options) => Promise<T> = (p, o) => source.value.get<T>(path, p, o),
): Loading<T> & { types: string[]; type: string } {
  const asked = new URLSearchParams(queryOf(params));
  const key = `${path}?${asked}`;
  const [several, set] = useState<{ key: string; types: string[] }>({ key: '', types: [] });
  const types = several.key === key ? several.types : [];
  const type = asked.get('type') ?? preferred(types);
  if (type) asked.set('type', type);
  const answer = useLoad<T>(`${path}?${asked}`, o => ask(asked, o));
  const more = answer.error instanceof Problem ? answer.error.more['types'] : undefined;
  const named = Array.isArray(more) ? [...new Set(more.map(t => String(t).replace(/\/.*/s, '')))] : [];
  const found = named.join('\n');
  useEffect(() => {
    if (found && types.length === 0) set({ key, types: found.split('\n') });
  }, [found, key]);
  if (found && !asked.has('type')) return { ...answer, error: undefined, busy: true, types, type };
  return { ...answer, types, type };
}

/** The menu of value types, where there are several, with what else it offers. */
export const typeMenu = (types: readonly string[], now: string, also: readonly Item[] = []): Group[] =>
  amounts(types, now).length > 1
    ? [{ label: now, title: 'value type', items: [...amounts(types, now).map(t => ({ label: t, checked: t === now, run: () => update({ type: t }, true) })), ...also] }]
    : [];

/** Writes the type that the page chose into the address, for its other requests and for links. */
export function useChosenType(params: URLSearchParams, type: string): void {
  useEffect(() => {
    if (type && !params.has('type')) update({ type });
  }, [type]);
}
