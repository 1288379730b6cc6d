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
