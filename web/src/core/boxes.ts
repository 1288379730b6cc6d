// The boxes of a flame graph or stack chart: rectangles in depth-first order, so that
// the boxes above box i are [i, skip[i]).
import { type Nodes, Upright } from './nodes';
import { type Column, intsOf, type Values, valuesOf } from './profile';
import type { Steps } from './steps';
import { endsOf, type Ints, none, sorted } from './table';

export interface Boxes {
  readonly n: number;
  readonly depth: Ints;
  readonly fn: Ints;
  /** Handles of the nodes, of a stack chart their own numbers; null: a box has the number of its node. */
  readonly node: Int32Array | null;
  /** How wide each is, in the unit of the whole width; an absolute value. */
  readonly width: Values;
  readonly whole: number;
  /** Where each begins, in the same unit; null: with its parent or where the one before it ends. */
  readonly start: Float64Array | null;
  readonly skip: Int32Array;
  readonly parent: Int32Array;
  readonly deepest: number;
  /** Nodes that are too narrow to be laid out, with all below them. */
  readonly omitted: number;
}

/** Where a box begins and ends, from 0 to 1. */
export function extent(b: Boxes, box: number): [start: number, end: number] {
  let start = b.start?.[box] ?? 0;
  for (let i = box; !b.start && i !== none; i = b.parent[i]!)
    for (let c = b.parent[i]! + 1; c < i; c = b.skip[c]!) start += b.width[c]!; // the first box in a parent, and the first of all, follows it
  return [start / b.whole, (start + b.width[box]!) / b.whole];
}

export const nodeOf = (b: Boxes, box: number): number => (b.node ? b.node[box]! : box);

/** The box of a node, or none. */
export const boxOf = (b: Boxes, node: number): number => (b.node && node !== none ? b.node.indexOf(node) : node);

/** Siblings by name, so that graphs of different profiles look alike, or by width. */
export type Order = 'name' | 'width';

interface Options {
  order: Order;
  /** Nodes narrower than this share of the width are left out, where nodes are made on demand. */
  least?: number;
}

/** Lays out a flame graph. A node begins where its parent begins, after the siblings before it. */
export function* flameBoxes(v: Nodes, { order, least = 0 }: Options): Steps<Boxes> {
  if (v instanceof Upright && v.tree.self.every(notNegative)) return yield* all(v, order);
  let whole = 0;
  for (const r of v.children(none)) whole += v.width(r);
  if (!v.tree.isDiff) whole = Math.max(whole, v.tree.root[0]!);
  const list: Box[] = [];
  const { functions } = v.tree.table;
  const name = (node: number) => functions[v.fn(node)]!.name;
  const compare =
    order === 'name'
      ? (a: number, b: number) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : v.fn(a) - v.fn(b))
      : (a: number, b: number) => v.width(b) - v.width(a) || v.fn(a) - v.fn(b);
  let omitted = 0;
  // The walk: nodes whose boxes begin at a known place, the next one last.
  const pending: [node: number, start: number, box: number][] = [];
  const push = (node: number, start: number, box: number) => {
    const children = v.children(node).slice().sort(compare);
    let at = start;
    for (const c of children) at += v.width(c);
    for (const c of children.reverse()) pending.push([c, (at -= v.width(c)), box]);
  };
  push(none, 0, none);
  for (let count = 1; pending.length > 0; count++) {
    if (count % 16 === 0) yield; // the nodes of some trees are made now
    let [node, start, box] = pending.pop()!;
    const width = v.width(node);
    if (width !== 0) {
      if (width / whole < least) {
        omitted++;
        continue;
      }
      box = list.push([v.depth(node), v.fn(node), node, start, width, box]) - 1;
    } else if (v.inverted) continue;
    push(node, start, box);
  }
  return boxesOf(list, whole || 1, omitted);
}

function notNegative(values: Values): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! < 0) return false;
  return true;
}

/** Lays out all nodes of a tree without negative values: its rows as they are, or by width in linear time. */
function* all(v: Upright, order: Order): Steps<Boxes> {
  const { table, isDiff, root } = v.tree;
  const { n, end } = table;
  const width = v.tree.widths[1]!;
  let whole = 0;
  for (let r = 0; r < n; r = end[r]!) whole += width[r]!;
  if (!isDiff) whole = Math.max(whole, root[0]!);
  let deepest = 0;
  for (let i = 0; i < n; i++) if (width[i]! > 0 && table.depth[i]! >= deepest) deepest = table.depth[i]! + 1;
  const common = { n, whole: whole || 1, start: null, deepest, omitted: 0 };
  if (order === 'name') return { ...common, depth: table.depth, fn: table.fn, node: null, width, skip: end, parent: table.parent };
  yield;
  const at = yield* sorted(table, Float64Array.from(width, w => -w));
  const node = new Int32Array(n);
  for (let i = 0; i < n; i++) node[at[i]!] = i;
  yield;
  const moved = <T extends Values>(of: T) => of.map((_, k) => of[node[k]!]!) as T;
  const parent = moved(table.parent);
  for (let k = 0; k < n; k++) if (parent[k] !== none) parent[k] = at[parent[k]!]!;
  yield;
  const skip = endsOf(parent);
  yield;
  const boxes = { ...common, node, parent, skip, depth: moved(table.depth), fn: moved(table.fn) };
  yield;
  return { ...boxes, width: moved(width) };
}

/** A stack chart as the API answers it: boxes by depth, then from left to right. */
export interface ChartWire {
  columns: { depth: Column; function: Column; start: Column; end: Column; self: Column };
}

/** Lays out a stack chart; from and to are what 0 and 1 stand for, by default the ends of the boxes. */
export function chartBoxes(w: ChartWire, range?: readonly [number, number]): { boxes: Boxes; from: number; to: number } {
  const [depth, fn] = [intsOf(w.columns.depth), intsOf(w.columns.function)];
  const [start, end] = [valuesOf(w.columns.start), valuesOf(w.columns.end)];
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
  const list: Box[] = [];
  const open: number[] = [];
  const width = to - from || 1;
  for (const i of order) {
    const d = depth[i]!;
    open[d] = list.push([d, fn[i]!, i, (start[i]! - from) / width, (end[i]! - start[i]!) / width, d > 0 ? (open[d - 1] ?? none) : none]) - 1;
  }
  return { boxes: boxesOf(list, 1), from, to };
}

/** A box: its depth, function and node, where it begins, its width, and the box that it is in. */
type Box = readonly [depth: number, fn: number, node: number, start: number, width: number, parent: number];

/** Boxes in depth-first order as columns. */
function boxesOf(list: readonly Box[], whole: number, omitted = 0): Boxes {
  const ints = (k: number) => Int32Array.from(list, box => box[k]!);
  const [depth, parent] = [ints(0), ints(5)];
  const deepest = depth.reduce((most, d) => Math.max(most, d + 1), 0);
  const [start, width] = [3, 4].map(k => Float64Array.from(list, box => box[k]!)) as [Float64Array, Float64Array];
  return { n: list.length, depth, fn: ints(1), node: ints(2), start, width, parent, skip: endsOf(parent), whole, deepest, omitted };
}
