// Call trees and diffs: values over a table. A tree has one side, a diff two (base, head).
import type { Activity, WireFunction } from './answers';
import { splitName } from './metric';
import { bytesOf } from './source';
import { inSteps, type Steps } from './steps';
import { type Category, type Func, type Ints, layout, none, type Rows, stride, type Table } from './table';

/** Reads a function of an answer. */
export const readFunction = (f: WireFunction): Func => ({ line: 0, column: 0, ...f, name: f.function, pkg: splitName(f.function, f.kind)[0].length });

/** Numbers of an answer: a list, or packed as form=compact has them. */
export type Column = readonly number[] | string;

/** Values of call nodes; whole numbers take less room. */
export type Values = Float64Array | Ints;

const packed = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f8: Float64Array };

/** Reads values of an answer. */
export const valuesOf = (c: Column): Values =>
  typeof c === 'string' ? new packed[c.slice(0, 2) as keyof typeof packed](bytesOf(c.slice(3)).buffer) : new Float64Array(c);

/** Reads whole numbers of an answer. */
export function intsOf(c: Column): Ints {
  const list = valuesOf(c);
  return list instanceof Float64Array ? new Int32Array(list) : list;
}

/** A tree or a diff in columns, as the API answers form=columns and form=compact. */
export interface Wire {
  profiles: number | { base: number; head: number };
  type: string;
  /** Those that a file has, if there are several. */
  types?: string[];
  unit: string;
  by?: string;
  /** Of a file: when its threads had samples. */
  activity?: Activity;
  notes?: string[];
  omitted?: { rows: number; share?: number };
  columns: {
    /** The row of the caller, or -1; rows that are depth first may have their depth only. */
    parent?: Column;
    depth?: Column;
    function: Column;
    self?: Column;
    baseSelf?: Column;
    headSelf?: Column;
    category?: Column;
    categories?: Category[];
    noisePerValue?: [number, number];
    significant?: Column;
    functions: WireFunction[];
  };
}

export class Tree {
  /** The sum of self and of all callees, per side. */
  readonly total: Values[];
  /** 100% of each side: the sums of absolute self values. */
  readonly root: number[];

  constructor(
    readonly table: Table,
    readonly self: Values[],
    readonly unit: string,
    /** Factors of the noise of a delta, see there. */
    readonly noisePerValue: readonly [number, number] = [0, 0],
    /** Of each row, whether its change is outside of the band of the history; null: sampling noise decides. */
    readonly outside: Uint8Array | null = null,
  ) {
    this.root = self.map(sizeOf);
    this.total = self.map((values, side) => totals(table, values, this.root[side]!));
  }

  get sides(): number {
    return this.self.length;
  }
  get isDiff(): boolean {
    return this.self.length > 1;
  }

  /** The same table with other values. */
  with(self: Values[]): Tree {
    return new Tree(this.table, self, this.unit, this.noisePerValue);
  }

  #widths: Values[] | undefined;
  /** Self and total widths of nodes in a flame graph: of a diff those of the larger side, so that children fit into their parent. */
  get widths(): Values[] {
    if (!this.#widths) {
      const [a, b] = this.self;
      if (!b) this.#widths = [a!, this.total[0]!];
      else {
        const larger = new Float64Array(b.length);
        for (let i = 0; i < b.length; i++) larger[i] = Math.max(Math.abs(a![i]!), Math.abs(b[i]!));
        this.#widths = [larger, totals(this.table, larger, sizeOf(larger))];
      }
    }
    return this.#widths;
  }

  /** The largest delta that the counting of samples alone causes in 95% of cases, as diff.Diff.Noise. */
  noise(base: number, now: number): number {
    const [k0, k1] = this.noisePerValue;
    return (k0 + k1) / (2 * 1.96 ** 2) + Math.sqrt(k0 * Math.abs(base) + k1 * Math.abs(now));
  }

  /** The delta if it is outside of the noise, or if the band says so, else 0. */
  change(base: number, now: number, outside?: boolean): number {
    const delta = now - base;
    return outside === false || (outside === undefined && Math.abs(delta) <= this.noise(base, now)) ? 0 : delta;
  }

  /** The same of self values: the band of the history is of totals, so that counting decides too. */
  changeOfSelf(base: number, now: number, outside?: boolean): number {
    return Math.abs(now - base) <= this.noise(base, now) ? 0 : this.change(base, now, outside);
  }

  #shown: Uint8Array | undefined;
  /** Of each row, whether a view lists it: it has a total, or a row below has one. */
  get shown(): Uint8Array {
    if (!this.#shown) {
      const { n, parent } = this.table;
      const shown = (this.#shown = new Uint8Array(n));
      const first = this.total[0]!;
      const last = this.total[this.sides - 1]!;
      for (let i = n - 1; i >= 0; i--) {
        if (!shown[i] && first[i] === 0 && last[i] === 0) continue;
        shown[i] = 1;
        if (parent[i] !== none) shown[parent[i]!] = 1;
      }
    }
    return this.#shown;
  }

  /** Compares values for display: by size, in a diff by the size of the delta and then of the larger side. */
  order(a: readonly number[], b: readonly number[]): number {
    if (a.length === 1) return Math.abs(b[0]!) - Math.abs(a[0]!);
    const delta = (v: readonly number[]) => Math.abs(v[1]! - v[0]!);
    const larger = (v: readonly number[]) => Math.max(Math.abs(v[0]!), Math.abs(v[1]!));
    return delta(b) - delta(a) || larger(b) - larger(a);
  }
}

function sizeOf(values: Values): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.abs(values[i]!);
  return sum;
}

