import { expect, it } from 'vitest';
import { levelsOf, roomOf, ticks } from '../src/ui/Band';

it('ticks are round and inside', () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(0.031, 0.052, 4)).toEqual([0.04, 0.05]);
  expect(ticks(3, 3, 4)).toEqual([3]);
  for (const [a, b] of [
    [-7, 12],
    [1e9, 1.3e9],
    [1e-9, 9e-9],
  ] as const)
    for (const v of ticks(a, b, 5)) expect(v >= a && v <= b).toBe(true);
});

it('labels of values have the room that they need: about 6.2 px a character, and a gap', () => {
  const room = (unit: string) => roomOf(levelsOf(0.1, 0.4, 3, v => `${v} ${unit}`));
  for (const unit of ['s', 'ms/op', 'cpu-samples/op', 'alloc-samples/op']) expect(room(unit)).toBeGreaterThanOrEqual(6.2 * `0.1 ${unit}`.length + 8);
  expect(room('s')).toBeLessThan(60);
});
