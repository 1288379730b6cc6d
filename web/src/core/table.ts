// The shape of call trees, apart from their numbers. A table has one row per call node,
// depth first: the subtree of row n is [n, end[n]). Siblings have different functions and are
// in the order of names, so that a flame graph draws the rows as they are.
import { scripts } from './metric';
import type { Steps } from './steps';

/** Small numbers that are not negative, in the least room. */
export type Ints = Int32Array | Uint16Array | Uint8Array;

/** Takes over numbers from 0 up to most in the least room. */
export const narrowed = (list: Ints, most: number): Ints => (most < 1 << 8 ? new Uint8Array(list) : most < 1 << 16 ? new Uint16Array(list) : list);

/** Rows between two pauses. */
export const stride = 1 << 15;

export interface Func {
  name: string;
  file: string;
  line: number;
  column: number;
  module: string;
  language: string;
  kind: string;
  /** Code that the user can change, and not that of a runtime or library. */
  own?: boolean;
  /** Code of a runtime or the kernel. */
  runtime?: boolean;
  /** Its name on the base side of a diff, if it was renamed. */
  baseName?: string;
  /** Length of the part of the name that names its package or class. */
  pkg: number;
}

export interface Category {
  name: string;
  color: string;
}

export const none = -1;

export interface Table {
  readonly n: number;
  readonly parent: Int32Array;
  readonly fn: Ints;
  readonly depth: Ints;
  readonly end: Int32Array;
  /** Of each row; null without categories. */
  readonly category: Ints | null;
  readonly functions: readonly Func[];
  readonly categories: readonly Category[];
  readonly deepest: number;
}

/** The parent of a row that is removed. Its callees are removed too, or have another parent. */
export const gone = -2;

/** Rows to group into call nodes: callers before callees, any number with one function. */
export interface Rows {
  parent: Int32Array;
  fn: Ints;
  category: Ints | null;
  functions: readonly Func[];
  categories: readonly Category[];
}

/** Groups rows into call nodes; node has the call node of each row, or none. Linear, apart from sorting siblings that are merged. */
export function* layout(rows: Rows): Steps<{ table: Table; node: Int32Array }> {
  const n = rows.parent.length;
  const place = yield* placesByName(rows.functions);
  const { start, list } = yield* callees(rows, place);
  const parent = new Int32Array(n);
  const fn = new Int32Array(n);
  const depth = new Int32Array(n);
  const end = new Int32Array(n);
  const node = new Int32Array(n).fill(none);
  let count = 0;
  let deepest = 0;
  // The walk: of each open node the rows of its children, sorted, and how far it came.
  // Rows of one list stay where they are; lists that are merged get an array.
  const open: number[] = [none];
  const source: Int32Array[] = [list];
  const at: number[] = [start[0]!];
  const to: number[] = [start[1]!];
  for (let top = 0; top >= 0; ) {
    const rowsOf = source[top]!;
    const first = at[top]!;
    if (first === to[top]!) {
      if (open[top] !== none) end[open[top]!] = count;
      top--;
      continue;
    }
    const row = count++;
    if (row % stride === 0) yield;
    const head = rowsOf[first]!;
    const f = rows.fn[head]!;
    let last = first;
    let size = 0;
    for (; last < to[top]!; last++) {
      const st = rowsOf[last]!;
      if (rows.fn[st] !== f) break;
      node[st] = row;
      size += start[st + 2]! - start[st + 1]!;
    }
    at[top] = last;
    parent[row] = open[top]!;
    fn[row] = f;
    depth[row] = top;
    if (top >= deepest) deepest = top + 1;
    if (size === 0) {
      end[row] = count;
      continue;
    }
    top++;
    open[top] = row;
    if (last === first + 1) {
      source[top] = list;
      at[top] = start[head + 1]!;
      to[top] = start[head + 2]!;
      continue;
    }
    const merged = new Int32Array(size);
    for (let i = first, k = 0; i < last; i++) {
      const st = rowsOf[i]!;
      for (let c = start[st + 1]!; c < start[st + 2]!; c++) merged[k++] = list[c]!;
    }
    source[top] = merged.sort((x, y) => place[rows.fn[x]!]! - place[rows.fn[y]!]! || x - y);
    at[top] = 0;
    to[top] = size;
  }
  yield;
  const table = {
    n: count,
    parent: parent.slice(0, count),
    fn: narrowed(fn.subarray(0, count), rows.functions.length - 1),
    depth: narrowed(depth.subarray(0, count), deepest),
    end: end.slice(0, count),
    functions: rows.functions,
    categories: rows.categories,
    deepest,
  };
  return { table: { ...table, category: categoriesOf(rows, node, count) }, node };
}

const chunk = 4096; // functions

/** The place of each function in the order of names, in code units; equal names by number. */
function* placesByName(functions: readonly Func[]): Steps<Int32Array> {
  const name = (i: number) => functions[i]!.name;
  const compare = (a: number, b: number) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a - b);
  const lists: number[][] = [[]];
  for (let i = 0; i < functions.length; i += chunk) {
    lists.push(Array.from({ length: Math.min(chunk, functions.length - i) }, (_, k) => i + k).sort(compare));
    yield;
  }
  while (lists.length > 1) {
    const [a, b] = lists.splice(0, 2) as [number[], number[]];
    const both: number[] = [];
    for (let i = 0, k = 0; i < a.length || k < b.length; ) {
      if (both.length % chunk === 0) yield;
      both.push(k === b.length || (i < a.length && compare(a[i]!, b[k]!) < 0) ? a[i++]! : b[k++]!);
    }
    lists.push(both);
  }
  const place = new Int32Array(functions.length);
  lists[0]!.forEach((f, at) => (place[f] = at));
  return place;
}

