// What of the store a page shows: branch, machine, time, value type, metric. Addresses hold
// it, links carry it from page to page, and without a branch pages show the base branch.
import type { Choices } from './answers';
import { place } from './url';

export const noChoices: Choices = { branches: [], groups: [], machines: [], types: [], metrics: [] };

/** The branch parameter of an address that means all of them. */
export const everyBranch = '*';

/**
 * The parameters of a request, of those in an address: without a branch those of the base
 * branch, and of runs that have none. With sides, another branch, or a head, is compared with the base.
 */
export function scoped(address: URLSearchParams, names: readonly string[], { base = '', noBranch = 0 }: Partial<Choices> = {}, sides = false): URLSearchParams {
  const q = new URLSearchParams([...address].filter(([name]) => names.includes(name)));
  if (!names.includes('branch')) return q;
  if (sides && ['base', 'head'].some(side => address.has(side))) {
    q.delete('branch');
    if (base && !q.has('base')) q.set('base', base);
    return q;
  }
  const branches = address.getAll('branch');
  const [branch = base] = branches;
  if (branch === everyBranch || branch === '') q.delete('branch');
  else if (sides && base && branch !== base && branches.length === 1) {
    q.delete('branch');
    q.set('base', base);
    q.set('head', branch);
  } else if (branches.length === 0) {
    q.set('branch', branch);
    if (noBranch > 0) q.append('branch', '');
  }
  return q;
}

/** What links to other pages keep of this one's address. */
export function carried(): Record<string, string[]> {
  const kept: Record<string, string[]> = {};
  for (const name of ['branch', 'machine', 'since', 'until']) {
    const values = place.value.params.getAll(name);
    if (values.length > 0) kept[name] = values;
  }
  return kept;
}

/** The parameters of the address that the requests of the list of changes have. */
export const selection = ['group', 'benchmark', 'branch', 'machine', 'type', 'last', 'since', 'until', 'run', 'base', 'head'];
