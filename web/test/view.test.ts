// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { Upright } from '../src/core/nodes';
import { gather } from '../src/core/profile';
import { dataParams, notesOf, selectionParams, serverTransforms } from '../src/core/request';
import { formatSelection, nodeOf, parseSelection, selectionOf } from '../src/core/selection';
import { atOnce } from '../src/core/steps';
import { none } from '../src/core/table';
import { markdown, svg, tsv } from '../src/view/export';
import { func, inverted, laidOut, randomTree } from './random';

it('selections are read as they were written, upright and inverted', () => {
  const t = randomTree(2);
  for (const v of [new Upright(t), inverted(t)]) {
    const functions = t.table.functions;
    for (const root of v.children(none))
      for (const node of [root, ...v.children(root)]) {
        const s = selectionOf(v, node);
        const read = parseSelection(functions, formatSelection(functions, s));
        expect(read).toEqual(s);
        expect(nodeOf(v, read)).toBe(node);
      }
  }
  expect(parseSelection(t.table.functions, 'u.nothing')).toBeNull();
  expect(parseSelection(t.table.functions, null)).toBeNull();
});

it('a selection of another view is the same function', () => {
  const t = randomTree(2);
  const up = new Upright(t);
  const down = inverted(t);
  for (const root of down.children(none)) {
    const node = nodeOf(up, selectionOf(down, root));
    expect(up.fn(node)).toBe(down.fn(root));
  }
});

it('requests have the parameters of data, not those of views', () => {
  const p = new URLSearchParams('benchmark=a&run=b&view=tree&q=x&sel=u.1&transform=merge-function:f&thread=main&base-run=c');
  expect(dataParams(p).toString()).toBe('benchmark=a&run=b&thread=main&base-run=c');
  expect(selectionParams(p).toString()).toBe('benchmark=a&run=b');
  expect(selectionParams(p, 'base').toString()).toBe('benchmark=a&run=c');
});

it('the server applies transforms up to the last one that needs samples', () => {
  const p = new URLSearchParams([
    ['transform', 'merge-function:a'],
    ['transform', 'filter:marker-search:m'],
    ['transform', 'merge-function:b'],
  ]);
  expect(serverTransforms(p)).toBe(2);
  expect(dataParams(p).getAll('transform')).toEqual(['merge-function:a', 'filter:marker-search:m']);
});

it('notes name parameters, not flags', () => {
  expect(notesOf(['value type cpu; --type shows others: wall', 'nothing is inside --range'])).toEqual(['nothing is inside range']);
  expect(notesOf(['compared per operation (--by profile: per profile), 2 runs'])).toEqual(['compared per operation, 2 runs']);
});

it('files have no markup from names', () => {
  const rows = [
    ['function', 'total'],
    ['a|b`c\n<img>', '1'],
  ];
  expect(tsv(rows)).toBe('function\ttotal\na|b`c <img>\t1\n');
  expect(markdown(rows)).toContain('| `` a\\|b`c <img> `` | 1 |');
  const evil = func('"><script>alert(1)</script>');
  const t = atOnce(gather(
    { parent: new Int32Array([none]), fn: new Int32Array([0]), category: null, functions: [evil], categories: [] },
    [new Float64Array([3])],
    null,
    'count',
    [0, 0],
  ));
  const v = new Upright(t);
  const text = svg(v, laidOut(v, { order: 'name' }), 'package', false, '</svg><script>');
  expect(text).not.toContain('<script');
  expect(text).toContain('&lt;script&gt;');
});
