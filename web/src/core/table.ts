// The shape of call trees, apart from their numbers. A table has one row per call node,
// depth first: the subtree of row n is [n, end[n]). Siblings have different functions.

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
  readonly fn: Int32Array;
  readonly depth: Int32Array;
  readonly end: Int32Array;
  /** Of each row; null without categories. */
  readonly category: Int32Array | null;
  readonly functions: readonly Func[];
  readonly categories: readonly Category[];
  readonly deepest: number;
}

/** The parent of a row that is removed. Its callees are removed too, or have another parent. */
export const gone = -2;

/** Rows to group into call nodes: callers before callees, any number with one function. */
export interface Rows {
  parent: Int32Array;
  fn: Int32Array;
  category: Int32Array | null;
  functions: readonly Func[];
  categories: readonly Category[];
}

/**
 * Groups rows into call nodes; node has the call node of each row, or none. Rows that are call
 * nodes already stay as they are: node is null. Linear, apart from sorting siblings that are merged.
 */
export function layout(rows: Rows): { table: Table; node: Int32Array | null } {
  const n = rows.parent.length;
  const given = asGiven(rows);
  if (given) return given;
  const { start, list } = callees(rows);
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
    source[top] = merged.sort((x, y) => rows.fn[x]! - rows.fn[y]! || x - y);
    at[top] = 0;
    to[top] = size;
  }
  const shorten = (a: Int32Array) => (count < n ? a.slice(0, count) : a);
  const table = {
    n: count,
    parent: shorten(parent),
    fn: shorten(fn),
    depth: shorten(depth),
    end: shorten(end),
    functions: rows.functions,
    categories: rows.categories,
    deepest,
  };
  return { table: { ...table, category: categoriesOf(rows, node, count) }, node };
}

/** Takes over rows that are depth first already, and of which no two siblings have one function; null for others. */
function asGiven(rows: Rows): { table: Table; node: null } | null {
  const { parent, fn, functions } = rows;
  const n = parent.length;
  const depth = new Int32Array(n);
  let deepest = 0;
  for (let i = 0; i < n; i++) {
    const p = parent[i]!;
    if (p === gone || p >= i) return null;
    const d = p === none ? 0 : depth[p]! + 1;
    depth[i] = d;
    if (d >= deepest) deepest = d + 1;
  }
  const end = endsOf(parent);
  const seen = new Int32Array(functions.length); // the last row with a callee of the function
  for (let p = none; p < n; p++) {
    for (let c = p + 1, to = p === none ? n : end[p]!; c < to; c = end[c]!) {
      if (parent[c] !== p || seen[fn[c]!] === p + 2) return null;
      seen[fn[c]!] = p + 2;
    }
  }
  return { table: { ...rows, n, depth, end, deepest }, node: null };
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
export function byFunction(t: Table): Int32Array {
  const rows = new Int32Array(t.n);
  sorted(t.parent, t.end, t.fn, null)!.forEach((at, row) => {
    rows[at] = row;
  });
  return rows;
}

/**
 * Sorts the siblings of rows that are depth first by a key: the place of each row, or none for
 * those that are not live. It reads and writes neighbours mostly, so it is fast for millions
 * of rows. Null: rows are not depth first, or siblings have equal keys.
 */
export function sorted(parent: Int32Array, end: Int32Array, key: Int32Array, live: Uint8Array | null): Int32Array | null {
  const n = parent.length;
  const node = new Int32Array(n).fill(none);
  let size: Int32Array | null = null; // of live subtrees
  if (live) {
    size = new Int32Array(n);
    for (let i = n - 1; i >= 0; i--) {
      if (!live[i]) continue;
      size[i]!++;
      if (parent[i] !== none) size[parent[i]!]! += size[i]!;
    }
  }
  let list = new Int32Array(1024);
  for (let p = none; p < n; p++) {
    if (p !== none && (node[p] === none || end[p] === p + 1)) continue;
    let count = 0;
    for (let c = p + 1, to = p === none ? n : end[p]!; c < to; c = end[c]!) {
      if (parent[c] !== p) return null;
      if (live && !live[c]) continue;
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
    let at = p === none ? 0 : node[p]! + 1;
    for (let i = 0; i < count; i++) {
      const c = list[i]!;
      if (i > 0 && key[list[i - 1]!] === key[c]) return null;
      node[c] = at;
      at += size ? size[c]! : end[c]! - c;
    }
  }
  return node;
}

/** Lists the callees of every row, sorted by function: those of row i are list[start[i+1]..start[i+2]), roots are at start[0]. */
function callees(rows: Rows): { start: Int32Array; list: Int32Array } {
  const n = rows.parent.length;
  const byFunction = new Int32Array(n);
  let live = 0;
  {
    const at = new Int32Array(rows.functions.length + 1);
    for (let i = 0; i < n; i++) if (rows.parent[i] !== gone) at[rows.fn[i]! + 1]!++;
    for (let f = 1; f < at.length; f++) at[f]! += at[f - 1]!;
    live = at[at.length - 1]!;
    for (let i = 0; i < n; i++) if (rows.parent[i] !== gone) byFunction[at[rows.fn[i]!]!++] = i;
  }
  const start = new Int32Array(n + 2);
  for (let i = 0; i < n; i++) if (rows.parent[i] !== gone) start[rows.parent[i]! + 2]!++;
  for (let i = 1; i < start.length; i++) start[i]! += start[i - 1]!;
  const list = new Int32Array(live);
  const at = start.slice();
  for (let k = 0; k < live; k++) {
    const st = byFunction[k]!;
    list[at[rows.parent[st]! + 1]!++] = st;
  }
  return { start, list };
}

/** The category for "unknown or mixed": the first grey one, else the first. */
const fallback = (list: readonly Category[]) =>
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

/** The functions from the root to a row. */
export function pathOf(t: Table, row: number): number[] {
  const path = [];
  for (let n = row; n !== none; n = t.parent[n]!) path.push(t.fn[n]!);
  return path.reverse();
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

const scripts = new Set(['js', 'js-label', 'label']);

/** Length of the beginning of a function's name that names its package, class or namespace. */
export function packageLength(full: string, kind: string): number {
  let name = full;
  // "[libc.so]" stands for functions without names; in scripts "load/<" is a function of load.
  if (name.startsWith('[') || (scripts.has(kind) && name.includes('/'))) return 0;
  const i = name.search(/[(<[]/);
  if (i > 0 && !name.startsWith('(*', i)) name = name.slice(0, i);
  const from = name.lastIndexOf('/') + 1;
  const colons = name.lastIndexOf('::');
  if (colons >= from) return colons + 2;
  const go = kind === 'go' || kind === 'go-runtime' || name.includes('(*');
  const dot = go ? name.indexOf('.', from) : name.lastIndexOf('.');
  return dot >= from ? dot + 1 : from;
}

/**
 * The name of a function, its package or class and what is above that: "github.com/acme/", "cart.",
 * "(*Engine).Lock"; "java.util.regex.", "Pattern.", "compile".
 */
export function parts(f: Func): [folders: string, pkg: string, symbol: string] {
  let folders = f.name.lastIndexOf('/', f.pkg) + 1;
  if (f.kind !== 'go' && f.kind !== 'go-runtime' && !scripts.has(f.kind)) folders = Math.max(folders, f.name.lastIndexOf('.', f.pkg - 2) + 1);
  return [f.name.slice(0, folders), f.name.slice(folders, f.pkg), f.name.slice(f.pkg)];
}
