// What is selected, as addresses hold it: a call path or a function. Functions are named
// by a hash of their name and file, because their numbers differ between answers.
import { find, type Nodes, path } from './nodes';
import type { Tree } from './profile';
import { type Func, none } from './table';
import { formatPath, splitPath } from './transforms';

export interface Selection {
  fn: number;
  /** The call path, root first, or none is known. */
  path: number[] | null;
  /** The call path, leaf first, as inverted trees have it. */
  inverted: number[] | null;
}

/** A number of 32 bits for a text. */
export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

/** A short name of a function. */
export const idOf = (f: Func): string => hash(`${f.name}\0${f.file}`).toString(36);

const tables = new WeakMap<readonly Func[], { ids: string[]; byId: Map<string, number> }>();

function idsOf(functions: readonly Func[]) {
  let t = tables.get(functions);
  if (!t) {
    const ids = functions.map(idOf);
    t = { ids, byId: new Map(ids.map((id, i) => [id, i])) };
    tables.set(functions, t);
  }
  return t;
}

/** Writes a selection: "u" and a path, "i" and a path leaf first, or "f" and a function. */
export function formatSelection(functions: readonly Func[], s: Selection): string {
  const { ids } = idsOf(functions);
  const text = (list: number[]) => list.map(f => ids[f]).join('.');
  return s.path ? `u.${text(s.path)}` : s.inverted ? `i.${text(s.inverted)}` : `f.${ids[s.fn]}`;
}

/** Reads a selection; null if the functions are not in this tree. */
export function parseSelection(functions: readonly Func[], text: string | null): Selection | null {
  if (!text) return null;
  if (text.startsWith('p.')) return named(functions, text.slice(2));
  const [how, ...names] = text.split('.');
  const { byId } = idsOf(functions);
  const list = names.map(n => byId.get(n) ?? none);
  const last = list[list.length - 1];
  if (last === undefined || last === none) return null;
  const whole = !list.includes(none);
  if (how === 'i') return { fn: last, path: null, inverted: whole ? list : null };
  return { fn: last, path: how === 'u' && whole ? list : null, inverted: null };
}

/** Writes a call path by its names; empty without one. */
export const formatNames = (path: readonly string[]): string => (path.length > 0 ? `p.${formatPath(path)}` : '');

/** Reads a call path of names, as links from findings have it: "A;B", with "\\;" in names. */
function named(functions: readonly Func[], text: string): Selection | null {
  const byName = new Map(functions.map((f, i) => [f.name, i]));
  const list = splitPath(text).map(n => byName.get(n) ?? none);
  const last = list[list.length - 1];
  return last === undefined || last === none ? null : { fn: last, path: list.includes(none) ? null : list, inverted: null };
}

/** The selection of a node of a view. */
export function selectionOf(v: Nodes, node: number): Selection {
  const list = path(v, node);
  return { fn: v.fn(node), path: v.inverted ? null : list, inverted: v.inverted ? list : null };
}

/** The node of a selection in a view: that of its path, else the largest of its function. */
export function nodeOf(v: Nodes, s: Selection | null): number {
  if (!s) return none;
  const list = v.inverted ? s.inverted : s.path;
  if (list) {
    const { node, whole } = find(v, list);
    if (whole) return node;
  }
  return v.inverted ? v.child(none, s.fn) : largest(v, s.fn);
}

function largest(v: Nodes, fn: number): number {
  const t: Tree = v.tree;
  let best = none;
  for (let n = 0; n < t.table.n; n++) if (t.table.fn[n] === fn && t.shown[n] && (best === none || v.width(n) > v.width(best))) best = n;
  return best;
}
