import { expect, test, vi } from 'vitest';
import { keepFile } from '../src/core/files';
import { parseSelection } from '../src/core/selection';
import { Http } from '../src/core/source';

test('a request about a dropped file is sent with the file', async () => {
  const asked: [string, unknown][] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    asked.push([url, init.body]);
    return new Response('{"rows":[]}');
  });
  const file = new File(['main 1\n'], 'a.folded');
  keepFile(file);
  const http = new Http();
  await http.get('tree', { file: 'a.folded', form: 'columns' });
  expect(asked).toEqual([['/api/v1/view?form=columns&name=a.folded', file]]);
  expect(await http.get('runs', { file: 'a.folded' })).toEqual({ rows: [] });
  await expect(http.get('tree', { file: 'gone' })).rejects.toThrow('Drop gone');
  keepFile(new File(['main 2\n'], 'b.folded'));
  const both = { 'base-file': 'a.folded', 'head-file': 'b.folded' };
  await http.get('diff', { ...both, by: 'share' });
  const [url, form] = asked.pop()!;
  expect(url).toBe('/api/v1/view/diff?by=share');
  expect(['base', 'head'].map(side => ((form as FormData).get(side) as File).name)).toEqual(['a.folded', 'b.folded']);
  expect(await http.get('runs', both)).toEqual({ rows: [] });
  await http.written({ ...both, format: 'html' });
  expect(asked.pop()![0]).toBe('/api/v1/view/diff?format=html');
  await expect(http.get('diff', { ...both, 'head-file': 'gone' })).rejects.toThrow('gone');
  await http.get('diff', { 'head-file': 'b.folded', 'base-run': 'r1' });
  const [mixed, one] = asked.pop()!;
  expect(mixed).toBe('/api/v1/view/diff?base-run=r1');
  expect([...(one as FormData).keys()]).toEqual(['head']);
  vi.unstubAllGlobals();
});

test('a newer file of the same name does not replace the one that is shown', () => {
  const names = [1, 1, 2, 3].map(lastModified => keepFile(new File(['main 1\n'], 'same.folded', { lastModified })));
  expect(names).toEqual(['same.folded', 'same.folded', '2 same.folded', '3 same.folded']);
});

test('call paths of findings are found by names', () => {
  const functions = ['a', 'b;c', 'd\\e', 'z'].map(name => ({
    name,
    file: `${name}.go`,
    line: 0,
    column: 0,
    module: '',
    language: '',
    kind: '',
    pkg: 0,
  }));
  expect(parseSelection(functions, 'p.a;b\\;c;d\\\\e')).toEqual({ fn: 2, path: [0, 1, 2], inverted: null });
  expect(parseSelection(functions, 'p.nowhere;z')).toEqual({ fn: 3, path: null, inverted: null });
  expect(parseSelection(functions, 'p.nowhere')).toBeNull();
});
