// Large profiles that are made, for benchmarks.
import type { Wire } from '../src/core/profile';

/** An answer whose columns are lists. */
interface Made extends Wire {
  columns: Wire['columns'] & { parent: number[]; function: number[]; self?: number[] };
}

/** A random walk in a call graph, merged: names by Zipf, the rows in display order as the server writes them. */
export function profile(n: number, sides = 1): Made {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return seed / 2 ** 32;
  };
  const functions = Math.max(50, Math.min(20_000, n / 40));
  const parent: number[] = [];
  const fn: number[] = [];
  const values: number[][] = Array.from({ length: sides }, () => []);
  const used: Set<number>[] = [new Set()];
  const open = [-1];
  while (parent.length < n) {
    let depth = random() < 0.62 && open.length < 70 ? open.length : 1 + Math.floor(random() * open.length);
    if (used[depth - 1]!.size > functions / 2) depth = open.length; // its siblings would run out of functions
    open.length = depth;
    used.length = depth;
    let f: number;
    do f = Math.floor(functions * random() ** 3);
    while (used[depth - 1]!.has(f));
    used[depth - 1]!.add(f);
    open.push(parent.length);
    used.push(new Set());
    parent.push(open[depth - 1]!);
    fn.push(f);
    for (const v of values) v.push(random() < 0.6 ? Math.floor(1 / (random() + 1e-3)) : 0);
  }
  return made(functions, {
    parent,
    function: fn,
    ...(sides === 1 ? { self: values[0]! } : { baseSelf: values[0]!, headSelf: values[1]!, noisePerValue: [4, 4] }),
  });
}

/** A wide and shallow profile: stacks side by side, of which none share a caller, with nearly the same number of samples each. */
export function wide(stacks: number, depth: number): Made {
  const row = (of: (stack: number, level: number) => number) => Array.from({ length: stacks * depth }, (_, i) => of(Math.floor(i / depth), i % depth));
  return made(stacks * 5, {
    parent: row((stack, level) => (level === 0 ? -1 : stack * depth + level - 1)),
    function: row((stack, level) => (level === 0 ? stack : (stack * 31 + level * 97) % (stacks * 5))),
    self: row((stack, level) => (level === depth - 1 ? 100 + (stack % 7) : 0)),
  });
}

function made(functions: number, columns: Omit<Made['columns'], 'functions'>): Made {
  return {
    profiles: 1,
    type: 'cpu',
    unit: 'count',
    columns: {
      ...columns,
      functions: Array.from({ length: functions }, (_, i) => ({
        function: `github.com/acme/shop/pkg${i % 97}.(*Type${i % 13}).method${i}`,
        file: '',
        module: '',
        language: 'go',
        kind: 'go',
      })),
    },
  };
}

/** Calls visit for every stack with samples, root first, and their value; the list is used again. */
function stacks(wire: Made, visit: (stack: number[], value: number) => void): void {
  const { function: fn, self } = wire.columns;
  const parent = wire.columns.parent;
  const stack: number[] = [];
  const depth: number[] = [];
  parent.forEach((p, row) => {
    depth[row] = p < 0 ? 0 : depth[p]! + 1;
    stack.length = depth[row]!;
    stack.push(fn[row]!);
    if (self![row]! > 0) visit(stack, self![row]!);
  });
}

/** The profile as speedscope writes it. */
export function asSpeedscope(wire: Made): string {
  const samples: string[] = [];
  const weights: number[] = [];
  stacks(wire, (stack, value) => {
    samples.push(`[${stack}]`);
    weights.push(value);
  });
  const frames = JSON.stringify(wire.columns.functions.map(f => ({ name: f.function })));
  const end = weights.reduce((a, b) => a + b, 0);
  return `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":${frames}},"profiles":[{"type":"sampled","name":"cpu","unit":"none","startValue":0,"endValue":${end},"samples":[${samples}],"weights":[${weights}]}]}`;
}

/** The profile nested, as d3-flame-graph takes it: values are totals. */
export function asNested(wire: Made): string {
  const { function: fn, self, functions } = wire.columns;
  const parent = wire.columns.parent;
  const n = parent.length;
  const total = [...self!];
  const children: number[][] = Array.from({ length: n }, () => []);
  for (let i = n - 1; i >= 0; i--) if (parent[i]! >= 0) total[parent[i]!]! += total[i]!;
  const roots: number[] = [];
  parent.forEach((p, i) => (p < 0 ? roots : children[p]!).push(i));
  const node = (i: number): string => `{"name":${JSON.stringify(functions[fn[i]!]!.function)},"value":${total[i]},"children":[${children[i]!.map(node)}]}`;
  return `{"name":"root","value":${roots.reduce((sum, r) => sum + total[r]!, 0)},"children":[${roots.map(node)}]}`;
}
