// The boxes of a flame graph or stack chart: rectangles in depth-first order, so that
// the boxes above box i are [i, skip[i]).
import { type Nodes, Upright } from './nodes';
import { endsOf, type Func, none, sorted } from './table';

export interface Boxes {
  readonly n: number;
  readonly depth: Int32Array;
  readonly fn: Int32Array;
  /** Handles of the nodes; of a stack chart their own numbers. */
  readonly node: Int32Array;
  /** From 0 to 1. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly skip: Int32Array;
  readonly parent: Int32Array;
  readonly deepest: number;
  /** Nodes that are too narrow to be laid out, with all below them. */
  readonly omitted: number;
}

/** Siblings by name, so that graphs of different profiles look alike, or by width. */
export type Order = 'name' | 'width';

interface Options {
  order: Order;
  /** Nodes narrower than this share of the width are left out: for a first look, and where nodes are made on demand. */
  least?: number;
}

/** The place of each function in the order of names, in code units; equal names by number. */
function placesByName(functions: readonly Func[]): Int32Array {
  const ids = functions.map((_, i) => i);
  const name = (i: number) => functions[i]!.name;
  ids.sort((a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a - b));
  const place = new Int32Array(functions.length);
  for (let i = 0; i < ids.length; i++) place[ids[i]!] = i;
  return place;
}

/** Lays out a flame graph. A node begins where its parent begins, after the siblings before it. */
export function flameBoxes(v: Nodes, { order, least = 0 }: Options): Boxes {
  if (v instanceof Upright && order === 'name' && least > 0) return widest(v, least);
  const place = placesByName(v.tree.table.functions);
  if (v instanceof Upright && order === 'name' && v.tree.self.every(notNegative)) return all(v, place);
  const list = new Builder();
  let whole = 0;
  for (const r of v.children(none)) whole += v.width(r);
  if (!v.tree.isDiff) whole = Math.max(whole, v.tree.root[0]!);
  if (whole === 0) return list.done();
  const compare =
    order === 'name'
      ? (a: number, b: number) => place[v.fn(a)]! - place[v.fn(b)]!
      : (a: number, b: number) => v.width(b) - v.width(a) || v.fn(a) - v.fn(b);
  let omitted = 0;
  // The walk: nodes whose boxes begin at a known place, the next one last.
  const nodes: number[] = [];
  const starts: number[] = [];
  const parents: number[] = [];
  const push = (node: number, start: number, box: number) => {
    const children = v.children(node).slice().sort(compare);
    let at = start;
    for (const c of children) at += v.width(c);
    for (let i = children.length - 1; i >= 0; i--) {
      at -= v.width(children[i]!);
      nodes.push(children[i]!);
      starts.push(at);
      parents.push(box);
    }
  };
  push(none, 0, none);
  while (nodes.length > 0) {
    const node = nodes.pop()!;
    const start = starts.pop()!;
    let box = parents.pop()!;
    const width = v.width(node);
    if (width !== 0) {
      if (width / whole < least) {
        omitted++;
        continue;
      }
      box = list.add(v.depth(node), v.fn(node), node, start / whole, (start + width) / whole, box);
    } else if (v.inverted) continue;
    push(node, start, box);
  }
  return list.done(omitted);
}

/** Lays out the nodes of at least this share of the width. It reads these and their children only. */
function widest(v: Upright, least: number): Boxes {
  const { table, root, isDiff } = v.tree;
  const { n, end, fn, functions } = table;
  const width = v.tree.widths[1]!;
  const list = new Builder();
  let whole = 0;
  for (let r = 0; r < n; r = end[r]!) whole += v.width(r);
  if (!isDiff) whole = Math.max(whole, root[0]!);
  const place = placesByName(functions);
  let omitted = 0;
  const pending: [node: number, start: number, parent: number][] = [];
  const push = (node: number, start: number, box: number) => {
    const wide: number[] = [];
    const narrow: number[] = [];
    for (let c = node + 1, to = node === none ? n : end[node]!; c < to; c = end[c]!) {
      const w = Math.abs(width[c]!);
      if (w > 0) (w >= least * whole ? wide : narrow).push(c);
    }
    wide.sort((a, b) => place[fn[a]!]! - place[fn[b]!]!);
    omitted += narrow.length;
    const gaps = new Float64Array(wide.length + 1); // the narrow siblings before each wide one
    for (const c of wide.length > 0 ? narrow : []) {
      const p = place[fn[c]!]!;
      let at = 0;
      for (let to = wide.length; at < to; ) {
        const mid = (at + to) >> 1;
        if (place[fn[wide[mid]!]!]! < p) at = mid + 1;
        else to = mid;
      }
      gaps[at]! += v.width(c);
    }
    for (let i = 0; i < wide.length; i++) {
      start += gaps[i]!;
      gaps[i] = start;
      start += v.width(wide[i]!);
    }
    for (let i = wide.length - 1; i >= 0; i--) pending.push([wide[i]!, gaps[i]!, box]); // the first one is the next
  };
  push(none, 0, none);
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [node, start, parent] = next;
    push(node, start, list.add(v.depth(node), v.fn(node), node, start / whole, (start + v.width(node)) / whole, parent));
  }
  return list.done(omitted);
}

