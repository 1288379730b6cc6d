// Comparing any two: ranges of time, runs between dates, and a file with the store.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

/** A recording of perf: a second of load, then a second of pay, a sample every 10 ms. */
const recording = () =>
  Array.from({ length: 200 }, (_, i) => `shop 1 ${(1 + i / 100).toFixed(3)}: 10000000 cpu-clock:\n\t0 ${i < 100 ? 'load' : 'pay'} (shop)\n\t0 main (shop)\n`).join('\n');

describe.skipIf(missing)('compare', () => {
  const world = new World();
  let base = '';
  let file = '';
  beforeAll(async () => {
    for (let run = 1; run <= 4; run++) {
      const folded = world.write(`r${run}.folded`, `main;load ${100 * run}\nmain;pay 50\n`);
      world.dendro('import', '--group', 'shop', '--benchmark', 'checkout', '--run', `r${run}`, '--date', `2026-0${run}-01T00:00:00Z`, folded);
    }
    file = world.write('laptop.folded', 'main;load 900\nmain;pay 50\n');
    base = (await world.serve()).http;
  });
  afterAll(() => world.close());

  test('the runs between two dates against those after', async () => {
    const w = await world.page();
    await w.open(`${base}/?group=shop&benchmark=checkout`);
    await w.page.getByLabel('Base').fill('2026-01-01 .. 2026-03-01');
    await w.page.getByLabel('head').fill('2026-03-01 ..');
    await w.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await w.page.waitForURL(/until%3D2026-03-01/);
    await w.settled();
    expect(await w.page.locator('h1').innerText()).toContain('r1');
    expect(await w.page.locator('.head .sub').first().innerText()).toContain('2 → 2 profiles');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a file that is dropped against a stored run, and is not stored', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', file);
    await w.page.getByRole('button', { name: 'Import or compare…' }).click();
    await w.page.getByRole('button', { name: 'Compare with the store…' }).click();
    await w.page.waitForURL(/\/\?head-file/);
    await w.settled();
    await w.page.getByLabel('Base').fill('r2');
    await w.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await w.page.waitForURL(/base-run=r2/);
    await w.settled();
    expect(await w.page.locator('.failure').count()).toBe(0);
    const head = await w.page.locator('.head').innerText();
    expect(head).toContain('r2');
    expect(head).toContain('laptop.folded');
    expect(head).toMatch(/250.*950/s);
    expect(w.faults).toEqual([]);
    expect(await w.barriers()).toEqual([]);
    await w.close();
    expect(world.dendro('runs', '--store', base)).not.toContain('laptop');
  });

  test('one range of time of a profile against another', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', world.write('two.perf', recording()));
    await w.page.waitForURL(/profile\?file/);
    await w.settled();
    await w.page.keyboard.press('7'); // over time
    await w.page.waitForSelector('.lane canvas');
    const drag = async (from: number, to: number) => {
      const box = (await w.page.locator('.lane canvas').first().boundingBox())!;
      await w.page.mouse.move(box.x + from * box.width, box.y + 8);
      await w.page.mouse.down();
      await w.page.mouse.move(box.x + to * box.width, box.y + 8, { steps: 8 });
      await w.page.mouse.up();
      await w.drawn();
    };
    await drag(0.02, 0.45);
    await w.page.getByRole('button', { name: 'Compare with another time…' }).click();
    await w.page.getByText('Drag over the time to compare with it').waitFor();
    await w.page.waitForSelector('.lane canvas');
    await drag(0.55, 0.98);
    await w.page.waitForURL(/base-range=.*head-range=/);
    await w.settled();
    expect(await w.page.locator('.failure').count()).toBe(0);
    expect(await w.page.locator('h1').innerText()).toMatch(/two\.perf.* ms.*→.* ms/s);
    const answer = await w.page.evaluate(() => document.body.innerText);
    expect(answer).toContain('pay');
    expect(answer).toContain('load');
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
