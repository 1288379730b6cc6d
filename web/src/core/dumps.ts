// Dumps of a thread as boxes over time: the same frame in a row of dumps is one box.
import type { Snapshot } from './answers';

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

/**
 * The rows of a tree, depth first, that show the user's own code: it, and what it calls itself.
 * Frames of frameworks around it are folded; their callees move up. All, if no code is own.
 */
export function ownRows<R extends { depth: number; own?: boolean }>(rows: readonly R[]): { row: R; index: number; depth: number }[] {
  const all = !rows.some(r => r.own);
  const open: { depth: number; shown: boolean; own: boolean }[] = [];
  const out: { row: R; index: number; depth: number }[] = [];
  rows.forEach((row, index) => {
    while (open.length > 0 && open[open.length - 1]!.depth >= row.depth) open.pop();
    const shown = all || !!row.own || !!open[open.length - 1]?.own;
    if (shown) out.push({ row, index, depth: open.filter(o => o.shown).length });
    open.push({ depth: row.depth, shown, own: !!row.own });
  });
  return out;
}