function notNegative(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! < 0) return false;
  return true;
}

/** Lays out all nodes of a tree without negative values: the rows of the table in the order of names, in linear time. */
function all(v: Upright, place: Int32Array): Boxes {
  const { table, shown } = v.tree;
  const at = sorted(table.parent, table.end, mapped(table.fn, place), shown)!;
  const width = v.tree.widths[1]!;
  let n = 0;
  let whole = 0;
  for (let i = 0; i < table.n; i++) {
    n += shown[i]!;
    if (table.parent[i] === none) whole += width[i]!;
  }
  const ints = () => new Int32Array(n);
  const [depth, fn, node, parent] = [ints(), ints(), ints(), ints()];
  let deepest = 0;
  for (let i = 0; i < table.n; i++) {
    const k = at[i]!;
    if (k === none) continue;
    const d = table.depth[i]!;
    node[k] = i;
    depth[k] = d;
    fn[k] = table.fn[i]!;
    parent[k] = d === 0 ? none : at[table.parent[i]!]!;
    if (d >= deepest) deepest = d + 1;
  }
  const start = new Float64Array(n);
  const end = new Float64Array(n);
  const next = new Float64Array(n); // where the next child of a box begins
  let root = 0;
  for (let k = 0; k < n; k++) {
    const p = parent[k]!;
    const from = p === none ? root : next[p]!;
    const to = from + width[node[k]!]!;
    next[k] = from;
    if (p === none) root = to;
    else next[p] = to;
    start[k] = from / whole;
    end[k] = to / whole;
  }
  return { n, depth, fn, node, start, end, skip: endsOf(parent), parent, deepest, omitted: 0 };
}

function mapped(list: Int32Array, to: ArrayLike<number>): Int32Array {
  const out = new Int32Array(list.length);
  for (let i = 0; i < list.length; i++) out[i] = to[list[i]!]!;
  return out;
}

/** A stack chart as the API answers it: boxes by depth, then from left to right. */
export interface ChartWire {
  columns: { depth: number[]; function: number[]; start: number[]; end: number[]; self: number[] };
}

/** Lays out a stack chart; from and to are what 0 and 1 stand for, by default the ends of the boxes. */
export function chartBoxes(w: ChartWire, range?: readonly [number, number]): { boxes: Boxes; from: number; to: number } {
  const { depth, function: fn, start, end } = w.columns;
  const n = depth.length;
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    from = Math.min(from, start[i]!);
    to = Math.max(to, end[i]!);
  }
  if (n === 0) from = to = 0;
  if (range) [from, to] = range;
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => start[a]! - start[b]! || depth[a]! - depth[b]!);
  const list = new Builder();
  const open: number[] = [];
  const width = to - from || 1;
  for (const i of order) {
    const d = depth[i]!;
    open[d] = list.add(d, fn[i]!, i, (start[i]! - from) / width, (end[i]! - from) / width, d > 0 ? (open[d - 1] ?? none) : none);
  }
  return { boxes: list.done(), from, to };
}

class Builder {
  readonly #depth: number[] = [];
  readonly #fn: number[] = [];
  readonly #node: number[] = [];
  readonly #parent: number[] = [];
  readonly #start: number[] = [];
  readonly #end: number[] = [];
  #deepest = 0;
  add(depth: number, fn: number, node: number, start: number, end: number, parent: number): number {
    this.#depth.push(depth);
    this.#fn.push(fn);
    this.#node.push(node);
    this.#parent.push(parent);
    this.#start.push(start);
    this.#end.push(end);
    if (depth >= this.#deepest) this.#deepest = depth + 1;
    return this.#depth.length - 1;
  }
  done(omitted = 0): Boxes {
    const n = this.#depth.length;
    const [depth, fn, node, parent] = [this.#depth, this.#fn, this.#node, this.#parent].map(list => new Int32Array(list)) as [
      Int32Array,
      Int32Array,
      Int32Array,
      Int32Array,
    ];
    const [start, end] = [new Float64Array(this.#start), new Float64Array(this.#end)];
    return { n, depth, fn, node, start, end, parent, skip: endsOf(parent), deepest: this.#deepest, omitted };
  }
}
