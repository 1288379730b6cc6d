// Call nodes as views show them: upright, or inverted. A node is a handle that stays
// valid; -1 stands for what is above the roots.
import type { Tree, Values } from './profile';
import type { Steps } from './steps';
import { byFunction, fallback, none, stride, type Table } from './table';

export interface Nodes {
  readonly tree: Tree;
  readonly inverted: boolean;
  /** The shown children in display order. */
  children(node: number): readonly number[];
  /** The shown child of a function, or none. */
  child(node: number, fn: number): number;
  parent(node: number): number;
  fn(node: number): number;
  depth(node: number): number;
  category(node: number): number;
  /** Whether its change is outside of the band of the history; undefined: sampling noise decides. */
  outside(node: number): boolean | undefined;
  self(node: number, side: number): number;
  total(node: number, side: number): number;
  /** The width in a flame graph. */
  width(node: number): number;
  hasChildren(node: number): boolean;
}

/** The functions from the outermost shown node to a node; of an inverted tree the leaf is first. */
export function path(v: Nodes, node: number): number[] {
  const list = [];
  for (let n = node; n !== none; n = v.parent(n)) list.push(v.fn(n));
  return list.reverse();
}

/** The node of a path of functions, as far as it leads. */
export function find(v: Nodes, functions: readonly number[]): { node: number; whole: boolean } {
  let node = none;
  for (const f of functions) {
    const next = v.child(node, f);
    if (next === none) return { node, whole: false };
    node = next;
  }
  return { node, whole: true };
}

export class Upright implements Nodes {
  readonly inverted = false;
  readonly #table: Table;
  readonly #children = new Map<number, number[]>();

  constructor(readonly tree: Tree) {
    this.#table = tree.table;
  }
  children(node: number): readonly number[] {
    let list = this.#children.get(node);
    if (!list) {
      const { end, fn, n } = this.#table;
      const { shown, total } = this.tree;
      list = [];
      for (let c = node + 1, to = node === none ? n : end[node]!; c < to; c = end[c]!) if (shown[c]) list.push(c);
      list.sort(
        total.length === 1
          ? (a, b) => Math.abs(total[0]![b]!) - Math.abs(total[0]![a]!) || fn[a]! - fn[b]!
          : (a, b) => this.tree.order(this.#both(a), this.#both(b)) || fn[a]! - fn[b]!,
      );
      this.#children.set(node, list);
    }
    return list;
  }
  child(node: number, f: number): number {
    const { end, fn, n } = this.#table;
    const to = node === none ? n : end[node]!;
    let c = node + 1;
    while (c < to && fn[c] !== f) c = end[c]!;
    return c < to && this.tree.shown[c] ? c : none;
  }
  #both(node: number): [number, number] {
    return [this.tree.total[0]![node]!, this.tree.total[1]![node]!];
  }
  parent = (node: number) => this.#table.parent[node]!;
  fn = (node: number) => this.#table.fn[node]!;
  depth = (node: number) => this.#table.depth[node]!;
  category = (node: number) => this.#table.category?.[node] ?? none;
  outside = (node: number) => (this.tree.outside ? this.tree.outside[node] === 1 : undefined);
  self = (node: number, side: number) => this.tree.self[side]![node]!;
  total = (node: number, side: number) => this.tree.total[side]![node]!;
  width = (node: number) => Math.abs(this.tree.widths[1]![node]!);
  hasChildren = (node: number) => this.#table.end[node]! > node + 1 && this.children(node).length > 0;
}

interface Row {
  parent: number;
  fn: number;
  depth: number;
  /** Totals per side, and of the widths. */
  values: number[];
  /** The call nodes whose paths end in this path, and of each the ancestor at this row. */
  nodes: Int32Array;
  deep: Int32Array;
  /** Some call node with a value has more callers. */
  deeper: boolean;
  category: number;
  children?: number[];
}

/** The tree upside down: the functions in which samples end, below them their callers. Rows are made when they are asked for. */
export class Inverted implements Nodes {
  readonly inverted = true;
  readonly #rows: Row[] = [];
  #roots: number[] = [];

  private constructor(
    readonly tree: Tree,
    readonly values: Values[], // of their own: per side, and of the widths
  ) {}

