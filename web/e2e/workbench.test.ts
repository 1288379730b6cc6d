// The pages on a store that has what real ones have: two languages, several value types, and more
// than fits a window.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const java = (run: number) =>
  [
    `com/acme/Shop.main;com/acme/Shop.list;java/util/Arrays.sort ${90 + run}`,
    `com/acme/Shop.main;com/acme/Cart.add ${20 + run}`,
    `com/acme/Shop.main;java/lang/String.equals ${40 + (run % 3)}`,
    `clone3;Thread::call_run;Compile::Compile ${60 - run}`,
    // A deep path, narrower than a pixel.
    `com/acme/Shop.main;${Array.from({ length: 50 }, (_, i) => `com/acme/Deep.level${i}`).join(';')} 0.02`,
  ].join('\n');

describe.skipIf(missing)('workbench', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    for (let run = 1; run <= 6; run++) {
      const file = world.write(`list-${run}.folded`, java(run));
      world.dendro('import', '--store', 'demo.duckdb', '--run', `jvm-${run}`, '--group', 'java', '--benchmark', 'list', '--metric', `time/op=${900 + run}ns/op`, file);
    }
    base = (await world.serve('--store', 'demo.duckdb')).http;
  });
  afterAll(() => world.close());

  test('a page scrolls to its end and no further', async () => {
    const w = await world.page({ viewport: { width: 1280, height: 600 } });
    for (const page of ['/regressions', '/benchmark?group=shop&benchmark=checkout']) {
      await w.open(base + page);
      await w.page.mouse.move(600, 400);
      for (let i = 0; i < 40; i++) await w.page.mouse.wheel(0, 2000);
      await w.page.waitForTimeout(200);
      expect(await w.page.evaluate(() => [scrollY, document.documentElement.scrollHeight - innerHeight])).toEqual([0, 0]);
      expect(await w.page.locator('header.top').isVisible()).toBe(true);
    }
    await w.close();
  });

  test('callers and callees are of one benchmark, whatever else the store holds', async () => {
    const w = await world.page();
    for (const name of ['java.util.Arrays.sort', 'regexp.MustCompile']) {
      await w.open(`${base}/function?function=${name}`);
      expect(await w.page.locator('.failure').count()).toBe(0);
      expect(await w.page.locator('.two table').first().innerText()).toMatch(/Shop|matchRule|compile/i);
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('no message of a page names a flag', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=java&group=shop`);
    const text = await w.page.locator('main').innerText();
    expect(text).not.toMatch(/--[a-z]/);
    await w.close();
  });

  test('the graph has the focus when a profile opens, and arrows walk it', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=java&benchmark=list&last=1`);
    await w.page.waitForFunction(() => document.activeElement?.classList.contains('flame'));
    await w.page.keyboard.press('ArrowDown');
    await w.page.keyboard.press('ArrowDown');
    await w.page.keyboard.press('Enter');
    await w.page.waitForFunction(() => /zoom=/.test(location.search));
    expect(await w.page.locator('.crumbs').innerText()).toContain('clone3');
    await w.close();
  });

  test('one click selects, two zoom, the right button and the menu key open a menu, and what is copied is said', async () => {
    const w = await world.page();
    await w.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await w.open(`${base}/profile?group=java&benchmark=list&last=1`);
    const box = (await w.page.locator('.flame').boundingBox())!;
    const at = [box.x + box.width * 0.6, box.y + 9] as const;
    await w.page.mouse.click(...at);
    await w.page.waitForFunction(() => /sel=/.test(location.search) && !/zoom=/.test(location.search));
    await w.page.locator('aside.sidebar').waitFor();
    const second = (await w.page.locator('.flame').boundingBox())!;
    await w.page.mouse.dblclick(second.x + second.width * 0.6, second.y + 9);
    await w.page.waitForFunction(() => /zoom=/.test(location.search));
    await w.page.mouse.click(second.x + second.width * 0.6, second.y + 28, { button: 'right' });
    await w.page.getByRole('menuitem', { name: /Copy name/ }).click();
    await w.page.getByText('Copied the name').waitFor();
    expect(await w.page.evaluate(() => navigator.clipboard.readText())).toMatch(/com\.acme\.Shop|clone3|call_run|list|sort/);
    await w.page.locator('.flame').focus();
    await w.page.keyboard.press('Shift+F10');
    await w.page.getByRole('menuitem', { name: /Sandwich/ }).waitFor();
    await w.page.keyboard.press('Escape');
    expect(await w.page.locator('[role=menu]').count()).toBe(0);
    const side = w.page.locator('.side');
    const width = await side.evaluate(e => e.clientWidth);
    await w.page.getByRole('separator').focus();
    await w.page.keyboard.press('ArrowLeft');
    expect(await side.evaluate(e => e.clientWidth)).toBeLessThan(width);
    await w.page.reload();
    await w.settled();
    expect(await side.evaluate(e => e.clientWidth)).toBeLessThan(width);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('what is narrower than a pixel is grey, to the last level', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=java&benchmark=list&last=1`);
    const rows = await w.page.evaluate(() => {
      const c = document.querySelector<HTMLCanvasElement>('.flame canvas')!;
      const { data, width, height } = c.getContext('2d')!.getImageData(0, 0, c.width, c.height);
      let painted = 0;
      for (let y = 9; y < height; y += 19) {
        let any = false;
        for (let x = 0; x < width; x++) any ||= data[4 * (y * width + x) + 3]! > 0;
        if (any) painted++;
      }
      return [painted, Math.floor(height / 19)];
    });
    expect(rows[0]).toBeGreaterThanOrEqual(rows[1]! - 1); // 51 levels are more than the window has
    await w.close();
  });

  test('unknown addresses have a page that says so', async () => {
    const w = await world.page();
    await w.open(`${base}/nosuch`);
    expect(await w.page.locator('h1').innerText()).toBe('There is no such page');
    await w.page.getByRole('link', { name: 'Home', exact: true }).first().click();
    await w.settled();
    expect(new URL(w.page.url()).pathname).toBe('/');
    await w.close();
  });

  test('labels of a chart are inside of it', async () => {
    const w = await world.page();
    await w.open(`${base}/benchmark?group=java&benchmark=list`);
    const outside = await w.page.evaluate(() => {
      const svg = document.querySelector('.band svg')!.getBoundingClientRect();
      return [...document.querySelectorAll('.band text')].filter(t => t.getBoundingClientRect().right > svg.right + 0.5).map(t => t.textContent);
    });
    expect(outside).toEqual([]);
    await w.close();
  });

  test('a diff lists what changed most first, and numbers fit', async () => {
    const w = await world.page();
    await w.open(`${base}/diff?group=shop&benchmark=checkout&type=cpu&last=2&view=functions`);
    const cells = await w.page.locator('.tr').evaluateAll(rows =>
      rows.map(r => {
        const delta = r.children[4]!;
        return { quiet: r.classList.contains('quiet'), cut: [...r.children].slice(2).some(c => c.scrollWidth > c.clientWidth + 1), text: delta.textContent };
      }),
    );
    expect(cells.some(c => c.cut)).toBe(false);
    const firstQuiet = cells.findIndex(c => c.quiet);
    if (firstQuiet >= 0) expect(cells.slice(firstQuiet).every(c => c.quiet)).toBe(true);
    await w.close();
  });

  test('the navigation of a phone is whole, and the graph has most of the height', async () => {
    const w = await world.page({ viewport: { width: 390, height: 844 } });
    await w.open(`${base}/profile?group=java&benchmark=list&last=1`);
    const nav = await w.page.locator('header nav').evaluate(e => [e.scrollWidth, e.clientWidth]);
    expect(nav[0]).toBeLessThanOrEqual(nav[1]!);
    const graph = await w.page.locator('.views').evaluate(e => e.clientHeight);
    expect(graph).toBeGreaterThan(0.7 * 844);
    await w.page.getByRole('button', { name: 'Export' }).click();
    expect(await w.page.locator('[role=menu]').evaluate(e => e.getBoundingClientRect().right <= innerWidth)).toBe(true);
    await w.close();
  });

  test('bottlenecks begin with the user’s own code; the runtime is a section of its own', async () => {
    const w = await world.page();
    await w.open(`${base}/bottlenecks?type=cpu-samples`); // of two sampling periods
    expect(await w.page.locator('.failure').count()).toBe(0);
    await w.open(`${base}/bottlenecks?group=java&type=cpu-samples`);
    const headings = await w.page.locator('main h2').allInnerTexts();
    expect(headings[0]).toBe('Your own code');
    expect(headings.at(-1)).toMatch(/^Runtime/);
    expect(await w.page.locator('section', { hasText: 'Your own code' }).first().innerText()).toContain('com.acme');
    expect(await w.page.locator('section.findings', { has: w.page.getByRole('heading', { name: /^Runtime/ }) }).innerText()).toContain('Compile::Compile');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('cells of shares have bars', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=java&benchmark=list&last=1&view=functions`);
    const widths = await w.page.locator('.cellbar').evaluateAll(cells => cells.map(c => parseFloat((c as HTMLElement).style.getPropertyValue('--share'))));
    expect(Math.max(...widths)).toBeGreaterThan(30);
    expect(Math.min(...widths)).toBeLessThan(15);
    await w.close();
  });
});
