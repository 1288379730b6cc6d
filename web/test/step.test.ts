import { describe, expect, test } from 'vitest';
import { stepped } from '../src/view/step';

const runs = ['r1', 'r2', 'r3', 'r4'];
const by = (query: string, n: number) => stepped(new URLSearchParams(query), runs, n);

describe('the run before and after', () => {
  test('of a profile: the named run, or the newest', () => {
    expect(by('run=r2', 1)).toEqual({ run: 'r3', last: null });
    expect(by('last=1', -1)).toEqual({ run: 'r3', last: null });
    expect(by('run=r4', 1)).toBeNull();
    expect(by('run=r1&run=r2', 1)).toBeNull();
    expect(by('run=r?', 1)).toBeNull();
  });
  test('of a diff: each side that is one run', () => {
    expect(by('base-run=r1&head-run=r3', 1)).toEqual({ 'base-run': 'r2', 'head-run': 'r4', last: null });
    expect(by('base-run=r1&base-run=r2&head-run=r3', 1)).toEqual({ 'head-run': 'r4', last: null });
    expect(by('base-run=r1&head-run=r3', -1)).toBeNull();
  });
});
