import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { callers, type Nodes, Upright } from '../src/core/nodes';
import { type Tree, type Wire } from '../src/core/profile';
import { atOnce } from '../src/core/steps';
import { named, none } from '../src/core/table';
import { callees, parseTransform, type Transform, transform } from '../src/core/transforms';
import { decode, inverted, laidOut, rowsOf } from './random';

// The rows that `dendro tree` and `dendro diff` print, see test/web/golden_test.go.
interface Golden {
  input: Wire;
  cases: { flags: string[]; rows: string[] }[];
}

const pair = (of: (side: number) => number, t: Tree) => t.self.map((_, side) => of(side)).join(' ');

function walk(v: Nodes): string[] {
  const rows: string[] = [];
  const visit = (node: number) => {
    for (const c of v.children(node)) {
      const category = v.tree.table.categories[v.category(c)]?.name ?? '';
      rows.push(
        `${v.depth(c)} ${v.tree.table.functions[v.fn(c)]!.name} ${pair(s => v.self(c, s), v.tree)}/${pair(s => v.total(c, s), v.tree)} ${category}`,
      );
      visit(c);
    }
  };
  visit(none);
  return rows;
}

function functions(t: Tree): string[] {
  const rows = rowsOf(t);
  const text = (r: (typeof rows)[number]) => `0 ${t.table.functions[r.fn]!.name} ${r.self.join(' ')}/${r.total.join(' ')} `;
  if (!t.isDiff) return rows.map(text);
  const delta = (r: (typeof rows)[number]) => r.total[1]! - r.total[0]!;
  return [...rows.filter(r => delta(r) > 0), ...rows.filter(r => delta(r) < 0), ...rows.filter(r => delta(r) === 0)].map(text);
}

function flame(t: Tree): string[] {
  const b = laidOut(new Upright(t), { order: 'name' });
  const rows = [...Array(b.n).keys()].filter(i => b.width[i]! > 0).sort((x, y) => b.depth[x]! - b.depth[y]! || x - y);
  return rows.map(i => `${b.depth[i]} ${t.table.functions[b.fn[i]!]!.name} [${b.starts[i]!.toFixed(6)} ${b.ends[i]!.toFixed(6)}]`);
}

function view(t: Tree, flags: string[]): string[] {
  const list: Transform[] = [];
  let kind = '';
  let how = 'tree';
  let arg = '';
  for (let i = 0; i < flags.length; i++) {
    const flag = flags[i]!;
    if (flag === '--invert') how = 'inverted';
    else {
      const value = flags[++i]!;
      if (flag === '--transform') list.push(parseTransform(value)!);
      else if (flag === '--kind') kind = value;
      else if (flag === '--view') how = value;
      else if (flag !== '--sort') [how, arg] = [flag, value];
    }
  }
  const shown = atOnce(transform(t, list, kind));
  switch (how) {
    case 'functions':
      return functions(shown);
    case 'flame':
      return flame(shown);
    case 'inverted':
      return walk(inverted(shown));
    case '--callers':
      return walk(atOnce(callers(shown, named(shown.table.functions, arg))));
    case '--callees':
      return walk(new Upright(atOnce(callees(shown, named(shown.table.functions, arg)))));
  }
  return walk(new Upright(shown));
}

for (const name of ['tree', 'categories', 'diff']) {
  describe(`rows of dendro: ${name}`, () => {
    const g = JSON.parse(readFileSync(new URL(`testdata/${name}.json`, import.meta.url), 'utf8')) as Golden;
    for (const c of g.cases) it(c.flags.join(' ') || 'without flags', () => expect(view(decode(g.input), c.flags)).toEqual(c.rows));
  });
}
