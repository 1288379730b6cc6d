import { expect, it } from 'vitest';
import { amount, percent } from '../src/core/format';
import { axisOf, hoursAt, levelsOf, roomOf, ticks } from '../src/ui/Plot';

it('ticks are round and inside', () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(0.031, 0.052, 4)).toEqual([0.04, 0.05]);
  expect(ticks(3, 3, 4)).toEqual([3]);
  expect(levelsOf(0, 0.83, 4, percent)).toEqual([[0, '0%'], [0.25, '25%'], [0.5, '50%'], [0.75, '75%']]);
  expect(levelsOf(0, 2e6, 2, v => amount(v, 'nanoseconds')).map(l => l[1])).toEqual(['0 ms', '1 ms', '2 ms']);
  for (const [a, b] of [
    [-7, 12],
    [1e9, 1.3e9],
    [1e-9, 9e-9],
  ] as const)
    for (const v of ticks(a, b, 5)) expect(v >= a && v <= b).toBe(true);
});

it('times of an axis are round, and no more than there is room for', () => {
  const hour = 3_600_000;
  const at = Date.parse('2026-11-28T05:10:00Z');
  const texts = (hours: number, most: number) => hoursAt(at, at + hours * hour, most).map(t => new Date(t).toISOString().slice(8, 16));
  expect(texts(24, 5)).toEqual(['28T06:00', '28T12:00', '28T18:00', '29T00:00']);
  expect(texts(0.5, 4)).toEqual(['28T05:10', '28T05:20', '28T05:30', '28T05:40']);
  for (const hours of [0.2, 3, 30, 24 * 7, 24 * 400]) for (const most of [2, 5, 12]) expect(texts(hours, most).length).toBeLessThanOrEqual(most + 1);
});

it('labels of values have the room that they need: about 6.2 px a character, and a gap', () => {
  const room = (unit: string) => roomOf(levelsOf(0.1, 0.4, 3, v => `${v} ${unit}`));
  for (const unit of ['s', 'ms/op', 'cpu-samples/op', 'alloc-samples/op']) expect(room(unit)).toBeGreaterThanOrEqual(6.2 * `0.1 ${unit}`.length + 8);
  expect(room('s')).toBeLessThan(60);
});

it('below runs of a few days stand days with hours, of one day hours, of many days', () => {
  const below = (...dates: string[]) => axisOf(dates.map(date => ({ run: 'r', date: `${date}Z` }))).below;
  expect(below('2026-11-20T23:58:00', '2026-11-21T00:04:00')).toEqual(['11-20 23:58', '11-21 00:04']);
  expect(below('2026-11-20T23:58:00', '2026-11-20T23:59:00')).toEqual(['23:58', '23:59']);
  expect(below('2026-11-01T23:58:00', '2026-11-20T23:59:00')).toEqual(['11-01', '11-20']);
});
