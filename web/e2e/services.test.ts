// Services that push profiles: from Home to two times and two releases compared.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { counted, Person } from './person';
import { missing, push, World } from './world';

describe.skipIf(missing)('services', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    base = (await world.serve('--store', 's.duckdb', '--continuous')).http;
    const now = Math.floor(Date.now() / 1000);
    for (let hours = 30; hours > 2; hours--) await push(base, `run-${String(1 + (hours % 16)).padStart(3, '0')}`, '1.2.3', now - hours * 3600);
    for (let quarters = 8; quarters > 0; quarters--) await push(base, quarters % 2 ? 'run-017' : 'run-018', '1.3.0', now - quarters * 900);
  });
  afterAll(() => world.close());

  test('Home lists them, and yesterday against today is two clicks', async () => {
    const w = await world.page();
    await w.open(base);
    const row = w.page.locator('tr', { hasText: 'shop.api' });
    expect(await row.innerText()).toMatch(/\bcpu\b/);
    const hottest = row.getByRole('link', { name: /\S+ [\d.]+%$/ });
    const [name, share] = (await hottest.innerText()).split(/\s+(?=[\d.]+%$)/);
    const ranked = await world.page(); // what it opens has the number
    await ranked.open(new URL((await hottest.getAttribute('href'))!, base).href);
    const first = ranked.page.getByRole('grid', { name: 'Where the time goes' }).locator('.tr').first();
    await first.waitFor();
    expect((await first.innerText()).split(/\s+/).slice(0, 2)).toEqual([name, share]);
    expect(await ranked.page.locator('main').innerText()).toMatch(/ ms\/s$/m);
    expect(await ranked.page.locator('main').innerText()).not.toContain('/op'); // fault 15: one unit
    await ranked.close();
    expect(await w.page.locator('main').innerText()).not.toMatch(/process_cpu|samples \(/); // fault 15
    const p = new Person(w);
    await p.click('shop.api', 'link');
    await p.see('pricing.matchRule');
    counted(p, 'what a release of a service costs');
    await p.click('Compare the last 24 hours with the 24 before', 'link');
    await p.at(/base-since=48h.*base-until=24h.*head-since=24h/);
    counted(p, 'a service today against yesterday');
    await w.settled();
    expect(await w.page.locator('.failure').count()).toBe(0);
    expect(await w.page.getByRole('grid', { name: 'functions' }).innerText()).toContain('matchRule');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a finding of a release leads to the history of its function, and to the diff at its call path', async () => {
    const w = await world.page();
    await w.open(`${base}/services?service=shop.api`);
    const finding = w.page.locator('tr', { hasText: 'pricing.matchRule' });
    await finding.waitFor();
    expect(await finding.innerText()).toMatch(/slower, confirmed\s+\+[\d.]+%\s+\+[\d.]+ ms\/s\s[\s\S]*rule\.go/);
    expect(await w.page.getByRole('region', { name: 'Newest release' }).innerText()).not.toContain('moved');
    expect(await w.barriers()).toEqual([]);
    await finding.getByRole('link', { name: 'Diff' }).click();
    await w.settled();
    expect(await w.page.locator('aside.sidebar').innerText()).toMatch(/regexp\.MustCompile[\s\S]*This call path/);
    await w.page.goBack();
    await w.page.getByRole('link', { name: /pricing.matchRule/ }).click();
    await w.page.waitForURL(/function=.*matchRule/);
    await w.page.getByText('cores, github.com', { exact: false }).waitFor();
    expect(w.faults).toEqual([]);
    // What is left out of each instance is said, and can be chosen; of a release that is younger, from when on it has a verdict.
    const release = w.page.getByRole('region', { name: 'Newest release' });
    await release.getByText('the first 30 min of each instance are not compared').waitFor();
    await w.page.getByLabel('Leave out of each instance').selectOption('its first 3 hours');
    await release.getByText(/1\.3\.0" has run for .* the first 3h0m0s of each instance are not compared \(skip\); it has a verdict from \d{4}-\d\d-\d\d \d\d:\d\d UTC on/).waitFor();
    expect(await release.getByRole('heading').innerText()).toBe('The newest release has no verdict');
    expect(w.page.url()).toContain('skip=3h');
    await w.close();
  });

  test('fault 3: without lines, the source of a function of a service is where it begins, its opened file, and how to get its lines', async () => {
    const w = await world.page();
    await w.page.route('**/api/v1/lines*', r => r.fulfill({ status: 404, contentType: 'application/problem+json', json: { title: 'Not found', detail: 'no lines are kept' } }));
    await w.open(`${base}/profile?service=shop.api&type=process_cpu:cpu:nanoseconds:cpu:nanoseconds&view=functions&q=matchRule`);
    await w.page.locator('.tr.hit, .tr', { hasText: 'matchRule' }).first().click();
    await w.page.keyboard.press('l');
    const details = w.page.locator('aside.sidebar');
    await details.getByText('No lines of this selection are kept.').waitFor();
    expect(await details.innerText()).toMatch(/The function begins at line \d+ in .*rule\.go\. For its lines, record/);
    await details.locator('input[type=file]').setInputFiles({ name: 'rule.go', mimeType: 'text/plain', buffer: Buffer.from(Array.from({ length: 80 }, (_, i) => `line ${i + 1}`).join('\n')) });
    const line = /begins at line (\d+)/.exec(await details.innerText())![1]!;
    await details.locator('.source tr', { hasText: `line ${line}` }).first().waitFor();
    expect(await w.barriers()).toEqual([]);
    expect(w.faults.filter(f => !f.includes('/api/v1/lines'))).toEqual([]); // the answer of this test
    await w.close();
  });

  test('fault 5: a server with services only starts with them: cores, trend, and verdict of the newest release', async () => {
    const w = await world.page();
    await w.open(base);
    const row = w.page.locator('tr', { hasText: 'shop.api' });
    await row.getByText(/slower/).waitFor();
    expect(await row.innerText()).toMatch(/0\.2\d* cores|0\.19\d* cores/);
    expect(await row.innerText()).toMatch(/1\.3\.0 slower.*[\d.]+ ms\/s .*matchRule/); // fault 15: one unit
    expect(await w.page.locator('main').innerText()).not.toContain('/op');
    await w.page.getByRole('region', { name: 'At a glance' }).getByRole('heading', { name: 'Call path' }).waitFor(); // fault 13: beside few rows
    await row.getByRole('img', { name: 'shop.api over the last 24 hours' }).waitFor();
    const [grid, changes] = [await w.page.getByRole('heading', { name: 'Services' }).boundingBox(), await w.page.getByRole('heading', { name: 'What changed' }).boundingBox()];
    expect(grid!.y).toBeLessThan(changes!.y);
    expect(await w.page.locator('main').innerText()).not.toMatch(/0 profiles|Import some/);
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 13: few services leave room for their charts, each with its releases and what the newest one changed', async () => {
    const w = await world.page();
    await w.open(`${base}/services`);
    await w.page.getByRole('img', { name: 'shop.api over the last 24 hours by release' }).waitFor();
    await w.page.getByRole('region', { name: 'Newest release' }).getByText('matchRule').first().waitFor();
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 9: one chart in cores from 0 has the versions and a flag of the release; a drag chooses the time of the graph', async () => {
    const w = await world.page();
    await w.open(`${base}/services?service=shop.api`);
    const chart = w.page.getByRole('img', { name: /^cores.* over time$/ });
    await chart.waitFor();
    expect(await w.page.locator('.band').count()).toBe(1);
    expect(await chart.locator('.axis').first().textContent()).toBe('0 cores');
    expect(await chart.locator('.flag').allTextContents()).toEqual(['1.3.0']);
    expect(await w.page.locator('.band .legend').innerText()).toMatch(/1\.2\.3\s+1\.3\.0/);
    await w.page.locator('.framed .flame').waitFor();
    const windows = async () => Number(/(\d+) windows? of/.exec(await w.page.locator('.framed > .sub').innerText())![1]);
    const all = await windows();
    const drag = async (from: number, to: number) => {
      await chart.scrollIntoViewIfNeeded();
      const box = (await chart.boundingBox())!;
      await w.page.mouse.move(box.x + from * box.width, box.y + 100);
      await w.page.mouse.down();
      await w.page.mouse.move(box.x + to * box.width, box.y + 100, { steps: 4 });
      await w.page.mouse.up();
    };
    await drag(0.2, 0.5);
    await w.page.waitForFunction(() => /from=.*to=/.test(location.search));
    await w.page.waitForFunction(n => !document.querySelector('.framed > .sub')?.textContent?.startsWith(`${n} windows`), all);
    expect(await windows()).toBeLessThan(all);
    expect(await w.page.locator('.chip', { hasText: 'UTC' }).count()).toBe(1);
    expect(await w.barriers()).toEqual([]);
    // A second drag is what it is compared with.
    await w.page.getByRole('button', { name: 'Compare with another time…' }).click();
    await drag(0.6, 0.9);
    await w.page.waitForURL(/\/diff\?.*base-since=.*base-until=.*head-since=.*head-until=/);
    await w.settled();
    expect(await w.page.locator('.failure').count()).toBe(0);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 12: the dates of services are year-month-day in UTC', async () => {
    const w = await world.page();
    await w.open(`${base}/services?service=shop.api`);
    expect(await w.page.locator('input[type=datetime-local]').count()).toBe(0);
    expect(await w.page.getByLabel('From (UTC)').count()).toBe(0); // controls are one row
    await w.page.locator('select:has(option[value=dates])').selectOption('dates');
    await w.page.getByLabel('From (UTC)').fill('2026-01-02 03:04');
    await w.page.keyboard.press('Tab');
    await w.page.waitForFunction(() => new URLSearchParams(location.search).get('since') === '2026-01-02T03:04:00Z');
    expect(await w.page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-02 03:04');
    await w.page.setViewportSize({ width: 390, height: 844 });
    await w.open(`${base}/services?service=shop.api`);
    expect(await w.page.getByLabel('Lines').isVisible()).toBe(false); // a phone begins with the chart
    await w.page.getByRole('button', { name: 'Filters' }).click();
    expect(await w.page.getByLabel('Lines').isVisible()).toBe(true);
    await w.close();
  });

  test('live: a service is read again while its page is looked at, and not while it is hidden', async () => {
    const w = await world.page();
    await w.page.clock.install();
    await w.open(`${base}/services?service=shop.api`);
    const asked = () => w.requests.filter(r => /pushed\/series/.test(r)).length;
    // What did not change is not sent again; what was pushed meanwhile is.
    const again = async () => {
      const answer = w.page.waitForResponse(r => /pushed\/series/.test(r.url()));
      await w.page.clock.runFor(16_000);
      const status = (await answer).status();
      await w.page.waitForFunction(() => !document.querySelector('.loading'));
      return status;
    };
    expect(await again()).toBe(304);
    await push(base, 'run-018', '1.3.0', Math.floor(Date.now() / 1000) - 60);
    await expect.poll(again).toBe(200);
    expect(await again()).toBe(304);
    await w.page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true, configurable: true }));
    await w.page.clock.runFor(20_000);
    const hidden = asked();
    await w.page.clock.runFor(120_000);
    expect(asked()).toBe(hidden);
    await w.close();
  });
});
