// Services that push profiles: from Home to two times and two releases compared.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    expect(await row.innerText()).toContain('profiles: process_cpu');
    await row.getByRole('link', { name: 'shop.api' }).click();
    await w.settled();
    await w.page.getByRole('link', { name: 'Compare the last 24 hours with the 24 before' }).click();
    await w.page.waitForURL(/base-since=48h.*base-until=24h.*head-since=24h/);
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
    await finding.getByRole('link', { name: 'Diff of the releases' }).click();
    await w.settled();
    expect(await w.page.locator('aside.sidebar').innerText()).toMatch(/regexp\.MustCompile[\s\S]*This call path/);
    await w.page.goBack();
    await w.page.getByRole('link', { name: /pricing.matchRule/ }).click();
    await w.page.waitForURL(/function=.*matchRule/);
    await w.page.getByText('service_version 1.3.0').waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
