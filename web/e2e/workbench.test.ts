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
    for (const page of ['/', '/benchmark?group=shop&benchmark=checkout']) {
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
    await w.page.getByRole('menuitem', { name: /Callers and callees/ }).waitFor();
    expect(await w.page.locator('.tip').count()).toBe(0); // it would cover the menu
    for (const name of ['Focus on function', 'Hide function', 'Collapse callees', 'Copy name', 'Copy call path', 'Search for it', 'Show source', 'History of this function'])
      expect(await w.page.getByRole('menuitem', { name }).getAttribute('title'), name).not.toBe('');
    await w.page.keyboard.press('Escape');
    await w.page.locator('[role=menu]').waitFor({ state: 'detached' });
    const row = w.page.getByRole('grid', { name: 'functions' });
    await row.locator('.tr', { hasText: 'Shop.list' }).click({ button: 'right' });
    await w.page.getByRole('menuitem', { name: /Hide function/ }).click();
    await w.page.getByRole('button', { name: 'remove merge function: com.acme.Shop.list' }).click();
    await row.focus();
    await w.page.keyboard.press('ContextMenu');
    await w.page.getByRole('menuitem', { name: /Drop samples with it/ }).waitFor();
    await w.page.keyboard.press('Escape');
    await w.page.locator('[role=menu]').waitFor({ state: 'detached' });
    const side = w.page.locator('.side');
    const width = await side.evaluate(e => e.clientWidth);
    await w.page.getByRole('separator', { name: 'Width of the list' }).focus();
    await w.page.keyboard.press('ArrowLeft');
    expect(await side.evaluate(e => e.clientWidth)).toBeLessThan(width);
    await w.page.reload();
    await w.settled();
    expect(await side.evaluate(e => e.clientWidth)).toBeLessThan(width);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the bar above a profile is one row at every width, and folds into menus', async () => {
    const w = await world.page();
    for (const [width, views, more] of [[1600, true, false], [700, false, undefined], [390, false, true]] as const) {
      await w.page.setViewportSize({ width, height: 800 });
      for (const page of ['/profile?group=java&benchmark=list&last=1', '/diff?group=shop&benchmark=checkout&type=cpu&last=1']) {
        await w.open(`${base}${page}&q=e`);
        const bar = w.page.locator('.toolbar');
        expect(await bar.evaluate(e => [e.clientHeight < 60, e.scrollWidth <= e.clientWidth]), `${page} at ${width}`).toEqual([true, true]);
        expect(await bar.getByRole('button', { name: 'Bottom-up' }).isVisible()).toBe(views);
        if (more !== undefined) expect(await bar.getByRole('button', { name: 'More' }).isVisible()).toBe(more);
        expect(await w.page.locator('.crumbs').count()).toBe(0);
      }
    }
    await w.page.getByRole('button', { name: 'More' }).click();
    await w.page.getByRole('menuitem', { name: 'Table as TSV' }).waitFor();
    expect(await w.barriers()).toEqual([]);
    await w.page.keyboard.press('Escape');
    await w.page.getByRole('button', { name: /^Icicle/ }).click();
    await w.page.getByRole('menuitemradio', { name: 'Functions' }).click();
    await w.page.waitForFunction(() => /view=functions/.test(location.search));
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('details take nothing before a selection, and are as wide as they were dragged', async () => {
    const w = await world.page();
    const address = `${base}/profile?group=java&benchmark=list&last=1`;
    await w.open(address);
    expect(await w.page.locator('.beside').count()).toBe(0);
    const box = (await w.page.locator('.flame').boundingBox())!;
    await w.page.mouse.click(box.x + box.width * 0.6, box.y + 9);
    await w.page.waitForFunction(() => /sel=/.test(location.search));
    const edge = (await w.page.getByRole('separator', { name: 'Width of the details' }).boundingBox())!;
    await w.page.mouse.move(edge.x + 3, edge.y + 200);
    await w.page.mouse.down();
    await w.page.mouse.move(edge.x - 97, edge.y + 200);
    await w.page.mouse.up();
    const width = () => w.page.locator('.beside').evaluate(e => e.getBoundingClientRect().width);
    expect(Math.abs((await width()) - 400)).toBeLessThan(5);
    await w.page.reload();
    await w.settled();
    expect(Math.abs((await width()) - 400)).toBeLessThan(5);
    await w.close();
  });

  test('colours tell own code, libraries and the runtime apart, or classes of threads, with one legend', async () => {
    const w = await world.page();
    const address = `${base}/profile?group=java&benchmark=list&last=1`;
    await w.open(address);
    expect((await w.page.locator('.legend > span').allInnerTexts()).map(s => s.trim())).toEqual(['your own code', 'JDK and libraries', 'runtime and kernel']);
    const pixel = (at: number) =>
      w.page.evaluate(at => {
        const from = document.querySelector<HTMLCanvasElement>('.flame canvas')!;
        const one = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })!;
        one.drawImage(from, -Math.floor(from.width * at), -16);
        return [...one.getImageData(0, 0, 1, 1).data.slice(0, 3)];
      }, at);
    const [runtime, own] = [await pixel(0.1), await pixel(0.9)]; // clone3 is grey, Shop.main orange
    expect(Math.max(...runtime) - Math.min(...runtime)).toBeLessThan(20);
    expect(own[0]! - own[2]!).toBeGreaterThan(30);
    await w.page.getByRole('button', { name: 'Display' }).click();
    await w.page.getByRole('menuitemradio', { name: 'colour by class of thread' }).click();
    await w.page.locator('.legend', { hasText: 'compiler' }).waitFor();
    expect((await w.page.locator('.legend > span').allInnerTexts()).map(s => s.trim())).toEqual(['application', 'compiler']);
    expect(await pixel(0.1)).not.toEqual(await pixel(0.9));
    expect(await w.page.locator('.legend').count()).toBe(1);
    await w.open(`${base}/diff?group=shop&benchmark=checkout&type=cpu&last=1`);
    expect(await w.page.locator('.legend').count()).toBe(1);
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
    await w.page.getByRole('link', { name: 'Changes', exact: true }).first().click();
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
    await w.page.getByRole('button', { name: 'More' }).click();
    expect(await w.page.locator('[role=menu]').evaluate(e => e.getBoundingClientRect().right <= innerWidth)).toBe(true);
    await w.close();
  });

  test('a diff of the newest run has the pickers, also where the choice leaves nothing to compare', async () => {
    world.dendro('import', '--store', base, '--run', 'jvm-7', '--group', 'java', '--benchmark', 'list', '--branch', 'side', '--machine', 'm2', '--metric', 'time/op=950ns/op', world.write('list-7.folded', java(7)));
    const w = await world.page();
    await w.open(`${base}/diff?group=java&benchmark=list&last=1`);
    expect(await w.page.locator('.profile .pickers label').allInnerTexts()).toEqual(expect.arrayContaining([expect.stringMatching(/^Time/)]));
    const kept = w.faults.length;
    await w.open(`${base}/diff?group=java&benchmark=list&last=1&since=2099-01-01`);
    expect(await w.page.locator('h1').innerText()).toMatch(/^Diff of java/);
    expect(await w.page.locator('.pickers select').count()).toBeGreaterThan(0);
    expect(w.faults.slice(kept).filter(f => !/status of/.test(f))).toEqual([]);
    await w.open(`${base}/benchmark?group=shop&benchmark=checkout`);
    expect(await w.page.getByRole('grid', { name: 'Runs' }).innerText()).toMatch(/[+−][\d.]+ \S+\/op, [+−][\d.]+%/); // an amount beside the share
    world.dendro('import', '--store', base, '--run', 'jvm-7', '--group', 'java', '--benchmark', 'list', '--branch', 'side', '--machine', 'm2', '--type', 'alloc', world.write('alloc.folded', 'com/acme/Shop.main 2048\n'));
    await w.open(`${base}/benchmark?group=java&benchmark=list&branch=side`);
    const panels = w.page.locator('section', { has: w.page.getByRole('heading', { name: 'Amounts of the profiles' }) });
    expect(await panels.locator('figcaption').allInnerTexts()).toEqual(expect.arrayContaining([expect.stringMatching(/^alloc 2 KiB/)]));
    await w.close();
  });

  test('fault 7: a row of Benchmarks is a benchmark, never a value type, with its newest value and state', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?list=true`); // the old address
    await w.page.waitForURL(/\/benchmarks$/);
    await w.settled();
    const rows = w.page.getByRole('grid', { name: 'benchmarks' }).locator('.tr');
    const names = async () => (await rows.allInnerTexts()).map(r => r.split('\n')[0]);
    const { benchmarks } = (await (await fetch(`${base}/api/v1/overview?quick=true`)).json()) as { benchmarks: { group: string; benchmark: string }[] };
    expect(await names()).toEqual(benchmarks.map(b => `${b.group}/${b.benchmark}`));
    await rows.filter({ hasText: 'shop/checkout' }).filter({ hasText: /ms\/op[^]*slower/ }).waitFor();
    const groups = await w.page.getByRole('navigation', { name: 'Groups' }).getByRole('link').evaluateAll(list => list.map(a => a.getBoundingClientRect().top));
    expect(groups).toEqual([...new Set(groups)].sort((a, b) => a - b)); // one below the other
    await w.page.getByRole('navigation', { name: 'Groups' }).getByRole('link', { name: /^java/ }).click();
    await w.page.waitForURL(/\/benchmarks\?group=java$/);
    expect((await names()).every(n => n!.startsWith('java/'))).toBe(true);
    expect(await w.barriers()).toEqual([]);
    await rows.getByRole('link', { name: 'java/list' }).click();
    await w.page.waitForURL(/\/benchmark\?group=java&benchmark=list/);
    await w.page.getByRole('navigation', { name: 'Benchmark' }).getByRole('link', { name: 'Where the time goes' }).click();
    await w.page.waitForURL(/\/bottlenecks\?group=java&benchmark=list/);
    await w.settled();
    expect(await w.page.getByRole('navigation', { name: 'Benchmark' }).locator('[aria-current]').innerText()).toBe('Where the time goes');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('functions of the same short name are told apart', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?group=shop&benchmark=checkout&type=cpu&last=1`);
    const names = (await w.page.getByRole('grid', { name: 'functions' }).locator('.tr .name').allInnerTexts()).filter(n => n.endsWith('(*Template).Execute'));
    expect(names.sort()).toEqual(['html/template.(*Template).Execute', 'text/template.(*Template).Execute']);
    await w.close();
  });

  test('where the time goes begins with the user’s own code, and dims what is none', async () => {
    const w = await world.page();
    await w.open(`${base}/bottlenecks?type=cpu-samples`); // of two sampling periods
    expect(await w.page.locator('.failure').count()).toBe(0);
    await w.open(`${base}/bottlenecks?group=java&type=cpu-samples`);
    expect(await w.page.locator('.sub').first().innerText()).not.toMatch(/branch$/);
    const rows = w.page.getByRole('grid', { name: 'Where the time goes' }).locator('.tr');
    expect(await rows.first().innerText()).toContain('Shop.list');
    expect(await rows.filter({ hasText: 'clone3' }).locator('div').first().getAttribute('class')).toContain('dim');
    await w.page.locator('.evidence .name a').first().click(); // a call path
    await w.settled();
    expect(await w.page.locator('aside.sidebar').innerText()).toMatch(/This call path/);
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
