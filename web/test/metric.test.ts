import { expect, test } from 'vitest';
import { ago, change, interval, metric, millis, otherBenchmarks, splitName } from '../src/core/metric';
import { counting, instant, number, visible } from '../src/core/format';
import packages from './testdata/packages.json';

test('metrics read as package words of Go writes them', () => {
  expect(metric(6.6e6, 'ns/op')).toBe('6.60 ms/op');
  expect(metric(0, 'ns/op')).toBe('0 ns/op');
  expect(metric(1.5, 's')).toBe('1.50 s');
  expect(metric(512, 'B/op')).toBe('512 B/op');
  const small = [0.0000186, -0.000665, 0.00099951, 9.999e-7, 5.32e-9, 0.00123];
  expect(small.map(number)).toEqual(['18.6e-6', '-665e-6', '0.001', '1e-6', '5.32e-9', '0.00123']);
  expect(metric(12_345, 'ops/s')).toBe('12,345 ops/s');
  expect(change(1_941_532, 'ns/op')).toBe('+1.94 ms/op');
  expect(change(-250, 'us')).toBe('−250 µs');
  expect(interval(1_941_532, 1_489_283, 2_393_781, 'ns/op')).toBe('1.49 … 2.39 ms/op');
  expect(interval(523_000, -138_000, 1_185_000, 'ns/op')).toBe('−138 … 1,185 µs/op');
});

test('a change names each of its other benchmarks once', () => {
  const of = (...names: string[]) => names.map(benchmark => ({ group: 'g', benchmark }));
  expect(otherBenchmarks({ ...of('a')[0]!, also: of('b', 'a', 'c', 'b') })).toEqual(['g/b', 'g/c']);
  expect(otherBenchmarks({ ...of('a')[0]!, also: of('a') })).toEqual([]);
});

test('times of people', () => {
  const now = 1e12;
  expect(ago(now - 1000, now)).toBe('now');
  expect(ago(now - 61_000, now)).toBe('1 minute ago');
  expect(ago(now - 2 * 86_400_000, now)).toBe('2 days ago');
  expect(ago(now + 5000, now)).toBe('now');
  expect([millis(300_000), millis(120), millis(1500)]).toEqual(['5 min', '120 ms', '1.50 s']);
});

test('names are split as package profile splits them', () => {
  for (const [name, kind, pkg] of packages as [string, string, string][]) expect([name, splitName(name, kind)[0]]).toEqual([name, pkg]);
});

test('names alone: closures of Go belong to their function, constructors have their class', () => {
  const of = (name: string) => splitName(name)[1];
  expect(['github.com/acme/cart.Total.func1', 'com.acme.shop.Cart.total', '/app/shop.py.load_prices', 'java.util.HashMap.<init>'].map(of)).toEqual(['Total.func1', 'total', 'load_prices', 'HashMap.<init>']);
});

test('fault 15: what joins emoji stays, all else without a glyph is replaced', () => {
  for (const name of ['👩‍💻.work', '❤️‍🔥()', '👩🏽‍🚀']) expect(visible(name)).toBe(name);
  for (const name of ['a\u200Db', '\u200D👩', '👩\u200D', 'a\u202Eb']) expect(visible(name)).toMatch(/\uFFFD/);
});

test('a count of samples is of cpu, and dates have one form', () => {
  expect([counting('cpu-samples', 'count'), counting('cpu', 'nanoseconds'), counting('samples', 'count')]).toEqual(['cpu', 'cpu', 'samples']);
  const at = Date.UTC(2026, 10, 22, 7, 0, 30);
  expect([instant(at), instant(new Date(at).toISOString()), instant(0), instant(undefined), instant('never')]).toEqual(['2026-11-22 07:00', '2026-11-22 07:00', '', '', '']);
});
