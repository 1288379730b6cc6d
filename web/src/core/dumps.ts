// Dumps of a thread as boxes over time: the same frame in a row of dumps is one box.
import type { Analysis, Snapshot } from './answers';
import { gather, readFunction, type Tree } from './profile';
import type { Selection } from './selection';
import { atOnce } from './steps';
import { type Func, gone, none, type Rows } from './table';

export interface DumpBox {
  depth: number;
  name: string;
  /** ms. */
  start: number;
  end: number;
  dumps: number;
}

/** Returns the boxes of one thread's dumps, by depth. A box ends with its last dump plus at most one period. */
export function boxesOf(dumps: readonly Snapshot[], period: number): { boxes: DumpBox[]; depth: number } {
  const list = [...dumps].sort((a, b) => a.sequence - b.sequence);
  const boxes: DumpBox[] = [];
  let open: DumpBox[] = [];
  let depth = 0;
  list.forEach((d, i) => {
    const next = list[i + 1];
    const end = next && next.sequence === d.sequence + 1 ? Math.max(d.time, next.time) : d.time + period;
    const joins = i > 0 && list[i - 1]!.sequence + 1 === d.sequence;
    let same = joins;
    const now: DumpBox[] = [];
    d.stack.forEach((name, level) => {
      const before = open[level];
      if (same && before?.name === name) {
        before.end = end;
        before.dumps++;
        now.push(before);
        return;
      }
      same = false;
      const box = { depth: level, name, start: d.time, end, dumps: 1 };
      boxes.push(box);
      now.push(box);
    });
    open = now;
    depth = Math.max(depth, d.stack.length);
  });
  return { boxes, depth };
}

/** The part of a stack that all dumps share: shown once, not as rows of full width. */
export function sharedFrames(dumps: readonly Snapshot[]): number {
  const first = dumps[0]?.stack ?? [];
  let n = first.length;
  for (const d of dumps) {
    let i = 0;
    while (i < n && d.stack[i] === first[i]) i++;
    n = i;
  }
  return n;
}

/** Dumps that are merged: their tree, how many frames of frameworks it folds, and the rows of the analysis behind a selection. */
export interface MergedDumps {
  tree: Tree;
  folded: number;
  rowsOf: (s: Selection) => number[];
}

/**
 * Merges dumps for the graph: of an analysis that knows the user's own code it, and what it calls itself. Frames of frameworks
 * around it are folded: their callees move up, and their own time counts for what called them. Values are times, or dumps
 * where none follows another.
 */
export function merged(a: Pick<Analysis, 'rows' | 'rootTotal'>, all = false): MergedDumps {
  const fold = !all && a.rows.some(r => r.own);
  const [first, timed] = [fold ? 1 : 0, a.rootTotal > 0];
  const functions: Func[] = [];
  const numbers = new Map<string, number>();
  const number = (name: string, own = false, runtime = false) => {
    if (!numbers.has(name)) numbers.set(name, functions.push(readFunction({ function: name, own, runtime, file: '', module: '', language: '', kind: '' })) - 1);
    return numbers.get(name)!;
  };
  const n = a.rows.length + first;
  const [parent, fn, to] = [new Int32Array(n), new Int32Array(n), new Int32Array(n)];
  const self = new Float64Array(n);
  const keys = fold ? [String(number('frameworks and runtime', false, true))] : [];
  parent[0] = none;
  const open: { row: number; own: boolean }[] = []; // of each depth, the row that shows the last frame
  a.rows.forEach((r, k) => {
    const i = k + first;
    const caller = open[r.depth - 1];
    const above = caller?.row ?? first - 1;
    const shown = !fold || !!r.own || !!caller?.own;
    fn[i] = number(r.function, r.own);
    parent[i] = shown ? above : gone;
    to[i] = shown ? i : above;
    keys[i] = shown ? [...(above === none ? [] : [keys[above]]), fn[i]].join('.') : keys[above]!;
    open[r.depth] = { row: to[i]!, own: !!r.own };
    open.length = r.depth + 1;
    const value = timed ? r.total : r.count;
    self[to[i]!]! += value;
    if (above !== none && r.depth > 0) self[above]! -= value;
  });
  const rows: Rows = { parent, fn, category: null, functions, categories: [] };
  return {
    tree: atOnce(gather(rows, [self], null, timed ? 'milliseconds' : 'dumps', [0, 0])),
    folded: fold ? a.rows.filter((_, k) => to[k + 1] !== k + 1).length : 0,
    rowsOf: s => a.rows.flatMap((_, k) => ((s.path ? keys[k + first] === s.path.join('.') : fn[to[k + first]!] === s.fn) ? [k] : [])),
  };
}
