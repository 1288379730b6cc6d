// The first page of a store of many benchmarks of two languages and branches: a few hundred in
// every check, DENDRO_MANY=10000 at night. Times are printed and decide nothing.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const many = Number(process.env.DENDRO_MANY ?? 300);

/** A run of a benchmark: half of them are Java's, the others Go's; every hundredth became slower in the last two runs. */
function stacks(n: number, run: number, runs: number): string {
  const slow = n % 100 === 7 && run >= runs - 2 ? 400 : 0;
  const noise = (i: number) => (n * 31 + run * 17 + i * 7) % 9;
  return n % 2
    ? `com/acme/Shop.main;com/acme/Cart.add ${300 + noise(1)}\ncom/acme/Shop.main;java/util/Arrays.sort ${200 + noise(2) + slow}\ncom/acme/Shop.main;java/lang/String.equals ${100 + noise(3)}\n`
    : `main.main;shop.Price ${300 + noise(1)}\nmain.main;shop.Load;regexp.Compile ${200 + noise(2) + slow}\nmain.main;runtime.mallocgc ${100 + noise(3)}\n`;
}

describe.skipIf(missing)('many benchmarks', () => {
  const world = new World();
  let base = '';
  const runs = 6;
  beforeAll(async () => {
    for (let run = 0; run < runs; run++)
      for (let n = 0; n < many; n++) {
        const dir = join(world.dir, 'suite', `r${run}`, n % 2 ? 'java' : 'go');
        if (n < 2) mkdirSync(dir, { recursive: true });
        writeFileSync(join(dir, `bench-${String(n).padStart(5, '0')}.folded`), stacks(n, run, runs));
      }
    for (let run = 0; run < runs; run++)
      world.dendro('import', '--operations', '1000', '--layout', '{group}/{benchmark}.{ext}', '--run', `r${run}`, '--date', `2026-01-0${run + 1}T00:00:00Z`, '--branch', 'main', '--commit', `${run}`.repeat(40), join('suite', `r${run}`));
    for (const run of [1, 2])
      world.dendro('import', '--operations', '1000', '--layout', '{group}/{benchmark}.{ext}', '--run', `pr-${run}`, '--date', `2026-01-1${run}T00:00:00Z`, '--branch', 'pr', join('suite', 'r5', 'go', 'bench-00000.folded'), '--group', 'go', '--benchmark', 'bench-00000');
    base = (await world.serve()).http;
  }, 600_000);
  afterAll(() => world.close());

  test('home shows what changed, in few nodes, and searches', async () => {
    const w = await world.page();
    const row = () => w.page.getByRole('row').filter({ hasText: 'Arrays.sort' }).first();
    // From the navigation to the first row with a change, and until nothing is loaded any more.
    await w.page.addInitScript(() =>
      new MutationObserver((_, all) => {
        if (!document.querySelector('[role=row] a')) return;
        all.disconnect();
        requestAnimationFrame(() => setTimeout(() => Object.assign(window, { shown: performance.now() })));
      }).observe(document, { childList: true, subtree: true }),
    );
    const times: string[] = [];
    for (let i = 0; i < 2; i++) {
      const begin = performance.now();
      await w.open(base);
      await row().waitFor({ timeout: 120_000 });
      const all = performance.now() - begin;
      const shown = await w.page.evaluate(() => (window as unknown as { shown: number }).shown);
      times.push(`${shown.toFixed(0)} ms to the first change and ${all.toFixed(0)} ms to all`);
    }
    const nodes = () => w.page.evaluate(() => document.querySelectorAll('*').length);
    expect(await nodes()).toBeLessThan(1500);
    await w.page.keyboard.press('/');
    await w.page.locator('dialog.search input').waitFor();
    await w.page.keyboard.type('b');
    await w.page.locator('dialog.search a').first().waitFor();
    await w.page.evaluate(() => {
      const letters: number[] = [];
      Object.assign(window, { letters });
      const drawn = (e: Event) => requestAnimationFrame(() => setTimeout(() => letters.push(performance.now() - e.timeStamp)));
      document.addEventListener('input', drawn, true);
    });
    await w.page.keyboard.type('ench-00007', { delay: 120 });
    await w.page.waitForTimeout(300);
    const letters = await w.page.evaluate(() => (window as unknown as { letters: number[] }).letters);
    expect(letters).toHaveLength('ench-00007'.length);
    expect(await w.page.locator('dialog.search a').allInnerTexts()).toEqual(['java/bench-00007']);
    expect(await nodes()).toBeLessThan(1500);
    console.log(`${many} benchmarks: ${times.join(', again ')}, letters at most ${Math.max(...letters).toFixed(0)} ms`);
    expect(w.faults).toEqual([]);
    expect(await w.barriers()).toEqual([]);
    await w.close();
  }, 180_000);

  test('after an import of one run its benchmark is in the table', async () => {
    const body = new FormData();
    body.append('labels', new Blob([JSON.stringify({ group: 'go', benchmark: 'bench-00010', run: 'r6', branch: 'main', date: '2026-01-20T00:00:00Z', operations: 1000 })], { type: 'application/json' }));
    body.append('file', new Blob(['main.main;shop.Price 1300\nmain.main;shop.Load;regexp.Compile 203\nmain.main;runtime.mallocgc 104\n']), 'a.folded');
    expect((await fetch(`${base}/api/v1/import`, { method: 'POST', body })).ok).toBe(true);
    const begin = performance.now();
    const answer = (await (await fetch(`${base}/api/v1/report?changed=true&candidates=0&max-depth=0`)).json()) as { benchmarks: { benchmark: string }[] };
    console.log(`${many} benchmarks: what changed after an import of one run, ${(performance.now() - begin).toFixed(0)} ms`);
    expect(answer.benchmarks.map(b => b.benchmark)).toContain('bench-00010');
  }, 120_000);
});
