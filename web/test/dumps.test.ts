import { expect, test } from 'vitest';
import { boxesOf, merged, sharedFrames } from '../src/core/dumps';

const dump = (sequence: number, time: number, stack: string) => ({ segment: 's', task: 't', sequence, time, stack: stack.split(';') });

test('the same frame in a row of dumps is one box', () => {
  const { boxes, depth } = boxesOf([dump(0, 100, 'a;b'), dump(1, 110, 'a;b'), dump(2, 120, 'a;c')], 10);
  expect(depth).toBe(2);
  expect(boxes).toEqual([
    { depth: 0, name: 'a', start: 100, end: 130, dumps: 3 },
    { depth: 1, name: 'b', start: 100, end: 120, dumps: 2 },
    { depth: 1, name: 'c', start: 120, end: 130, dumps: 1 },
  ]);
});

test('a lost dump ends boxes, and a new caller ends its callees', () => {
  const { boxes } = boxesOf([dump(0, 100, 'a;x'), dump(2, 120, 'a;x'), dump(3, 130, 'b;x')], 10);
  expect(boxes.map(b => [b.name, b.start, b.end])).toEqual([
    ['a', 100, 110],
    ['x', 100, 110],
    ['a', 120, 130],
    ['x', 120, 130],
    ['b', 130, 140],
    ['x', 130, 140],
  ]);
});

test('dumps may come in any order', () => {
  const list = [dump(1, 110, 'a;b'), dump(0, 100, 'a')];
  expect(boxesOf(list, 10).boxes).toEqual(boxesOf(list.reverse(), 10).boxes);
  expect(boxesOf([], 10)).toEqual({ boxes: [], depth: 0 });
});

test('frames that all dumps share', () => {
  expect(sharedFrames([dump(0, 0, 'a;b;c'), dump(1, 1, 'a;b;d'), dump(2, 2, 'a;b')])).toBe(2);
  expect(sharedFrames([])).toBe(0);
});

test('fault 11: own code comes first, with what it calls itself; frames of frameworks are folded', () => {
  const rows = ['0 run 90', '1 doRun 80', '2 invoke 70', '3 Cart.total 60 own', '4 HashMap.get 20', '5 hash 20', '4 intercept 30', '5 Tax.rate 25 own', '1 idle 10'].map(text => {
    const [depth, name, total, own] = text.split(' ');
    return { depth: Number(depth), function: name!, own: own === 'own', total: Number(total), self: 0, count: 1 };
  });
  const shown = (of: ReturnType<typeof merged>) => Array.from({ length: of.tree.table.n }, (_, i) => `${of.tree.table.depth[i]} ${of.tree.table.functions[of.tree.table.fn[i]!]!.name} ${of.tree.self[0]![i]}/${of.tree.total[0]![i]}`);
  const own = merged({ rows, rootTotal: 90 });
  expect(shown(own)).toEqual(['0 frameworks and runtime 30/90', '1 Cart.total 10/60', '2 HashMap.get 20/20', '2 intercept 5/30', '3 Tax.rate 25/25']);
  expect(own.folded).toBe(5);
  const select = (of: typeof own, ...path: string[]) => {
    const list = path.map(name => of.tree.table.functions.findIndex(f => f.name === name));
    return of.rowsOf({ fn: list.at(-1)!, path: list.length > 1 ? list : null, inverted: null });
  };
  expect(select(own, 'frameworks and runtime', 'Cart.total', 'HashMap.get')).toEqual([4, 5]); // with what is folded into it
  expect(select(own, 'Tax.rate')).toEqual([7]);
  const all = merged({ rows, rootTotal: 90 }, true);
  expect([all.tree.table.n, all.folded, all.tree.total[0]![0]]).toEqual([9, 0, 90]);
  expect(select(all, 'run', 'idle')).toEqual([8]);
  const single = merged({ rows: [{ depth: 0, function: 'main', total: 0, self: 0, count: 2 }], rootTotal: 0 }); // no dump follows another
  expect([single.tree.unit, ...shown(single)]).toEqual(['dumps', '0 main 2/2']);
});
