import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const profile = '/profile?benchmark=checkout&run=run-018&type=cpu';
const diff = '/diff?benchmark=checkout&base-run=run-010&head-run=run-018&type=cpu';

describe.skipIf(missing)('views of a profile and a diff', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    base = (await world.serve('--store', 'demo.duckdb')).http;
  });
  afterAll(() => world.close());

  test('every view of a diff: no error, no barrier', async () => {
    const w = await world.page();
    for (const view of ['flame', 'tree', 'inverted', 'sandwich', 'functions']) {
      await w.open(`${base}${diff}&view=${view}`);
      expect(await w.barriers(), view).toEqual([]);
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('search, transforms and undo by keyboard; the address holds them', async () => {
    const w = await world.page();
    await w.open(base + profile);
    const p = w.page;
    const param = (name: string) => new URL(p.url()).searchParams.getAll(name);
    // The address follows after a moment, on a busy machine a longer one.
    const params = (name: string) => expect.poll(() => param(name), { timeout: 10_000 });
    const key = (k: string) => p.keyboard.press(k);
    await key('/');
    await p.keyboard.type('regexp\\.Compile');
    await key('Enter');
    await params('q').toEqual(['regexp\\.Compile']);
    await params('sel').toHaveLength(1);
    await key('Escape');
    await params('q').toEqual([]);
    await key('f');
    await params('transform').toEqual(['focus-function:regexp.Compile']);
    await key('3');
    await params('view').toEqual(['tree']);
    const rows = await p.locator('[role=treegrid] [role=row]').allInnerTexts();
    expect(rows[1]).toContain('regexp.Compile');
    await p.reload();
    await w.settled();
    expect(await p.locator('[role=treegrid] [role=row]').allInnerTexts()).toEqual(rows);
    await key('Control+z');
    await params('transform').toEqual([]);
    await p.goBack();
    await params('transform').toEqual(['focus-function:regexp.Compile']);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('arrows walk the flame graph, Enter zooms, words say where', async () => {
    const w = await world.page();
    await w.open(base + profile);
    const p = w.page;
    await p.locator('.flame').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await p.keyboard.press(key);
    await p.waitForURL(/zoom=/);
    expect(await p.locator('.graph [role=status]').textContent()).toMatch(/total, .+ self, depth 2/);
    await p.keyboard.press('Escape');
    await p.waitForURL(url => !url.searchParams.has('zoom'));
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a diff over time has a chart of every thread of both sides, none of them mixed', async () => {
    const sample = (thread: string, ms: number, leaf: string) => `${thread} 1 ${(1 + ms / 1000).toFixed(3)}: 1 cpu:\n\t0 ${leaf} (x)\n\t0 main (x)\n\n`;
    for (const [run, leaf] of [['t1', 'load'], ['t2', 'draw']] as const) {
      world.write(`${run}.perf`, sample('app', 0, leaf) + sample('helper', 5, 'wait') + sample('app', 10, leaf) + sample('helper', 15, 'wait'));
      world.dendro('import', '--store', base, '--keep-source', '--benchmark', 'timed', '--run', run, `${run}.perf`);
    }
    const w = await world.page();
    await w.open(`${base}/diff?benchmark=timed&base-run=t1&head-run=t2&view=stack-chart`);
    const titles = () => w.page.locator('.lane h2').allInnerTexts();
    expect((await titles()).map(t => t.split('\n')[0])).toEqual(['base: app', 'head: app', 'base: helper', 'head: helper']);
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    world.dendro('diff', 't1.perf', 't2.perf', '--view', 'stack-chart', '-o', 'chart.html');
    await w.open(`file://${world.dir}/chart.html`);
    expect((await titles()).length).toBe(4);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the menu of labels groups samples and keeps those of a value', async () => {
    const sample = (cpu: string, ms: number, leaf: string) => `app 1 [${cpu}] ${(1 + ms / 1000).toFixed(3)}: 1 cpu:\n\t0 ${leaf} (x)\n\t0 main (x)\n\n`;
    world.write('labels.perf', sample('000', 0, 'work') + sample('001', 5, 'wait') + sample('001', 10, 'wait'));
    world.dendro('import', '--store', base, '--keep-source', '--benchmark', 'labels', '--run', 'l', 'labels.perf');
    const w = await world.page();
    await w.open(`${base}/profile?benchmark=labels&view=tree`);
    const p = w.page;
    const choose = async (name: string) => {
      await p.getByRole('button', { name: 'Labels' }).click();
      await p.getByRole('menuitemradio', { name }).click();
      await w.settled();
    };
    await p.getByRole('button', { name: 'Labels' }).click();
    expect(await p.getByRole('menuitemradio').allInnerTexts()).toEqual(['group by cpu', 'cpu=1\n2', 'cpu=0\n1']);
    expect(await w.barriers()).toEqual([]);
    await p.keyboard.press('Escape');
    await choose('cpu=1');
    await p.locator('.crumbs', { hasText: 'label: cpu=1' }).waitFor();
    expect(await p.locator('.profile .sub').first().innerText()).toMatch(/^2 samples/);
    await choose('group by cpu');
    await p.locator('.crumbs', { hasText: 'grouped by: cpu' }).waitFor();
    expect((await p.locator('[role=treegrid] [role=row]').allInnerTexts())[1]).toContain('cpu=1');
    await choose('cpu=1');
    expect(await p.locator('.profile .sub').first().innerText()).toMatch(/^3 samples/);
    await p.getByRole('button', { name: 'all', exact: true }).click();
    await p.locator('.crumbs').waitFor({ state: 'detached' });
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('threads are rows over time above the graph: a click chooses one, a drag a range; markers are a table', async () => {
    const sample = (thread: string, ms: number, leaf: string) => `${thread} 1 ${(1 + ms / 1000).toFixed(3)}: 1 cpu:\n\t0 ${leaf} (x)\n\t0 main (x)\n\n`;
    world.write('tracks.perf', Array.from({ length: 20 }, (_, i) => sample('app', 10 * i, i < 10 ? 'early' : 'late') + (i < 5 ? sample('helper', 10 * i + 5, 'wait') : '')).join(''));
    world.dendro('import', '--store', base, '--keep-source', '--benchmark', 'tracks', '--run', 't', 'tracks.perf');
    const w = await world.page();
    await w.open(`${base}/profile?benchmark=tracks`);
    await w.page.locator('.tracks').waitFor();
    expect(await w.page.locator('.track-names button').allInnerTexts()).toEqual(['app', 'helper']);
    expect(await w.barriers()).toEqual([]);
    const { x, y, width } = (await w.page.locator('.track-rows').boundingBox())!;
    await w.page.mouse.click(x + width / 4, y + 27); // the second row
    await w.page.locator('.crumbs', { hasText: 'thread: helper' }).waitFor();
    await w.settled();
    expect(await w.page.locator('.profile .sub').first().innerText()).toMatch(/^5 samples/);
    await w.page.locator('.track-names button').nth(1).click();
    await w.page.locator('.crumbs').waitFor({ state: 'detached' });
    await w.settled();
    await w.page.route(/view=activity/, async route => { // the rows stay while a range is loaded: they are not asked for again
      await new Promise(done => setTimeout(done, 1000));
      await route.continue();
    });
    await w.page.mouse.move(x + width * 0.6, y + 5);
    await w.page.mouse.down();
    await w.page.mouse.move(x + width - 1, y + 5);
    await w.page.mouse.up();
    await w.page.locator('.crumbs', { hasText: 'time: ' }).waitFor();
    await w.settled();
    expect((await w.page.locator('.side .tr .name').allInnerTexts()).sort()).toEqual(['late', 'main']);
    expect(await w.page.locator('.track-rows > i').count()).toBe(1);
    await w.page.unroute(/view=activity/);
    await w.open(`${base}${profile}`);
    expect(await w.page.locator('.tracks').count()).toBe(0); // its original was not kept

    world.dendro('import', '--store', base, '--keep-source', '--benchmark', 'firefox', '--run', 'f', resolve(import.meta.dirname, '../../format/firefox/testdata/firefox-153-raw.json.gz'));
    await w.open(`${base}/profile?benchmark=firefox`);
    await w.page.getByRole('button', { name: 'Markers' }).click();
    const grid = w.page.getByRole('grid', { name: 'markers' });
    await grid.getByText('VsyncTimestamp').first().waitFor();
    await grid.getByRole('button', { name: 'Duration' }).click();
    await grid.locator('.tr').first().dblclick();
    await w.page.waitForFunction(() => /range=/.test(location.search) && !/view=/.test(location.search));
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the list follows the search, the breadcrumb ends with the zoomed function', async () => {
    const w = await world.page();
    await w.open(`${base}${profile}&q=regexp&zoom=p.regexp.MustCompile`);
    const names = await w.page.locator('.side .tr .name').allInnerTexts();
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter(n => !/regexp|syntax/.test(n))).toEqual([]);
    expect(await w.page.locator('.crumbs [aria-current]').innerText()).toBe('regexp.MustCompile');
    await w.close();
  });

  test('a recording of Firefox keeps the colours of its categories', async () => {
    const file = resolve(import.meta.dirname, '../../format/firefox/testdata/firefox-153-raw.json.gz');
    world.dendro('tree', file, '-o', 'firefox.html');
    const w = await world.page();
    await w.open(`file://${world.dir}/firefox.html`);
    const legend = await w.page.locator('.legend').innerText();
    for (const category of ['JavaScript', 'Layout', 'GC / CC']) expect(legend).toContain(category);
    const colours = await w.page.locator('.legend i').evaluateAll(list => list.map(i => getComputedStyle(i).backgroundColor));
    expect(new Set(colours).size).toBeGreaterThan(5);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a diff shows own code first, all columns, and both sides in its title', async () => {
    const w = await world.page();
    await w.open(base + diff);
    expect(await w.page.locator('.side .tr').first().innerText()).toBe('your own code');
    expect((await w.page.locator('.side .tr').allInnerTexts()).slice(1, 6).join('\n')).toContain('pricing.');
    expect(await w.page.locator('.side .table').evaluate(e => e.scrollWidth <= e.clientWidth)).toBe(true);
    expect(await w.page.title()).toMatch(/run-010.*run-018/);
    expect((await w.page.locator('.profile > .head').innerText()).match(/per operation/g)).toHaveLength(1);
    await w.close();
  });
});
