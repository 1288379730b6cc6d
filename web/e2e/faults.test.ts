// What the pages once did wrong, and no other test of a page would notice.
import type { ChildProcess } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoding, functionRows, type Wire } from '../src/core/profile';
import { atOnce } from '../src/core/steps';
import { missing, World } from './world';

const formats = resolve(import.meta.dirname, '../../format');
const rtl = '\u202etxt\u200bname';
const long = 'n'.repeat(300);

describe.skipIf(missing)('faults', () => {
  const world = new World();
  let base = '';
  let server: ChildProcess;
  beforeAll(async () => {
    const store = ['--store', 'f.duckdb'];
    world.dendro('demo', ...store);
    const one = world.write('one.folded', 'main;work 10\n');
    for (const benchmark of [rtl, long]) world.dendro('import', ...store, '--group', 'odd', '--benchmark', benchmark, '--run', `${rtl}-1`, one);
    world.dendro('import', ...store, '--group', 'dumps', '--benchmark', 'jstack', '--run', 'd1', join(formats, 'threaddump/testdata/jstack-jdk17.txt.gz'));
    // Recordings with threads and markers: one has several value types.
    for (const [benchmark, file] of [['jfr', 'jfr/testdata/ap46-multi.jfr.gz'], ['firefox', 'firefox/testdata/firefox-153-raw.json.gz']] as const)
      world.dendro('import', ...store, '--keep-source', '--group', 'recordings', '--benchmark', benchmark, '--run', 'r1', join(formats, file));
    // A machine on which all code takes longer in the newest run: the same profile, another time.
    const same = [1, 2, 3, 4, 5, 6].map(k => `com/acme/Shop.main;com/acme/Cart.f${k} ${k * 200}\n`).join('');
    const runs = Array.from({ length: 21 }, (_, i) => ({
      file: world.write(`weather-${i}.folded`, same), group: 'java', benchmark: 'weather', machine: 'bench-2', run: `w-${i}`, branch: 'main', date: `2026-10-${10 + i}T00:00:00Z`,
      metrics: [{ name: 'time/op', mean: (i < 20 ? 1000 : 1300) + 10 * (i % 3), unit: 'ns/op' }],
    }));
    world.dendro('import', ...store, '--manifest', world.write('weather.json', JSON.stringify(runs)));
    ({ http: base, process: server } = await world.serve(...store));
  });
  afterAll(() => world.close());

  test('Home and the page of a benchmark name one onset', async () => {
    const w = await world.page();
    await w.open(base);
    const onset = /run-\d+/.exec(await w.page.locator('.triage .tr', { hasText: 'checkout' }).first().innerText())![0];
    await w.open(`${base}/benchmark?group=shop&benchmark=checkout`);
    const text = await w.page.locator('main').innerText();
    expect(text).toMatch(new RegExp(`slower.*since ${onset} at`));
    expect(text).toMatch(new RegExp(`slower, confirmed[^]*%[^]*${onset}`)); // the change of the list
    await w.close();
  });

  test('a change of self within the noise is grey, also where the band of a history decides on totals', async () => {
    const selection = 'group=shop&benchmark=checkout&type=cpu&last=1&against=history';
    const tree = atOnce(decoding((await (await fetch(`${base}/api/v1/diff?${selection}&form=columns`)).json()) as Wire));
    const noisy = atOnce(functionRows(tree)).find(r => r.outside && r.self[0] !== r.self[1] && Math.abs(r.self[1]! - r.self[0]!) <= tree.noise(r.self[0]!, r.self[1]!))!;
    const name = tree.table.functions[noisy.fn]!.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const w = await world.page();
    await w.open(`${base}/diff?${selection}&view=functions&q=${encodeURIComponent(`^${name}$`)}`);
    const row = w.page.locator('.tr[aria-rowindex]').last().locator('[role=gridcell]');
    const classes = await row.evaluateAll(cells => cells.map(c => c.className));
    const titles = await w.page.locator('[role=columnheader]').allInnerTexts();
    expect(classes[titles.indexOf('Δ total')]).toMatch(/more|less/);
    expect(classes[titles.indexOf('Δ self')]).not.toMatch(/more|less/);
    await w.close();
  });

  test('the weather of a machine is a line above the list', async () => {
    for (const page of ['', 'regressions']) { // the old address
      const w = await world.page();
      await w.open(`${base}/${page}?group=java`);
      const line = w.page.getByText(/^1 benchmark on bench-2: all code took 1\.\d+ times as long \(2026-10-30\)$/);
      await line.waitFor();
      expect((await line.boundingBox())!.y).toBeLessThan((await w.page.locator('.triage').boundingBox())!.y);
      expect(await w.page.locator('.triage .tr', { hasText: 'weather' }).count()).toBe(0);
      expect(w.faults).toEqual([]);
      expect(await w.barriers()).toEqual([]);
      await w.close();
    }
  });

  test('a recording of several value types has its threads over time before one chooses a type', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=recordings&benchmark=jfr`);
    await w.page.locator('.tracks').waitFor();
    await w.close();
  });

  test('what is imported on the page has threads over time, as the opened file has', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', join(formats, 'firefox/testdata/firefox-153-raw.json.gz'));
    await w.page.locator('.tracks').waitFor();
    await w.page.getByRole('button', { name: 'Import or compare…' }).click();
    await w.page.getByLabel('Benchmark', { exact: true }).fill('imported');
    await w.page.getByLabel('Run (default').fill('r1');
    expect(await w.barriers()).toEqual([]);
    await w.page.getByRole('button', { name: 'Import', exact: true }).click();
    await w.page.getByRole('dialog', { name: 'Open profiles' }).waitFor({ state: 'detached' });
    await w.open(`${base}/profile?benchmark=imported`);
    await w.page.locator('.tracks').waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the stack chart has the times of the rows above it, and the colours of the graph', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=recordings&benchmark=firefox&view=stack-chart`);
    await w.page.locator('.tracks').waitFor();
    await w.page.locator('.lane canvas').first().waitFor();
    const last = (axis: string) => w.page.locator(axis).first().evaluate(e => Math.max(...(e.textContent!.match(/[\d,]+(?= ms)/g) ?? []).map(t => Number(t.replace(/,/g, '')))));
    expect(await last('.lane .axis-line')).toBeLessThanOrEqual(500);
    expect(await last('.tracks .axis-line')).toBeLessThanOrEqual(500);
    const begin = (axis: string) => w.page.locator(axis).first().evaluate(e => e.getBoundingClientRect().left);
    expect(await begin('.lane .axis-line')).toBe(await begin('.tracks .axis-line'));
    await w.open(`${base}/profile?group=recordings&benchmark=jfr&view=stack-chart`);
    await w.page.locator('.lane canvas').first().waitFor();
    expect(await w.page.locator('.legend').innerText()).toMatch(/your own code[\s\S]*JDK and libraries/); // fault 15
    await w.close();
  });

  test('what a second request cannot change is not offered', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=java&benchmark=weather&last=1&view=stack-chart`);
    await w.page.getByRole('heading', { name: 'The original was not kept' }).waitFor();
    expect(await w.page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await w.close();
  });

  test('the onset of a finding is marked in the chart of its benchmark, also of one run', async () => {
    for (let i = 0; i < 9; i++)
      world.dendro('import', '--store', base, '--group', 'one', '--benchmark', 'new', '--run', `one-${i}`, '--date', `2026-10-${10 + i}`, '--branch', 'main', '--metric', `time/op=${1000 + (i % 3) + (i === 8 ? 600 : 0)}ns/op`, '--progress', 'none', world.write('n.folded', `com/acme/Shop.main;com/acme/Shop.list ${600 + (i % 4) + (i === 8 ? 900 : 0)}\ncom/acme/Shop.main;com/acme/Cart.add ${900 + (i % 3)}\n`));
    const w = await world.page();
    await w.open(`${base}/benchmark?group=one&benchmark=new`);
    expect(await w.page.locator('main').innerText()).toMatch(/slower[\s\S]*since one-8/);
    expect(await w.page.locator('.band').first().locator('.at').count()).toBe(1);
    await w.close();
  });

  test('Home does not jump when what changed arrives', async () => {
    const w = await world.page();
    await w.page.addInitScript(() => {
      const seen = { shift: 0 };
      Object.assign(window, { seen });
      new PerformanceObserver(list => {
        for (const e of list.getEntries()) seen.shift += (e as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await w.open(base);
    await w.page.locator('.triage .tr').first().waitFor();
    await w.page.waitForTimeout(300);
    expect(await w.page.evaluate(() => (window as unknown as { seen: { shift: number } }).seen.shift)).toBeLessThan(0.1);
    await w.close();
  });

  test('names with invisible characters are shown as such, long ones push nothing out of the page', async () => {
    const w = await world.page({ viewport: { width: 1280, height: 720 } });
    for (const page of ['/?quiet=true', '/benchmarks']) {
      await w.open(base + page);
      await w.page.getByText('nnnnnnnn').first().waitFor();
      expect(await w.page.locator('body').innerText(), page).not.toMatch(/[\u200b\u202e]/);
      expect(await w.page.evaluate(() => document.documentElement.scrollWidth), page).toBeLessThanOrEqual(1280);
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('keys act under no dialog: Esc of the help keeps the selection, and t the theme', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=shop&benchmark=checkout&last=1&type=cpu&view=functions`);
    await w.page.locator('[role=grid]').first().focus();
    await w.page.keyboard.press('ArrowDown');
    await w.page.waitForURL(/sel=/);
    const before = w.page.url();
    const theme = await w.page.evaluate(() => document.documentElement.outerHTML.slice(0, 200));
    await w.page.keyboard.press('?');
    await w.page.locator('dialog.help[open]').waitFor();
    await w.page.keyboard.press('t');
    await w.page.keyboard.press('2'); // another view
    await w.page.keyboard.press('Escape');
    await w.page.locator('dialog.help:not([open])').waitFor({ state: 'attached' });
    await w.page.waitForTimeout(300); // addresses are written a moment later
    expect(w.page.url()).toBe(before);
    expect(await w.page.evaluate(() => document.documentElement.outerHTML.slice(0, 200))).toBe(theme);
    await w.page.keyboard.press('Escape'); // the page has its keys again
    await w.page.waitForURL(url => !url.search.includes('sel='));
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 13: what is known of a benchmark is not cut beside an empty column', async () => {
    const w = await world.page({ viewport: { width: 1600, height: 900 } });
    const says = 'unchanged: would have seen 7.4%, runs of the base differ by a quarter';
    await w.page.route('**/api/v1/overview*', async route => {
      const response = await route.fetch();
      const overview = (await response.json()) as { benchmarks: { outcome?: object }[] };
      for (const b of overview.benchmarks) b.outcome = { status: 'unchanged', says };
      await route.fulfill({ response, json: overview });
    });
    await w.open(`${base}/benchmarks?group=shop`);
    const cell = w.page.getByRole('gridcell', { name: says }).first();
    await cell.waitFor();
    expect(await cell.evaluate(e => e.scrollWidth - e.clientWidth)).toBe(0);
    expect(await w.page.getByRole('columnheader', { name: 'Commit' }).count()).toBe(1);
    await w.close();
  });

  test('fault 13: columns are as wide as they need, charts name days, and bars stand below their numbers', async () => {
    const w = await world.page({ viewport: { width: 1500, height: 950 } });
    const cut = () => w.page.locator('.tr > div').evaluateAll(cells => cells.filter(c => c.scrollWidth > c.clientWidth && !c.querySelector('button')).map(c => c.textContent));
    const widths = () => w.page.locator('[role=columnheader]').evaluateAll(heads => Object.fromEntries(heads.map(h => [h.textContent, h.clientWidth])));
    await w.open(`${base}/benchmark?group=shop&benchmark=checkout`);
    expect(await cut()).toEqual([]);
    expect((await widths())['Run']).toBeLessThan(200);
    expect(await w.page.locator('.band').first().locator('text.axis').allInnerTexts()).not.toContainEqual(expect.stringContaining('run-'));
    const [chart, runs] = [await w.page.locator('.band').first().boundingBox(), await w.page.getByRole('grid', { name: 'Runs' }).boundingBox()];
    expect(runs!.x).toBeGreaterThan(chart!.x + chart!.width); // beside each other
    await w.page.getByRole('link', { name: 'Functions over time' }).click(); // the tabs of pages.md
    await w.settled();
    const newest = w.page.getByRole('grid', { name: 'Functions over time' }).locator('.tr', { hasText: 'pricing.matchRule' });
    const [, first, last] = /([\d.]+)%\s+([\d.]+)%/.exec(await newest.innerText())!;
    expect(Number(last)).toBeGreaterThan(3 * Number(first));
    expect(await w.page.locator('.band .line').count()).toBe(await w.page.getByRole('grid').locator('.tr').count());
    expect(await cut()).toEqual([]);
    expect(await w.barriers()).toEqual([]);
    await w.open(`${base}/?group=shop`);
    expect(await cut()).toEqual([]);
    const glance = w.page.getByRole('region', { name: 'At a glance' }); // few rows leave room for a change
    expect(await glance.innerText()).toMatch(/matchRule[^]*Call path/);
    const onset = await glance.locator('.at line').getAttribute('x1'); // at run-017 of 18
    expect(onset).toBe(await glance.locator('.point').nth(16).getAttribute('cx'));
    expect((await glance.boundingBox())!.y + (await glance.boundingBox())!.height).toBeGreaterThan(600);
    expect(await w.page.locator('main').innerText()).not.toContain('cpu-samples'); // fault 15: beside cpu
    expect(await w.barriers()).toEqual([]);
    await w.open(`${base}/benchmarks?group=shop`); // few rows leave room for their functions
    const hottest = w.page.getByRole('region', { name: 'Where the time goes' });
    expect(await hottest.locator('.tr', { hasText: 'wire.compress' }).innerText()).toMatch(/compress\s+[\d.]+%/);
    expect((await hottest.boundingBox())!.y + (await hottest.boundingBox())!.height).toBeGreaterThan(700);
    const strips = await w.page.locator('.fitted').evaluateAll(list => list.map(e => e.getBoundingClientRect().bottom - e.querySelector('.tbody')!.getBoundingClientRect().bottom));
    expect(Math.max(...strips), 'an empty strip below a table').toBeLessThan(4);
    expect(await w.barriers()).toEqual([]);
    await w.open(`${base}/profile?group=shop&benchmark=checkout&last=1&type=cpu&view=functions`);
    expect(await w.page.locator('.cellbar').first().evaluate(e => getComputedStyle(e).backgroundSize)).toMatch(/ 3px$/);
    await w.close();
  });

  test('fault 12: since Monday is a click, and its address is a date', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.locator('.triage .tr', { hasText: 'checkout' }).first().waitFor();
    await w.page.getByRole('button', { name: 'Monday' }).click();
    await w.page.waitForURL(/[?&]new=\d{4}-\d\d-\d\d$/);
    await w.page.getByText('No finding fits the filters.').waitFor(); // the demo is older
    await w.page.getByLabel('New since').fill('2026-01-01');
    await w.page.keyboard.press('Enter');
    await w.page.locator('.triage .tr', { hasText: 'checkout' }).first().waitFor();
    await w.page.goBack();
    await w.page.getByText('No finding fits the filters.').waitFor();
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 10: where the time goes is a table by own code, and names the benchmarks that it leaves out', async () => {
    const w = await world.page();
    await w.open(`${base}/bottlenecks`);
    const rows = w.page.getByRole('grid', { name: 'Where the time goes' }).locator('.tr');
    const shares = (await rows.allInnerTexts()).map(t => parseFloat(/([\d.]+)%/.exec(t)![1]!));
    expect(shares[0]).toBeGreaterThan(5); // not of a function that uses 0.08 %
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    expect(await w.page.getByRole('columnheader').allInnerTexts()).toEqual(expect.arrayContaining(['Function', 'Share', 'Trend', 'Per operation']));
    const asked = w.requests.find(r => r.includes('/bottlenecks?by='))!; // with the branches of the page
    const answer = (await (await fetch(asked)).json()) as { benchmarks: number; leftOut: { benchmarks: number; type: string }[] };
    const all = (await (await fetch(`${base}/api/v1/overview?quick=true&${new URLSearchParams(new URL(asked).searchParams.getAll('branch').map(b => ['branch', b]))}`)).json()) as { benchmarks: unknown[] };
    expect(answer.leftOut.reduce((n, x) => n + x.benchmarks, answer.benchmarks)).toBe(all.benchmarks.length);
    const text = await w.page.locator('main').innerText();
    for (const x of answer.leftOut) expect(text).toMatch(new RegExp(`Left out, without \\S+: .*${x.benchmarks} benchmarks? with ${x.type}`));
    expect(text).not.toContain('Score:');
    await rows.nth(1).click();
    expect(await w.page.getByRole('complementary', { name: 'Function' }).innerText()).toMatch(/Heaviest call paths/);
    await w.page.getByRole('link', { name: answer.leftOut[0]!.type, exact: true }).click();
    await w.page.waitForURL(new RegExp(`type=${answer.leftOut[0]!.type}`));
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 14: a phone has theme, help, all columns behind a hint, and pickers that are not cut', async () => {
    const w = await world.page({ viewport: { width: 390, height: 844 } });
    const inside = (boxes: { left: number; right: number }[]) => boxes.every(b => b.left >= 0 && b.right <= 390);
    for (const [page, table, last] of [['/?group=shop', 'What changed', 'Metric'], ['/benchmark?group=shop&benchmark=checkout', 'Runs', 'Commit'], ['/bottlenecks', 'Where the time goes', 'Self']] as const) {
      await w.open(base + page);
      expect(inside(await w.page.locator('.pickers > *, header button, .head .button').evaluateAll(list => list.map(e => e.getBoundingClientRect().toJSON())))).toBe(true);
      const grid = w.page.getByRole('grid', { name: table, exact: true });
      expect(await grid.getAttribute('class'), page).toContain('cut');
      await grid.evaluate(e => e.scrollTo(1e4, 0));
      expect((await grid.getByRole('columnheader', { name: last }).boundingBox())!.x).toBeLessThan(380);
      await w.page.waitForFunction(() => !document.querySelector('.table.cut'));
      expect(await w.barriers(), page).toEqual([]);
    }
    for (const name of [/^(Dark|Light)$/, 'Keyboard help']) expect(await w.page.getByRole('button', { name }).count()).toBe(1);
    await w.close();
  });

  test('a phone shows filters when they are asked for, and those of the address', async () => {
    const w = await world.page({ viewport: { width: 390, height: 844 } });
    await w.open(base);
    const filter = w.page.getByLabel('only slower');
    const button = w.page.getByRole('button', { name: 'Filters' });
    expect(await filter.isVisible()).toBe(false);
    await w.page.getByText(/^\d+ findings?/).waitFor(); // what the table holds is said anyway
    await button.click();
    expect([await filter.isVisible(), await button.getAttribute('aria-expanded')]).toEqual([true, 'true']);
    expect(await w.barriers()).toEqual([]);
    await button.click();
    await w.page.setViewportSize({ width: 1280, height: 720 });
    expect([await filter.isVisible(), await button.isVisible()]).toEqual([true, false]);
    await w.page.setViewportSize({ width: 390, height: 844 });
    await w.open(`${base}/?slower=true`);
    expect(await filter.isVisible()).toBe(true);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a printed graph is light, as wide as the sheet, and tells whose code it is without colours', async () => {
    const w = await world.page({ colorScheme: 'dark' });
    const light = (colour: string) => Number(/([\d.]+)%\)/.exec(colour)![1]);
    for (const [page, fills] of [['profile', [66, 85, 95]], ['diff', []]] as const) {
      await w.open(`${base}/${page}?group=shop&benchmark=checkout&type=cpu&${page === 'diff' ? 'base-run=run-018&head-run=run-016' : 'last=1'}`);
      const pdf = await w.page.pdf({ format: 'A4' });
      expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)!.length).toBe(1);
      expect(await w.page.locator('.on-paper').count()).toBe(0); // it goes with the dialog
      await w.page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      await w.page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      const sheet = w.page.locator('svg.on-paper');
      const shown = await sheet.locator('rect').evaluateAll(list => list.map(r => r.getAttribute('fill')!));
      if (fills.length > 0) expect([...new Set(shown.filter(f => f.startsWith('hsl')).map(light))].sort()).toEqual(fills);
      else expect(shown).toContain('url(#hatch)');
      expect(await sheet.locator('text').allTextContents()).toContain('pricing.matchRule');
      expect(await w.page.locator('.toolbar, .side, .flame').evaluateAll(list => list.filter(e => e.getClientRects().length > 0).length)).toBe(0);
      expect(await w.page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(26, 29, 33)');
      await w.page.emulateMedia({ media: 'screen' });
      await w.page.evaluate(() => dispatchEvent(new Event('afterprint')));
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a printed table has all of its rows and columns', async () => {
    const w = await world.page({ viewport: { width: 718, height: 1000 } }); // A4
    for (const [page, least] of [
      ['profile?group=shop&benchmark=checkout&type=cpu&last=1&view=tree', 60],
      ['diff?group=shop&benchmark=checkout&type=cpu&base-run=run-016&head-run=run-018&view=functions', 400],
      ['benchmarks', 3],
    ] as const) {
      await w.open(`${base}/${page}`);
      await w.page.emulateMedia({ media: 'print' });
      await w.page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      await w.drawn();
      const printed = w.page.locator('.printed').first();
      expect(await printed.locator('tbody tr').count(), page).toBeGreaterThanOrEqual(least);
      expect(await w.page.evaluate(() => document.documentElement.scrollWidth), page).toBeLessThanOrEqual(718);
      expect(await printed.evaluate(t => t.getBoundingClientRect().right), page).toBeLessThanOrEqual(718);
      expect(await printed.locator('thead').evaluate(t => getComputedStyle(t).display), page).toBe('table-header-group'); // on every sheet
      expect(await w.page.locator('[role=grid], [role=treegrid], .segments').evaluateAll(list => list.filter(e => e.getClientRects().length > 0).length), page).toBe(0);
      await w.page.emulateMedia({ media: 'screen' });
      await w.page.evaluate(() => dispatchEvent(new Event('afterprint')));
      await w.drawn();
      expect(await printed.count(), page).toBe(0);
      // What the window showed is as it was.
      expect(await w.page.locator('[role=row]').count(), page).toBeGreaterThan(1);
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a printed page has no control, cuts nothing, and its charts have texts of the size of others', async () => {
    const w = await world.page({ viewport: { width: 1280, height: 720 } });
    for (const page of ['', 'benchmark?group=shop&benchmark=checkout', 'bottlenecks', 'profile?group=recordings&benchmark=firefox&view=stack-chart', `benchmark?group=odd&benchmark=${long}`]) {
      await w.open(`${base}/${page}`);
      await w.page.emulateMedia({ media: 'print' });
      await w.page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      await w.drawn();
      // The browser lays the page out anew, but measures nothing: charts must not have the width of the window.
      expect(await w.page.locator('.band > svg').evaluateAll(list => Math.max(0, ...list.map(e => Number(e.getAttribute('width'))))), page).toBeLessThanOrEqual(718);
      await w.page.setViewportSize({ width: 718, height: 1000 }); // A4
      const found = await w.page.evaluate(() => {
        const shown = [...document.querySelectorAll<HTMLElement>('body *')].filter(e => e.getClientRects().length > 0 && !e.closest('.hidden, .skip, .axis-line'));
        const say = (what: string, list: HTMLElement[]) => list.map(e => `${what}: ${e.outerHTML.slice(0, 120)}`);
        return [
          ...say('control', shown.filter(e => e.matches('button, input, select, .button') && !e.matches('.plainbutton, th *'))),
          ...say('cut', shown.filter(e => !e.closest('svg') && getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)),
          ...say('over the sheet', shown.filter(e => e.getBoundingClientRect().right > 719)),
          ...say('over the next', shown.filter(e => e.matches('.on-paper') && e.getBoundingClientRect().bottom > e.closest('.graph')!.parentElement!.getBoundingClientRect().bottom + 1)),
        ];
      });
      expect(found, page).toEqual([]);
      await w.page.emulateMedia({ media: 'screen' });
      await w.page.evaluate(() => dispatchEvent(new Event('afterprint')));
      await w.page.setViewportSize({ width: 1280, height: 720 });
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('beside the evidence, a function and its call path are not cut', async () => {
    const w = await world.page({ viewport: { width: 1280, height: 720 } });
    await w.open(base);
    await w.page.locator('.triage .tr', { hasText: 'matchRule' }).first().click();
    const path = w.page.getByRole('list', { name: 'Call path' });
    await path.waitFor();
    const cut = (e: Element) => e.scrollWidth > e.clientWidth + 1;
    expect(await w.page.locator('.triage [role=gridcell]', { hasText: 'MustCompile' }).first().evaluate(cut)).toBe(false);
    expect(await path.evaluate(cut)).toBe(false);
    expect(await path.locator('li').first().getAttribute('title')).toMatch(/^github\.com\//); // its folders are not in the line
    await w.close();
  });

  test('what few rows find is shown over time, or by function', async () => {
    const w = await world.page();
    await w.open(`${base}/find?pattern=regexp.MustCompile&group=shop&type=cpu`);
    await w.page.getByRole('img', { name: /^Cost of shop\/checkout over 18 runs/ }).waitFor();
    await w.open(`${base}/find?pattern=regexp.*&group=shop&type=cpu`);
    await w.page.getByRole('link', { name: 'regexp.(*Regexp).MatchString' }).click();
    await w.page.waitForURL(/\/function\?/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 12: one search, by the keyboard alone, finds a function, a benchmark, a commit and a run', async () => {
    const w = await world.page();
    await w.open(base);
    expect(await w.page.locator('main input[type=search]').count()).toBe(0); // there is no second one
    const find = async (key: string, text: string, option: RegExp, kind: string) => {
      await w.page.keyboard.press(key);
      await w.page.getByRole('dialog', { name: 'Search' }).waitFor();
      await w.page.keyboard.type(text);
      await w.page.getByRole('group', { name: kind, exact: true }).getByRole('option', { name: option }).first().waitFor();
      expect(await w.page.locator('dialog.search [aria-selected=true]').count()).toBe(1);
    };
    await find('/', 'mustcomp', /regexp\.MustCompile/, 'Functions');
    expect(await w.barriers()).toEqual([]);
    await w.page.keyboard.press('Enter');
    await w.page.waitForURL(/\/function\?.*MustCompile/);
    await find('Control+k', 'checkout', /^shop\/checkout/, 'Benchmarks');
    await w.page.keyboard.press('Enter');
    await w.page.waitForURL(/\/benchmark\?.*checkout/);
    const { rows } = (await (await fetch(`${base}/api/v1/runs?group=shop&run=run-018`)).json()) as { rows: { run: string; commit: string }[] };
    await find('Control+k', rows[0]!.commit.slice(0, 9), /run-018/, 'Runs');
    await w.page.keyboard.press('Escape');
    await w.page.locator('dialog.search').waitFor({ state: 'detached' }); // closed, it has no role yet still the keys
    await find('Control+k', 'run-01', /run-018/, 'Runs');
    await w.page.keyboard.press('ArrowDown');
    await w.page.keyboard.press('ArrowUp');
    await w.page.keyboard.press('Enter');
    await w.page.waitForURL(/\/benchmarks\?.*run=run-018/); // of several benchmarks
    await w.settled();
    await w.page.keyboard.press('Control+k');
    await w.page.keyboard.type('nosuch<b>');
    await w.page.getByText('Nothing has “nosuch<b>” in its name.').waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a thread dump over time says that it has no times, and asks to undo nothing', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=dumps&benchmark=jstack&view=stack-chart`);
    const text = await w.page.locator('main').innerText();
    expect(text).not.toMatch(/undo a transform/);
    expect(text).toMatch(/time/);
    expect(w.faults.filter(f => !/404/.test(f))).toEqual([]); // the server says what there is not
    await w.close();
  });

  test('a second task of a service links the one that runs', async () => {
    const w = await world.page();
    const create = async () => {
      await w.open(`${base}/tasks?create=true`);
      await w.page.getByLabel('Start (UTC)').fill('14'); // fault 12: a time as the other fields take it
      await w.page.keyboard.press('Tab');
      expect(await w.page.getByLabel('Start (UTC)').evaluate((e: HTMLInputElement) => e.checkValidity())).toBe(false);
      await w.page.getByLabel('Start (UTC)').fill('tomorrow 14:00');
      await w.page.keyboard.press('Tab');
      expect(await w.page.getByLabel('Start (UTC)').inputValue()).toMatch(/^\d{4}-\d\d-\d\d 14:00$/);
      await w.page.getByLabel('Start (UTC)').fill('');
      await w.page.getByLabel('Service').fill('shop');
      await w.page.getByLabel('Endpoint').fill('/checkout');
      await w.page.getByRole('button', { name: 'Create' }).click();
    };
    await create();
    await w.page.waitForURL(/\/task\?/);
    await create();
    const alert = w.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).not.toMatch(/dendro task/);
    await alert.getByRole('link').click();
    await w.page.getByRole('heading', { name: '/checkout' }).waitFor();
    await w.close();
  });

  test('fault 4: a link to 18 runs is short; it survives Back, reload and a restart of the server', async () => {
    const w = await world.page({ permissions: ['clipboard-read', 'clipboard-write'] });
    const runs = Array.from({ length: 17 }, (_, i) => `base-run=run-${String(i + 1).padStart(3, '0')}`).join('&');
    const address = `/diff?group=shop&benchmark=checkout&type=cpu&${runs}&head-run=run-018&view=functions`;
    await w.open(base + address);
    await w.page.getByRole('button', { name: 'Share' }).click();
    await w.page.getByText('Copied the link').waitFor();
    const link = await w.page.evaluate(() => navigator.clipboard.readText());
    expect(link).toMatch(/^http:\/\/[\d.:]+\/s\/[a-z2-7]{10}$/);
    await w.page.keyboard.press('Escape'); // the toolbar has the focus
    await w.page.keyboard.press('y');
    expect(await w.page.evaluate(() => navigator.clipboard.readText())).toBe(link);
    const functions = w.page.getByRole('grid', { name: 'functions' });
    const shown = async () => (await w.page.waitForURL(url => url.searchParams.getAll('base-run').length === 17), await functions.waitFor());
    await w.open(`${base}/benchmark?group=shop&benchmark=checkout`);
    await w.open(link);
    await shown();
    await w.page.reload();
    await shown();
    await w.page.goBack();
    await w.page.getByRole('heading', { name: 'shop/checkout' }).waitFor();
    await w.page.goForward();
    await shown();
    await w.page.waitForFunction(() => performance.getEntriesByType('resource').some(e => e.name.endsWith('Search.css'))); // loaded when nothing else is
    server.kill('SIGTERM');
    await new Promise(ended => server.once('exit', ended));
    base = (await world.serve('--store', 'f.duckdb')).http;
    await w.open(base + new URL(link).pathname);
    await shown();
    expect(w.faults).toEqual([]);
    await w.open(`${base}/s/nosuch`);
    const said = await w.page.getByRole('alert').innerText();
    expect(said).toMatch(/^Nothing is selected\s+the store has no link "nosuch"/); // fault 15: nothing is said twice
    await w.close();
  });

  test('fault 4: Share of a dropped file writes the page in one file', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', join(world.dir, 'one.folded'));
    const [file] = await Promise.all([w.page.waitForEvent('download'), w.page.getByRole('button', { name: 'Share' }).click()]);
    const written = join(world.dir, 'shared.html');
    await file.saveAs(written);
    await w.open(`file://${written}`);
    await w.page.locator('.workspace').waitFor();
    expect(await w.page.getByRole('button', { name: 'Share' }).count()).toBe(0); // nothing to ask there
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