/** Where the subtree of each row ends; callers are before callees. */
export function endsOf(parent: Int32Array): Int32Array {
  const end = new Int32Array(parent.length);
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    const p = parent[i]!;
    if (p !== none && end[p]! < end[i]!) end[p] = end[i]!;
  }
  return end;
}

/** The rows of a table in the order of package calltree: siblings by function. */
export function* byFunction(t: Table): Steps<Int32Array> {
  const rows = new Int32Array(t.n);
  const at = yield* sorted(t, t.fn);
  for (let row = 0; row < t.n; row++) rows[at[row]!] = row;
  return rows;
}

/**
 * Sorts the siblings of a table by a key, equal ones as they are: the place of each row. It reads
 * and writes neighbours mostly, so it is fast for millions of rows.
 */
export function* sorted({ n, end }: Table, key: ArrayLike<number>): Steps<Int32Array> {
  const place = new Int32Array(n);
  let list = new Int32Array(1024);
  for (let p = none; p < n; p++) {
    if (p % stride === 0) yield;
    if (p !== none && end[p] === p + 1) continue;
    let count = 0;
    for (let c = p + 1, to = p === none ? n : end[p]!; c < to; c = end[c]!) {
      if (count === list.length) {
        const longer = new Int32Array(2 * count);
        longer.set(list);
        list = longer;
      }
      list[count++] = c;
    }
    if (count > 24) list.subarray(0, count).sort((a, b) => key[a]! - key[b]! || a - b);
    else
      for (let i = 1; i < count; i++) {
        const c = list[i]!;
        let k = i;
        for (; k > 0 && key[list[k - 1]!]! > key[c]!; k--) list[k] = list[k - 1]!;
        list[k] = c;
      }
    let at = p === none ? 0 : place[p]! + 1;
    for (let i = 0; i < count; i++) {
      const c = list[i]!;
      place[c] = at;
      at += end[c]! - c;
    }
  }
  return place;
}

/** Lists the callees of every row in the order of places: those of row i are list[start[i+1]..start[i+2]), roots are at start[0]. */
function* callees({ parent, fn }: Rows, place: Int32Array): Steps<{ start: Int32Array; list: Int32Array }> {
  const n = parent.length;
  const byPlace = new Int32Array(n);
  const at = new Int32Array(place.length + 1);
  const start = new Int32Array(n + 2);
  for (let i = 0; i < n; i++) {
    if (i % stride === 0) yield;
    if (parent[i] === gone) continue;
    at[place[fn[i]!]! + 1]!++;
    start[parent[i]! + 2]!++;
  }
  for (let f = 1; f < at.length; f++) at[f]! += at[f - 1]!;
  for (let i = 1; i < start.length; i++) start[i]! += start[i - 1]!;
  yield;
  const live = at[place.length]!;
  for (let i = 0; i < n; i++) {
    if (i % stride === 0) yield;
    if (parent[i] !== gone) byPlace[at[place[fn[i]!]!]!++] = i;
  }
  const list = new Int32Array(live);
  const next = start.slice();
  for (let k = 0; k < live; k++) {
    if (k % stride === 0) yield;
    const st = byPlace[k]!;
    list[next[parent[st]! + 1]!++] = st;
  }
  yield;
  return { start, list };
}

/** The category for "unknown or mixed": the first grey one, else the first. */
export const fallback = (list: readonly Category[]) =>
  Math.max(
    0,
    list.findIndex(c => c.color === 'grey'),
  );

function categoriesOf(rows: Rows, node: Int32Array, count: number): Int32Array | null {
  if (!rows.category) return null;
  const of = new Int32Array(count).fill(none);
  const mixed = fallback(rows.categories);
  for (let st = 0; st < node.length; st++) {
    const n = node[st]!;
    if (n === none) continue;
    const c = rows.category[st]!;
    of[n] = of[n] === none || of[n] === c ? c : mixed;
  }
  return of;
}

/** The functions of a name. Without one, the name may end in " (file)" or " (module)". */
export function named(functions: readonly Func[], name: string): Uint8Array {
  const exact = new Uint8Array(functions.length);
  const placed = new Uint8Array(functions.length);
  let found = false;
  functions.forEach((f, i) => {
    if (f.name === name) {
      exact[i] = 1;
      found = true;
    } else if (name.startsWith(f.name) && (name.slice(f.name.length) === ` (${f.file})` || name.slice(f.name.length) === ` (${f.module})`))
      placed[i] = 1;
  });
  return found ? exact : placed;
}

/**
 * The name of a function, its package or class and what is above that: "github.com/acme/", "cart.",
 * "(*Engine).Lock"; "java.util.regex.", "Pattern.", "compile".
 */
export function parts(f: Func): [folders: string, pkg: string, symbol: string] {
  let folders = f.name.lastIndexOf('/', f.pkg) + 1;
  if (f.kind !== 'go' && f.kind !== 'go-runtime' && !scripts.includes(f.kind)) folders = Math.max(folders, f.name.lastIndexOf('.', f.pkg - 2) + 1);
  return [f.name.slice(0, folders), f.name.slice(folders, f.pkg), f.name.slice(f.pkg)];
}
