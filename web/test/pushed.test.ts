import type { PushedSeries, PushedService } from '../src/core/answers';
import { describe, expect, it } from 'vitest';
import { gridOf, hoursOf, isPushed, labelsOf, pointsOf, rateText, releases, selectorOf, timeOf, typeName } from '../src/core/pushed';

describe('selectors of labels', () => {
  it('are read as they are written', () => {
    for (const labels of [
      {},
      { version: '1.4' },
      { 'otel.scope.name': 'a "b" \\ c', zone: '<script>' },
      { 'with space': 'x,y}', 日本: 'naïve \n\u0001 😀' },
    ]) {
      expect(labelsOf(selectorOf(labels))).toEqual(labels);
    }
  });
  it('have no empty values', () => {
    expect(selectorOf({ a: '', b: '1' })).toBe('{b="1"}');
    expect(selectorOf({ a: '' })).toBe('');
  });
  it('of other conditions are left as they are', () => {
    for (const text of ['{a!="b"}', '{a=~"b"}', '{a="b"', 'a="b"', '{a="b" c="d"}', '{a="\\x41"}', "{a='b'}"]) expect(labelsOf(text)).toBeNull();
    expect(labelsOf(null)).toEqual({});
    expect(labelsOf(' { } ')).toEqual({});
    expect(labelsOf('{ a = "b" , c="d" }')).toEqual({ a: 'b', c: 'd' });
  });
});

const series: PushedSeries = { type: '', unit: 'nanoseconds', gauge: false, step: 1000, since: 5000, until: 9000, rows: [], notes: [] };

describe('series', () => {
  it('are lines on one grid, of rates where there are some', () => {
    const rows = [{ value: 'a', times: [6000, 9000], values: [1, 2] }, { value: 'b', times: [7000], values: [3], rates: [0.5] }];
    expect(gridOf({ ...series, rows })).toEqual({ times: [5000, 6000, 7000, 8000, 9000], lines: [{ name: 'a', values: [null, 1, null, null, 2] }, { name: 'b', values: [null, null, 0.5, null, null] }] });
  });
  it('have rates in their unit', () => {
    expect(rateText(1.5, { ...series, rateUnit: 'cores' })).toBe('1.50 cores');
    expect(rateText(2048, { ...series, unit: 'bytes', rateUnit: 'bytes/s' })).toBe('2 KiB/s');
    expect(rateText(2048, { ...series, unit: 'bytes', gauge: true })).toBe('2 KiB');
  });
  it('lead from points to the windows in them', () => {
    expect(timeOf(series, 9000, 9000)).toEqual({ since: '1970-01-01T00:00:08.001Z', until: '1970-01-01T00:00:09.001Z' });
    const hour = 3_600_000;
    for (const [step, from, to, since, until] of [
      [1, 0, 0, '1970-01-01T00:00:00.000Z', '1970-01-01T01:00:00.000Z'],
      [3, 3, 6, '1970-01-01T01:00:00.000Z', '1970-01-01T07:00:00.000Z'],
      [24, 0, 24, '1970-01-01T00:00:00.000Z', '1970-01-03T00:00:00.000Z'],
    ] as const) {
      const s = { ...series, step: step * hour };
      expect(timeOf(s, from * hour, to * hour)).toEqual({ since, until });
      expect(pointsOf(s, since, until)).toEqual([from * hour, to * hour]);
    }
  });
});

describe('services', () => {
  const labels = (name: string, ...values: string[]) => ({ name, values });
  const service = (...list: { name: string; values: string[] }[]): PushedService => ({ service: 'a', type: '', unit: '', gauge: false, series: 1, labels: list, first: '', last: '' });
  it('have releases if a label has several', () => {
    expect(releases(service(labels('zone', 'a', 'b'), labels('version', '1.10', '1.9')))).toEqual({ name: 'version', values: ['1.9', '1.10'] });
    expect(releases(service(labels('version', '1.10')))).toBeUndefined();
  });
  it('are named in words', () => {
    expect(typeName('process_cpu:cpu:nanoseconds:cpu:nanoseconds')).toBe('cpu');
    expect(typeName('process_cpu:samples:count:cpu:nanoseconds')).toBe('cpu samples');
    expect(typeName('memory:inuse_space:bytes:space:bytes')).toBe('inuse_space (memory)');
    expect([hoursOf('7d'), hoursOf('6h'), hoursOf('2026-01-01')]).toEqual([168, 6, 0]);
    expect(isPushed(new URLSearchParams('labels=x'))).toBe(true);
    expect(isPushed(new URLSearchParams('group=x'))).toBe(false);
  });
});
