// The keys [ and ]: the same view of the run before or after.
import { selectionParams } from '../core/request';
import { source } from '../core/source';
import { type Changes, update } from '../core/url';
import { useKeys } from '../ui/Keys';

/** Returns the parameters of a page whose runs are one earlier (by -1) or later; null if there is no such run. */
export function stepped(params: URLSearchParams, runs: readonly string[], by: number): Changes | null {
  const changes: Changes = {};
  const diff = params.has('head-run') || params.has('base-run');
  for (const name of diff ? ['base-run', 'head-run'] : ['run']) {
    const given = params.getAll(name);
    if (given.length > 1) continue; // a side of several runs stays
    const at = given.length === 1 ? runs.indexOf(given[0]!) : diff ? -1 : runs.length - 1;
    const next = at < 0 ? undefined : runs[at + by];
    if (next === undefined) return null;
    changes[name] = next;
  }
  return Object.keys(changes).length > 0 ? { ...changes, last: null } : null;
}

/** Registers the keys on a page that shows runs of one benchmark; the result steps, or is null where there is nothing to. */
export function useRunKeys(params: URLSearchParams): ((by: number) => Promise<void>) | null {
  const step = async (by: number) => {
    const all = selectionParams(params);
    for (const name of ['run', 'last', 'profile', 'commit']) all.delete(name);
    const { rows } = await source.value.get<{ rows: { run: string }[] }>('runs', all);
    const changes = stepped(
      params,
      rows.map(r => r.run),
      by,
    );
    if (changes) update(changes, true);
  };
  const able = () =>
    !source.value.offline && params.getAll('benchmark').length === 1 && !params.has('against') && (!params.has('last') || params.get('last') === '1');
  useKeys([
    { keys: '[', help: 'the run before', run: () => able() && void step(-1) },
    { keys: ']', help: 'the run after', run: () => able() && void step(1) },
  ]);
  return able() && ['run', 'last'].some(n => params.has(n)) ? step : null;
}
