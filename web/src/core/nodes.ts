// Call nodes as views show them: upright, or inverted. A node is a handle that stays
// valid; -1 stands for what is above the roots.
import type { Tree } from './profile';
import { byFunction, none, type Table } from './table';

export interface Nodes {
  readonly tree: Tree;
  readonly inverted: boolean;
  /** The shown children in display order. */
  children(node: number): readonly number[];
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
    const next = v.children(node).find(c => v.fn(c) === f);
    if (next === undefined) return { node, whole: false };
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
  readonly #roots: number[];
  readonly #self: Float64Array[]; // per side, and of the widths

  constructor(readonly tree: Tree) {
    const t = tree.table;
    this.#self = tree.isDiff ? [...tree.self, tree.widths[0]!] : [...tree.self];
    const count = new Int32Array(t.functions.length);
    const order: number[] = []; // functions by their first call node with a self value
    const isRoot = new Uint8Array(t.functions.length);
    // The category of a row is of all call nodes, its values of those that have some.
    const counts = (n: number) => t.category !== null || this.#self.some(s => s[n] !== 0);
    const rows = byFunction(t);
    for (const n of rows) {
      const f = t.fn[n]!;
      if (counts(n)) count[f]!++;
      if (isRoot[f] || this.#self.every(s => s[n] === 0)) continue;
      isRoot[f] = 1;
      order.push(f);
    }
    const lists = new Map(order.map(f => [f, new Int32Array(count[f]!)]));
    count.fill(0);
    for (const n of rows) if (counts(n)) lists.get(t.fn[n]!)?.fill(n, count[t.fn[n]!], ++count[t.fn[n]!]!);
    const roots = order.map(f => this.#add(none, f, 0, lists.get(f)!, lists.get(f)!));
    this.#roots = this.#sorted(roots, tree.isDiff);
  }

  #add(parent: number, fn: number, depth: number, nodes: Int32Array, deep: Int32Array): number {
    const t = this.tree.table;
    const values = this.#self.map(s => nodes.reduce((sum, n) => sum + s[n]!, 0));
    const deeper = nodes.some(n => t.depth[n]! > depth && this.#self.some(s => s[n] !== 0));
    let category = none;
    if (t.category) {
      category = t.category[deep[0]!]!;
      const mixed = Math.max(
        0,
        t.categories.findIndex(c => c.color === 'grey'),
      );
      for (const d of deep) if (t.category[d] !== category) category = mixed;
    }
    return this.#rows.push({ parent, fn, depth, values, nodes, deep, deeper, category }) - 1;
  }

  #sorted(list: number[], byFunction: boolean): number[] {
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
      row.children = this.#sorted(list, true);
      if (row.parent !== none) row.deep = row.nodes = new Int32Array(0);
    }
    return row.children;
  }
  parent = (node: number) => this.#rows[node]!.parent;
  fn = (node: number) => this.#rows[node]!.fn;
  depth = (node: number) => this.#rows[node]!.depth;
  category = (node: number) => this.#rows[node]!.category;
  outside = () => undefined;
  self = (node: number, side: number) => (this.#rows[node]!.parent === none ? this.#rows[node]!.values[side]! : 0);
  total = (node: number, side: number) => this.#rows[node]!.values[side]!;
  width = (node: number) => Math.abs(this.#rows[node]!.values.at(-1)!);
  hasChildren = (node: number) => this.#rows[node]!.deeper && this.children(node).length > 0;
}

/** The callers of functions: roots are the functions, with their totals. A sample counts once however often they recur. */
export function callers(t: Tree, functions: Uint8Array): Inverted {
  const { n, fn, end } = t.table;
  const self = t.self.map(() => new Float64Array(n));
  const until = new Int32Array(t.table.functions.length);
  for (let i = 0; i < n; i++) {
    const f = fn[i]!;
    if (!functions[f] || i < until[f]!) continue;
    until[f] = end[i]!;
    self.forEach((s, side) => {
      s[i] = t.total[side]![i]!;
    });
  }
  return new Inverted(t.with(self));
}
