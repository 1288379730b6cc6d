// The only reader and writer of addresses. An address is a page and parameters:
//
//   /profile?benchmark=checkout&run=run-018&view=tree     in the app
//   report.html#/diff?view=functions                      in an offline report
//
// Parameters that select data have the names of the API (group, benchmark, run, base-run,
// type, …) and are sent to it unchanged; the others are the state of the view.
import { signal } from '@preact/signals';

export const pageNames = ['home', 'benchmarks', 'benchmark', 'profile', 'diff', 'find', 'function', 'bottlenecks', 'functions', 'services', 'tasks', 'task', 'report', 'short', 'missing'] as const;
export type PageName = (typeof pageNames)[number];

/** Parameters to set; null removes one, a list repeats one. */
export type Changes = Record<string, string | number | boolean | readonly string[] | null | undefined>;

export interface Place {
  readonly page: PageName;
  readonly params: URLSearchParams;
}

/** Pages that are part of another one: links to them go on. */
const movedTo = (page: string, query: string): PageName | undefined => (page === 'regressions' ? 'home' : page === 'function' && !new URLSearchParams(query).get('function') ? 'bottlenecks' : undefined);

/** Short addresses: /c/ID is a change in the list of the first page, /s/ID a link that the store keeps. */
const short: Record<string, [page: PageName, param: string]> = { c: ['home', 'change'], s: ['short', 'link'] };

/** Reads an address: path and query, without origin. */
export function parse(address: string): Place {
  const [path = '', query = ''] = split(address, '?');
  const old = path.replace(/^\/+|\/+$/g, '');
  const name: string = movedTo(old, query) ?? old;
  const [, kind = '', id = ''] = /^([cs])\/([\w-]+)$/.exec(old) ?? [];
  if (kind) {
    const [page, param] = short[kind]!;
    return { page, params: withChanges(new URLSearchParams(query), { [param]: id }) };
  }
  const page = name === '' ? 'home' : (pageNames as readonly string[]).includes(name) ? (name as PageName) : 'missing';
  return { page, params: new URLSearchParams(query) };
}

/** Writes an address; parse reads it. */
export function format({ page, params }: Place): string {
  let path = page === 'home' ? '/' : `/${page}`;
  for (const [kind, [of, param]] of Object.entries(short)) {
    const id = page === of ? params.get(param) : null;
    if (id === null || !/^[\w-]+$/.test(id)) continue; // a row without a change is named by its benchmark
    path = `/${kind}/${id}`;
    params = withChanges(params, { [param]: null });
  }
  const query = params.toString().replace(/%2F/g, '/').replace(/%3A/g, ':').replace(/%3B/g, ';').replace(/%2C/g, ',');
  return path + (query ? `?${query}` : '');
}

/** Returns params with changes. */
export function withChanges(params: URLSearchParams, changes: Changes): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    if (Array.isArray(value)) for (const v of value) next.append(name, v);
    else if (value !== null && value !== undefined && value !== '' && value !== false) next.set(name, String(value));
  }
  return next;
}

function split(s: string, at: string): string[] {
  const i = s.indexOf(at);
  return i < 0 ? [s] : [s.slice(0, i), s.slice(i + 1)];
}

let inHash = false; // addresses are behind #, as in a file

/** The page that is shown. */
export const place = signal<Place>({ page: 'home', params: new URLSearchParams() });

/** Starts to follow the address bar. A report keeps addresses behind #; start is its first one. */
export function follow(hash: boolean, start = '/'): void {
  inHash = hash;
  const read = () => {
    place.value = parse(hash ? location.hash.slice(1) || start : location.pathname + location.search);
    if (!hash && movedTo(location.pathname.slice(1), location.search)) history.replaceState(null, '', format(place.value));
  };
  addEventListener('popstate', read);
  if (hash) addEventListener('hashchange', read);
  read();
}

/** The link to a page. */
export function href(page: PageName, changes: Changes = {}): string {
  return (inHash ? '#' : '') + format({ page, params: withChanges(new URLSearchParams(), changes) });
}

/** Opens a page: a step of the history. */
export function go(page: PageName, changes: Changes = {}): void {
  write({ page, params: withChanges(new URLSearchParams(), changes) }, true);
}

/** Follows a link of this app. */
export function goTo(address: string): void {
  write(parse(address.replace(/^#/, '')), true);
}

/** Shows another address in place of this one. */
export function replaceWith(address: string): void {
  write(parse(address), false);
}

/** Changes the state of the view: replaces the address, or with push makes a step of the history. */
export function update(changes: Changes, push = false): void {
  write({ page: place.value.page, params: withChanges(place.value.params, changes) }, push);
}

/** The whole address of what is shown, to copy. */
export function link(): string {
  flush();
  return location.href;
}

let pending: ReturnType<typeof setTimeout> | undefined;

function write(next: Place, push: boolean): void {
  const old = place.value;
  if (format(old) === format(next)) return;
  flush(); // of what was before
  place.value = next;
  if (push) {
    history.pushState(null, '', (inHash ? '#' : '') + format(next));
    if (old.page !== next.page) scrollTo(0, 0);
  } else pending = setTimeout(flush, 150); // browsers limit how often an address changes
}

function flush(): void {
  if (pending === undefined) return;
  clearTimeout(pending);
  pending = undefined;
  history.replaceState(null, '', (inHash ? '#' : '') + format(place.value));
}