  static *of(tree: Tree): Steps<Inverted> {
    const t = tree.table;
    const v = new Inverted(tree, tree.isDiff ? [...tree.self, tree.widths[0]!] : tree.self);
    // The call nodes of each function; the category of a row is of all call nodes, its values of those that have some.
    const rows = yield* byFunction(t);
    const at = new Int32Array(t.functions.length + 1);
    for (let i = 0; i < t.n; i++) if (t.category || v.#has(i)) at[t.fn[i]! + 1]!++;
    for (let f = 1; f < at.length; f++) at[f]! += at[f - 1]!;
    const nodes = new Int32Array(at[t.functions.length]!);
    const next = at.slice();
    const roots = new Set<number>(); // functions by their first call node with a self value
    yield;
    for (let k = 0; k < t.n; k++) {
      if (k % stride === 0) yield;
      const [n, has] = [rows[k]!, v.#has(rows[k]!)];
      if (has) roots.add(t.fn[n]!);
      if (has || t.category) nodes[next[t.fn[n]!]!++] = n;
    }
    let made = 0;
    for (const f of roots) {
      const list = nodes.subarray(at[f]!, at[f + 1]!);
      v.#roots.push(v.#add(none, f, 0, list, list));
      if ((made += list.length + 100) < stride) continue;
      made = 0;
      yield;
    }
    v.#sort(v.#roots, tree.isDiff);
    return v;
  }

  /** Whether a call node has a value of its own. */
  #has(node: number): boolean {
    for (const s of this.values) if (s[node] !== 0) return true;
    return false;
  }

  #add(parent: number, fn: number, depth: number, nodes: Int32Array, deep: Int32Array): number {
    const t = this.tree.table;
    const values = this.values.map(s => {
      let sum = 0;
      for (let i = 0; i < nodes.length; i++) sum += s[nodes[i]!]!;
      return sum;
    });
    const deeper = nodes.some(n => t.depth[n]! > depth && this.#has(n));
    let category = none;
    if (t.category) {
      category = t.category[deep[0]!]!;
      const mixed = fallback(t.categories);
      for (const d of deep) if (t.category[d] !== category) category = mixed;
    }
    return this.#rows.push({ parent, fn, depth, values, nodes, deep, deeper, category }) - 1;
  }

  #sort(list: number[], byFunction: boolean): number[] {
    const v = (r: number) => this.#rows[r]!.values.slice(0, this.tree.sides);
    return list.sort((a, b) => this.tree.order(v(a), v(b)) || (byFunction ? this.#rows[a]!.fn - this.#rows[b]!.fn : 0));
  }

  children(node: number): readonly number[] {
    if (node === none) return this.#roots;
    const row = this.#rows[node]!;
    if (!row.children) {
      const { parent, fn } = this.tree.table;
      const groups = new Map<number, { nodes: number[]; deep: number[] }>();
      for (let i = 0; i < row.deep.length; i++) {
        const p = parent[row.deep[i]!]!;
        if (p === none) continue;
        let g = groups.get(fn[p]!);
        if (!g) {
          g = { nodes: [], deep: [] };
          groups.set(fn[p]!, g);
        }
        g.nodes.push(row.nodes[i]!);
        g.deep.push(p);
      }
      const list = [...groups.entries()]
        .map(([f, g]) => this.#add(node, f, row.depth + 1, Int32Array.from(g.nodes), Int32Array.from(g.deep)))
        .filter(r => this.#rows[r]!.deeper || this.#rows[r]!.values.some(v => v !== 0));
      row.children = this.#sort(list, true);
      if (row.parent !== none) row.deep = row.nodes = new Int32Array(0);
    }
    return row.children;
  }
  child = (node: number, f: number) => this.children(node).find(c => this.fn(c) === f) ?? none;
  parent = (node: number) => this.#rows[node]!.parent;
  fn = (node: number) => this.#rows[node]!.fn;
  depth = (node: number) => this.#rows[node]!.depth;
  category = (node: number) => this.#rows[node]!.category;
  outside = () => undefined;
  self = (node: number, side: number) => (this.#rows[node]!.parent === none ? this.#rows[node]!.values[side]! : 0);
  total = (node: number, side: number) => this.#rows[node]!.values[side]!;
  width = (node: number) => Math.abs(this.#rows[node]!.values.at(-1)!);
  hasChildren = (node: number) => this.#rows[node]!.deeper;
}

/** The callers of functions: roots are the functions, with their totals. A sample counts once however often they recur. */
export function* callers(t: Tree, functions: Uint8Array): Steps<Inverted> {
  const { n, fn, end } = t.table;
  const self = t.self.map(() => new Float64Array(n));
  const until = new Int32Array(t.table.functions.length);
  for (let i = 0; i < n; i++) {
    const f = fn[i]!;
    if (!functions[f] || i < until[f]!) continue;
    until[f] = end[i]!;
    for (let side = 0; side < self.length; side++) self[side]![i] = t.total[side]![i]!;
  }
  yield;
  return yield* Inverted.of(t.with(self));
}

/** Who calls a function, and whom it calls, by size: the first levels of its callers and of its callees. */
export function around(t: Tree, fn: number): Record<'callers' | 'callees', { fn: number; total: number[] }[]> {
  const { n, parent, end } = t.table;
  const sums = { callers: new Map<number, number[]>(), callees: new Map<number, number[]>() };
  const add = (to: Map<number, number[]>, of: number, node: number) => {
    const f = t.table.fn[of]!;
    if (!to.has(f)) to.set(f, t.self.map(() => 0));
    t.total.forEach((total, side) => (to.get(f)![side]! += total[node]!));
  };
  for (let i = 0; i < n; i++) {
    if (t.table.fn[i] !== fn) continue;
    if (parent[i] !== none) add(sums.callers, parent[i]!, i);
    for (let c = i + 1; c < end[i]!; c = end[c]!) add(sums.callees, c, c);
    i = end[i]! - 1; // calls below it counted already
  }
  const list = (of: Map<number, number[]>) =>
    [...of]
      .map(([fn, total]) => ({ fn, total }))
      .filter(x => x.total.some(v => v !== 0))
      .sort((a, b) => t.order(a.total, b.total) || a.fn - b.fn);
  return { callers: list(sums.callers), callees: list(sums.callees) };
}
