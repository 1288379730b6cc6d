import { expect, test } from 'vitest';
import { boxesOf, ownRows, sharedFrames } from '../src/core/dumps';

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
  const rows = ['0 run', '1 doRun', '2 invoke', '3 Cart.total own', '4 HashMap.get', '5 hash', '4 intercept', '5 Tax.rate own', '1 idle'].map(text => {
    const [depth, name, own] = text.split(' ');
    return { depth: Number(depth), name, own: own === 'own' };
  });
  expect(ownRows(rows).map(r => `${r.depth} ${r.row.name} ${r.index}`)).toEqual(['0 Cart.total 3', '1 HashMap.get 4', '1 intercept 6', '2 Tax.rate 7']);
  expect(ownRows(rows.map(r => ({ ...r, own: false })))).toHaveLength(rows.length);
});
