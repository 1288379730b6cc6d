import { type Boxes, extent, flameBoxes, type Order } from '../src/core/boxes';
import { Inverted, type Nodes } from '../src/core/nodes';
import { decoding, functionRows, gather, type Tree, type Wire } from '../src/core/profile';
import { atOnce } from '../src/core/steps';
import { type Transform, transform } from '../src/core/transforms';
import { splitName } from '../src/core/metric';
import { type Func, none } from '../src/core/table';

/** Numbers that look random, the same in every run. */
export function random(seed: number): (n: number) => number {
  let x = seed * 2654435761 + 1;
  return n => {
    x = (Math.imul(x ^ (x >>> 15), 2246822519) + 0x9e3779b9) | 0;
    return ((x ^ (x >>> 13)) >>> 0) % n;
  };
}

export const func = (name: string, more: Partial<Func> = {}): Func => ({
  name,
  file: '',
  line: 0,
  column: 0,
  module: '',
  language: '',
  kind: '',
  pkg: splitName(name, more.kind ?? '')[0].length,
  ...more,
});

/** A random tree of n rows. */
export function randomTree(seed: number, n = 200, sides = 1, functions = 9): Tree {
  const r = random(seed);
  const parent = Int32Array.from({ length: n }, (_, i) => (i === 0 || r(12) === 0 ? none : Math.max(0, i - 1 - r(6))));
  const fn = Int32Array.from({ length: n }, () => r(functions));
  const self = Array.from({ length: sides }, () => Float64Array.from({ length: n }, () => (r(3) ? r(20) : 0)));
  const list = Array.from({ length: functions }, (_, i) => func(`p${i % 3}/q.f${i}`, { module: `m${i % 2}` }));
  return atOnce(gather({ parent, fn, category: null, functions: list, categories: [] }, self, null, 'count', [1, 1]));
}

export const decode = (w: Wire): Tree => atOnce(decoding(w));
export const inverted = (t: Tree): Inverted => atOnce(Inverted.of(t));
export const transformed = (t: Tree, list: readonly Transform[]): Tree => atOnce(transform(t, list));
export const rowsOf = (t: Tree) => atOnce(functionRows(t));

/** Boxes, and where each begins and ends. */
export type Laid = Boxes & { starts: Float64Array; ends: Float64Array };

export const withExtents = (b: Boxes): Laid => {
  const at = Array.from({ length: b.n }, (_, i) => extent(b, i));
  return { ...b, starts: Float64Array.from(at, x => x[0]), ends: Float64Array.from(at, x => x[1]) };
};
export const laidOut = (v: Nodes, options: { order: Order; least?: number }): Laid => withExtents(atOnce(flameBoxes(v, options)));