/** Room for sums of values of a size. */
const sums = (of: Values, size: number, n: number): Values => (of instanceof Float64Array || size >= 2 ** 31 ? new Float64Array(n) : new Int32Array(n));

function totals(table: Table, self: Values, size: number): Values {
  const total = sums(self, size, table.n);
  total.set(self);
  for (let i = table.n - 1; i >= 0; i--) {
    const p = table.parent[i]!;
    if (p !== none) total[p]! += total[i]!;
  }
  return total;
}

/** The row of the caller of each row, of rows depth first: the last one that is less deep. */
function callersOf(depth: Ints): Int32Array {
  const parent = new Int32Array(depth.length);
  const last: number[] = []; // of each depth
  for (let i = 0; i < depth.length; i++) {
    const d = depth[i]!;
    parent[i] = d === 0 ? none : last[d - 1]!;
    last[d] = i;
  }
  return parent;
}

/** Reads an answer in columns. */
export function* decoding(w: Wire): Steps<Tree> {
  const c = w.columns;
  const functions: Func[] = [];
  for (const f of c.functions ?? []) if (functions.push(readFunction(f)) % 4096 === 0) yield;
  const parent = c.parent ? new Int32Array(intsOf(c.parent)) : callersOf(intsOf(c.depth!));
  yield;
  const rows: Rows = { parent, fn: intsOf(c.function), category: c.category ? intsOf(c.category) : null, functions, categories: c.categories ?? [] };
  yield;
  const values = [c.self, c.baseSelf, c.headSelf].filter(v => v !== undefined).map(valuesOf);
  yield;
  return yield* gather(rows, values, null, w.unit, c.noisePerValue ?? [0, 0], c.significant === undefined ? undefined : intsOf(c.significant));
}

/** An answer that was read: a tree in place of the columns, which are not kept. */
export type Loaded<W extends Wire = Wire> = Omit<W, 'columns'> & { tree: Tree };

/** Reads an answer in columns while the page does other things. */
export async function loaded<W extends Wire>(wire: W, signal?: AbortSignal): Promise<Loaded<W>> {
  const { columns, ...head } = wire;
  return { ...head, tree: await inSteps(decoding(wire), signal) };
}

/**
 * Groups rows into a tree. to says which row gets the values of a row, or none; null: itself.
 * significant are the rows outside of the band of the history.
 */
export function* gather(
  rows: Rows,
  values: Values[],
  to: Int32Array | null,
  unit: string,
  noise: readonly [number, number],
  significant?: Ints,
): Steps<Tree> {
  const { table, node } = yield* layout(rows);
  const self: Values[] = [];
  for (const of of values) {
    const sum = sums(of, sizeOf(of), table.n);
    for (let i = 0; i < of.length; i++) {
      if (i % stride === 0) yield;
      const st = to ? to[i]! : i;
      const n = st === none ? none : node[st]!;
      if (n !== none) sum[n]! += of[i]!;
    }
    self.push(sum);
    yield;
  }
  const outside = significant ? new Uint8Array(table.n) : null;
  significant?.forEach((is, i) => {
    if (is) outside![node[i]!] = 1;
  });
  return new Tree(table, self, unit, noise, outside);
}

/** A line of a function list. In total every sample counts once, however often the function recurs. */
export interface FunctionRow {
  fn: number;
  self: number[];
  total: number[];
  /** Some call node of the function is outside of the band of the history; undefined: there is none. */
  outside?: boolean;
}

/** The function list, in display order, ties by function. */
export function* functionRows(t: Tree): Steps<FunctionRow[]> {
  const { n, fn, end, functions } = t.table;
  const sides = t.self.map((self, side) => ({
    self,
    total: t.total[side]!,
    selfOf: new Float64Array(functions.length),
    totalOf: new Float64Array(functions.length),
  }));
  const outside = t.outside && new Uint8Array(functions.length);
  const listed = new Uint8Array(functions.length);
  const until = new Int32Array(functions.length); // the end of the outermost subtree of each function
  for (let i = 0; i < n; i++) {
    if (i % stride === 0) yield;
    const f = fn[i]!;
    if (outside && t.outside![i] === 1) outside[f] = 1;
    const outermost = i >= until[f]!;
    if (outermost) until[f] = end[i]!;
    for (let s = 0; s < sides.length; s++) {
      const side = sides[s]!;
      const total = side.total[i]!;
      side.selfOf[f]! += side.self[i]!;
      if (outermost) side.totalOf[f]! += total;
      if (total !== 0 && (outermost || sides.length > 1)) listed[f] = 1;
    }
  }
  const rows: FunctionRow[] = [];
  for (let f = 0; f < functions.length; f++) {
    if (f % 4096 === 0) yield;
    if (!listed[f]) continue;
    const row: FunctionRow = { fn: f, self: sides.map(s => s.selfOf[f]!), total: sides.map(s => s.totalOf[f]!) };
    if (outside) row.outside = outside[f] === 1;
    rows.push(row);
  }
  yield;
  return rows.sort((a, b) => t.order(a.total, b.total) || a.fn - b.fn);
}
