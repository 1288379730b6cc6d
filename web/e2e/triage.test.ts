// The one table of what changed, on a store of two languages and several branches.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

describe.skipIf(missing)('triage', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 's.duckdb');
    const put = (run: string, day: number, branch: string, slow: number) => {
      const file = world.write('t.folded', `com/acme/Shop.main;com/acme/Shop.list;java/util/Arrays.sort ${slow}\ncom/acme/Shop.main;java/lang/String.equals ${400 + (day % 3)}\ncom/acme/Shop.main;com/acme/Cart.add ${500 + (day % 5)}\n`);
      world.dendro('import', '--store', 's.duckdb', '--run', run, '--date', `2026-10-${day}`, '--branch', branch, '--commit', `${run}c0ffee`, '--group', 'java', '--benchmark', 'list', '--metric', `time/op=${900 + slow}ns/op`, '--progress', 'none', file);
    };
    for (let i = 0; i < 8; i++) put(`jvm-${i}`, 10 + i, 'main', 600 + (i % 4));
    for (let i = 0; i < 2; i++) put(`pr-${i}`, 20 + i, 'slow-sort', 1500 + i);
    base = (await world.serve('--store', 's.duckdb')).http;
  });
  afterAll(() => world.close());

  const rows = (w: Awaited<ReturnType<World['page']>>) => w.page.locator('.triage .tr').allInnerTexts();

  test('the first page, its old address and the report show the same rows', async () => {
    world.dendro('report', '--store', base, '--branch', 'main', '--write', 'r.html');
    const seen = [];
    for (const address of [`${base}/?branch=main`, `${base}/regressions?branch=main`, `file://${join(world.dir, 'r.html')}`]) {
      const w = await world.page();
      await w.open(address);
      await w.page.locator('.triage .tr').first().waitFor();
      const row = (await rows(w)).map(r => r.split('\n').slice(0, 5)).filter(r => !/benchmarks?: /.test(r[0]!));
      seen.push(row);
      expect(await w.page.locator('.triage .spark circle').count()).toBe(row.length); // the onset
      expect(w.faults).toEqual([]);
      await w.close();
    }
    expect(seen[0]!.length).toBeGreaterThan(0);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
  });

  test('the base branch is the default, and a pull request is compared with it', async () => {
    const w = await world.page();
    await w.open(base);
    expect((await rows(w)).join()).not.toContain('Shop.list');
    await w.page.getByRole('link', { name: 'slow-sort against main' }).click();
    await w.page.waitForURL(/branch=slow-sort/);
    await w.settled();
    await w.page.locator('.triage .tr', { hasText: 'Shop.list' }).waitFor();
    expect([await w.page.getByLabel('Base').inputValue(), await w.page.getByLabel('head').inputValue()]).toEqual(['main', 'slow-sort']);
    const row = await w.page.locator('.triage .tr', { hasText: 'Shop.list' }).innerText();
    expect(row).toMatch(/slower[^]*\+[\d.]+%/);
    await w.page.locator('.triage .tr', { hasText: 'Shop.list' }).locator('[role=gridcell]').first().click();
    await w.page.locator('.panel').getByText('Ruled out').waitFor();
    expect(await w.barriers()).toEqual([]);
    await w.page.getByRole('link', { name: 'Benchmark', exact: true }).click();
    await w.settled();
    expect(w.page.url()).toContain('branch=slow-sort');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('what is quiet is one line that unfolds; filters and order are the table’s', async () => {
    const w = await world.page();
    await w.open(base);
    const fold = w.page.getByRole('button', { name: /benchmarks?: / });
    await fold.waitFor();
    expect(await fold.evaluate(e => getComputedStyle(e).overflow)).toBe('visible'); // its text reaches over the row
    expect(w.requests.some(r => /overview\?(?!.*rows=1)/.test(r))).toBe(false); // thousands of benchmarks are asked for when they are looked at
    await fold.click();
    await w.page.locator('.tr', { hasText: /^unchanged/ }).first().waitFor();
    await fold.click();
    expect(await w.page.locator('.tr', { hasText: /^unchanged/ }).count()).toBe(0);
    const all = (await rows(w)).length;
    await w.page.getByLabel('Certainty').selectOption('accepted');
    await w.page.getByText('No finding fits the filters.').waitFor();
    await w.page.getByLabel('Certainty').selectOption('any');
    await w.page.waitForFunction(n => document.querySelectorAll('.triage .tr').length === n, all);
    await w.page.getByRole('button', { name: 'Change', exact: true }).click();
    await w.page.locator('[aria-sort]', { hasText: 'Change' }).waitFor();
    await w.page.locator('.triage [role=grid]').focus();
    await w.page.keyboard.press('ArrowDown');
    await w.page.locator('.panel').waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a cost per operation is one, or there is none', async () => {
    for (let i = 0; i < 8; i++)
      world.dendro('import', '--store', base, '--run', `plain-${i}`, '--date', `2026-10-${10 + i}`, '--branch', 'main', '--group', 'java', '--benchmark', 'plain', '--progress', 'none', world.write('p.folded', `com/acme/Shop.main;com/acme/Shop.list ${i < 6 ? 300 + i : 1200 + i}\ncom/acme/Shop.main;com/acme/Cart.add ${900 + i}\ncom/acme/Shop.main;com/acme/Db.query ${1800 + i}\ncom/acme/Shop.main;java/lang/String.equals ${400 - i}\ncom/acme/Shop.main;java/util/Arrays.sort ${700 + i}\n`));
    const w = await world.page();
    await w.open(`${base}/?group=java`);
    const cell = w.page.locator('.triage .tr', { hasText: 'plain' }).locator('[role=gridcell]').nth(2);
    expect(await cell.innerText()).toBe('–');
    expect(await cell.locator('span').getAttribute('title')).toMatch(/^\+\d+ samples per run; no metric/);
    await w.close();
  });

  test('every page has pickers, and charts have one branch', async () => {
    const w = await world.page();
    await w.open(`${base}/function?function=regexp.MustCompile&type=cpu`);
    expect(await w.page.getByLabel('Value').count()).toBe(0); // fault 15: cpu-samples beside cpu is no choice
    await w.open(`${base}/benchmark?group=java&benchmark=list`);
    expect(await w.page.locator('.sub').first().innerText()).toContain('8 runs, branch main');
    await w.page.getByLabel('Branch').selectOption('slow-sort');
    await w.page.waitForURL(/branch=slow-sort/);
    await w.settled();
    expect(await w.page.locator('.sub').first().innerText()).toContain('2 runs, branch slow-sort');
    for (const page of ['/bottlenecks?type=cpu', '/function?function=java.util.Arrays.sort', '/profile?group=java']) {
      await w.open(base + page);
      await w.page.getByLabel('Branch').waitFor();
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('any two are compared by two search fields, also a branch with a commit; a wrong name has a way on', async () => {
    const w = await world.page();
    await w.open(`${base}/diff?benchmark=list`); // the address of the form before
    await w.page.waitForURL(`${base}/?benchmark=list`);
    const compare = async (side: string, text: string) => {
      await w.page.getByLabel(side).fill(text);
      await w.page.keyboard.press('Enter');
    };
    await w.page.getByLabel('Base').fill('slow-sort');
    await compare('head', 'nothing');
    await w.page.getByText('head "nothing" is not a branch, run or commit').waitFor();
    expect(w.faults.filter(f => !/status of 404/.test(f))).toEqual([]);
    await w.page.getByLabel('head').fill('jvm-3c0');
    await w.page.locator('#sides option[value=jvm-3c0ffe]').waitFor({ state: 'attached' });
    await compare('head', 'jvm-3c0ffe');
    await w.page.waitForURL(/benchmark=list&base=slow-sort&head=jvm-3c0ffe/);
    await w.page.locator('.triage .tr', { hasText: 'java/list' }).getByRole('link').click();
    await w.page.waitForURL(/\/diff\?.*base=slow-sort/);
    await w.settled();
    expect(await w.page.locator('h1').innerText()).toMatch(/pr-0[\s\S]*jvm-3/);
    await w.close();
  });
});
