import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Embedded, embedded, Http, missing, Problem } from '../src/core/source';

const json = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });

afterEach(() => vi.unstubAllGlobals());

describe('Http', () => {
  it('asks with repeated parameters', async () => {
    const fetched = vi.fn(async () => json(200, { rows: [] }));
    vi.stubGlobal('fetch', fetched);
    expect(await new Http().get('runs', { run: ['a', 'b'], last: 3, none: undefined })).toEqual({ rows: [] });
    expect((fetched.mock.calls[0] as unknown[])[0]).toBe('/api/v1/runs?run=a&run=b&last=3');
  });
  it('shows what the server says is wrong', async () => {
    vi.stubGlobal('fetch', async () =>
      json(404, { type: 't', title: 'Nothing is selected', detail: 'no profiles', status: 404, types: ['cpu'] }),
    );
    const err = (await new Http().get('tree').catch(e => e)) as Problem;
    expect(err).toBeInstanceOf(Problem);
    expect([err.title, err.message, err.status, err.more]).toEqual(['Nothing is selected', 'no profiles', 404, { types: ['cpu'] }]);
  });
  it('tries again when the server does not answer', async () => {
    let calls = 0;
    vi.stubGlobal('fetch', async () => {
      if (++calls === 1) throw new TypeError('failed');
      return json(200, { ok: true });
    });
    expect(await new Http().get('info')).toEqual({ ok: true });
    expect(calls).toBe(2);
  });
  it('knows what an answer lacks', async () => {
    vi.stubGlobal('fetch', async () => new Response('{}', { headers: { 'Dendro-Missing': 'a worker' } }));
    await new Http().get('info');
    expect(missing.value).toBe('a worker');
    vi.stubGlobal('fetch', async () => json(200, {}));
    await new Http().get('info');
    expect(missing.value).toBe('');
  });
  it('has the answer before where the server says that it is the same', async () => {
    const fetched = vi.fn(async (_: string, init: RequestInit) => {
      const same = new Headers(init.headers).get('If-None-Match') === '"a"';
      return new Response(same ? null : '{"rows": []}', { status: same ? 304 : 200, headers: { ETag: '"a"' } });
    });
    vi.stubGlobal('fetch', fetched);
    const last: { value?: unknown } = {};
    const first = await new Http().get('tree', {}, { last });
    last.value = first;
    expect(await new Http().get('tree', {}, { last })).toBe(first);
    expect(first).toEqual({ rows: [] });
    await new Http().get('tree');
    expect(fetched.mock.calls.map(([, init]) => new Headers(init.headers).get('If-None-Match'))).toEqual([null, '"a"', null]);
  });
  it('does not repeat a change', async () => {
    let calls = 0;
    vi.stubGlobal('fetch', async () => {
      calls++;
      throw new TypeError('failed');
    });
    await expect(new Http().send('POST', 'compact', {})).rejects.toThrow('failed');
    expect(calls).toBe(1);
  });
  it('says nothing twice (fault 15)', () => {
    const said = (detail: string) => new Problem('There is no such task', detail).message;
    expect(said('there is no such task: t')).toBe('t');
    expect(said('task t: there is no such task; the store has no tasks')).toBe('task t: the store has no tasks');
    expect(said('x: y')).toBe('x: y');
  });

  it('reports an incomplete answer', async () => {
    vi.stubGlobal('fetch', async () => new Response('{"rows":['));
    await expect(new Http().get('tree')).rejects.toThrow('stopped after 9 characters');
  });
});

describe('Embedded', () => {
  const data = {
    version: 1,
    title: 'x',
    start: '/diff',
    answers: [
      { path: 'diff', query: 'benchmark=a', body: 1 },
      { path: 'diff', body: 2 },
    ],
  };
  it('reads what a report holds', async () => {
    expect(await embedded(gzipSync(JSON.stringify(data)).toString('base64'))).toEqual(data);
  });
  it('answers the request that fits', async () => {
    const s = new Embedded(data);
    expect(await s.get('diff', { benchmark: 'a', form: 'columns' })).toBe(1);
    expect(await s.get('diff', { benchmark: 'b' })).toBe(2);
    await expect(s.get('runs')).rejects.toThrow('This report has the data of its own views only');
  });
});
