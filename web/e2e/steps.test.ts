// Twenty tasks of a profiler's user: how many clicks, drags, keys and typed texts the page needs,
// beside the viewers that people come from. STEPS.md has the table. Dendro's column and
// speedscope's are what these scripts need; the test fails where they differ from the table, and
// where Dendro needs more steps than the best viewer.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Served, speedscope } from './others';
import { missing, type Watched, World } from './world';

/** Does what a person does, and counts: a click, a drag, a key, and a text that is typed, are one step each. */
class Person {
  steps = 0;
  constructor(readonly w: Watched) {}
  async click(name: string | RegExp, role: 'button' | 'link' | 'menuitem' | 'menuitemradio' | 'checkbox' | 'columnheader' = 'button') {
    this.steps++;
    await this.w.page.getByRole(role, { name }).first().click();
  }
  async key(...keys: string[]) {
    for (const k of keys) {
      this.steps++;
      await this.w.page.keyboard.press(k);
    }
  }
  async type(text: string) {
    this.steps++;
    await this.w.page.keyboard.type(text);
  }
  async drop(file: string) {
    this.steps++;
    await this.w.page.setInputFiles('input[type=file]', file);
  }
  /** A click on the box of a row of the graph, at a share of its width. */
  async box(row: number, at: number, how: 'click' | 'double' | 'right' = 'click') {
    this.steps++;
    const canvas = this.w.page.locator('.flame canvas').last();
    const area = (await canvas.boundingBox())!;
    const [x, y] = [area.x + at * area.width, area.y + 19 * row + 9];
    if (how === 'double') await this.w.page.mouse.dblclick(x, y);
    else await this.w.page.mouse.click(x, y, { button: how === 'right' ? 'right' : 'left' });
    await this.w.page.waitForTimeout(50);
  }
  async drag(over: string, from: number, to: number) {
    this.steps++;
    const box = (await this.w.page.locator(over).first().boundingBox())!;
    await this.w.page.mouse.move(box.x + from * box.width, box.y + 8);
    await this.w.page.mouse.down();
    await this.w.page.mouse.move(box.x + to * box.width, box.y + 8, { steps: 8 });
    await this.w.page.mouse.up();
  }
  /** A click, or a double click, on a point of the window. */
  async point(x: number, y: number, double = false) {
    this.steps++;
    await this.w.page.mouse.click(x, y, double ? { clickCount: 2, delay: 20 } : {});
  }
  /** Waits for the address. */
  at(url: RegExp) {
    return this.w.page.waitForURL(url, { timeout: 8000 });
  }
  see(text: string | RegExp) {
    return this.w.page.getByText(text).first().waitFor({ timeout: 8000 });
  }
}

const profile = '/profile?group=shop&benchmark=checkout&last=1&type=cpu';

interface Task {
  name: string;
  from: string;
  do: (p: Person, file: string) => Promise<unknown>;
  /** The same in speedscope, with a file open but in the first task. */
  speedscope?: (p: Person, file: string) => Promise<unknown>;
}

/** Waits until what speedscope draws, on canvases, is another picture. */
async function redrawn(p: Person, act: () => Promise<unknown>) {
  await p.w.page.waitForTimeout(300); // what is still moving
  const before = await p.w.page.screenshot();
  await act();
  await expect.poll(async () => before.equals(await p.w.page.screenshot()), { timeout: 8000 }).toBe(false);
}

const tasks: Task[] = [
  { name: 'open a file and see its graph', from: '/', do: async (p, file) => (await p.drop(file), await p.at(/profile\?file/), await p.w.page.waitForSelector('canvas')), speedscope: async (p, file) => (await p.drop(file), await p.see('Left Heavy')) },
  { name: 'search for a function', from: profile, do: async p => (await p.key('/'), await p.type('regexp'), await p.at(/q=regexp/)), speedscope: async p => (await p.key('Control+f'), await p.type('pay'), await p.see('?/1')) },
  { name: 'zoom into a box', from: profile, do: async p => (await p.box(2, 0.3, 'double'), await p.at(/zoom=/)), speedscope: p => redrawn(p, () => p.point(300, 160, true)) },
  { name: 'show everything again', from: `${profile}&kind=go`, do: async p => (await p.key('0'), await p.at(/^((?!kind=).)*$/)), speedscope: async p => {
      await redrawn(p, () => p.point(300, 160, true));
      p.steps = 0;
      await redrawn(p, () => p.key('0'));
    } },
  { name: 'list functions by self time', from: profile, do: async p => (await p.key('6'), await p.w.page.waitForSelector('[aria-sort=descending]:has-text("Self")')), speedscope: async p => (await p.key('3'), await p.see('Symbol Name')) },
  { name: 'callers and callees of a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('x'), await p.at(/view=sandwich/)), speedscope: async p => {
      await p.key('3');
      await p.see('Symbol Name');
      await redrawn(p, () => (p.steps++, p.w.page.getByText('pay', { exact: true }).click()));
    } },
  { name: 'bottom-up tree', from: profile, do: async p => (await p.key('i'), await p.at(/view=inverted/)) },
  { name: 'only what is below a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('f'), await p.at(/transform=focus-function/)) },
  { name: 'take a function out of the tree', from: profile, do: async p => (await p.box(2, 0.3), await p.key('m'), await p.at(/transform=merge-function/)) },
  { name: 'collapse a recursive function', from: profile, do: async p => (await p.key('r'), await p.at(/transform=collapse/)), speedscope: p => redrawn(p, () => p.key('r')) },
  { name: 'undo the last transform', from: `${profile}&transform=merge-function:runtime.main`, do: async p => (await p.key('Control+z'), await p.at(/^((?!transform=).)*$/)) },
  { name: 'copy the name of a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('c'), await p.see(/copied/i)) },
  { name: 'choose a range of time', from: '', do: async p => (await p.drag('.track-rows', 0.1, 0.5), await p.at(/range=/)), speedscope: p => redrawn(p, () => p.drag('canvas >> nth=1', 0.1, 0.5)) },
  { name: 'compare two ranges of time', from: '', do: async p => {
      await p.drag('.track-rows', 0.02, 0.45);
      await p.click('Compare with another time…');
      await p.see(/Drag over the time/);
      await p.drag('.track-rows', 0.55, 0.98);
      await p.at(/base-range=.*head-range=/);
    } },
  { name: 'compare two runs', from: '/benchmark?group=shop&benchmark=checkout', do: async p => {
      await p.click(/Compare run-016/, 'checkbox');
      await p.click(/Compare run-018/, 'checkbox');
      await p.click(/Compare run-016 with run-018/, 'link');
      await p.at(/base-run=run-016&head-run=run-018/);
    } },
  { name: 'what became slower, and where', from: '/', do: async p => p.see(/slower/) },
  { name: 'the diff at the guilty call path', from: '/', do: async p => {
      await p.w.page.waitForSelector('.triage tbody tr, [role=row]');
      p.steps++;
      await p.w.page.locator('[role=row], tbody tr').filter({ hasText: 'slower' }).first().dblclick();
      await p.at(/diff\?/);
    } },
  { name: 'a function over all runs', from: profile, do: async p => (await p.box(2, 0.3, 'right'), await p.click(/History of this function/, 'menuitem'), await p.at(/function\?/)) },
  { name: 'dark or light', from: profile, do: async p => {
      const before = await p.w.page.evaluate(() => document.documentElement.outerHTML.slice(0, 200));
      await p.key('t');
      await p.w.page.waitForFunction(was => document.documentElement.outerHTML.slice(0, 200) !== was, before, { timeout: 8000 });
    }, speedscope: p => redrawn(p, () => (p.steps++, p.w.page.getByText('System').click())) },
  { name: 'help for the keys', from: profile, do: async p => (await p.key('?'), await p.see('next match')) },
];

/** The table of STEPS.md: steps of Dendro, of speedscope and of the best other viewer, by task; none are Infinity. */
function table(): Map<string, { dendro: number; speedscope: number; best: number }> {
  const text = readFileSync(join(import.meta.dirname, 'STEPS.md'), 'utf8');
  const rows: ReturnType<typeof table> = new Map();
  const steps = (x: string | undefined) => (x === '–' ? Infinity : Number(x));
  for (const [, name, dendro, ...others] of text.matchAll(/^\| ([a-z][^|]*?) \| (\d+) \| (\d+|–) \| (\d+|–) \| (\d+|–) \|$/gm))
    rows.set(name!, { dendro: Number(dendro), speedscope: steps(others[0]), best: Math.min(...others.map(steps)) });
  return rows;
}

describe.skipIf(missing)('steps', () => {
  const world = new World();
  let base = '';
  let file = '';
  let other: Served;
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    file = world.write('timed.perf', Array.from({ length: 200 }, (_, i) => `shop 1 ${(1 + i / 100).toFixed(3)}: 10000000 cpu-clock:\n\t0 ${i < 100 ? 'load' : 'pay'} (shop)\n\t0 main (shop)\n\t0 retry (shop)\n\t0 main (shop)\n`).join('\n'));
    base = (await world.serve('--store', 'demo.duckdb')).http;
    other = await speedscope();
  });
  afterAll(async () => {
    other?.server.close();
    await world.close();
  });

  test('the table has every task', () => expect([...table().keys()]).toEqual(tasks.map(t => t.name)));

  for (const t of tasks)
    test(t.name, async () => {
      const w = await world.page({ permissions: ['clipboard-read', 'clipboard-write'] });
      if (t.from) await w.open(base + t.from);
      else {
        await w.open(base);
        await w.page.setInputFiles('input[type=file]', file);
        await w.page.waitForURL(/profile\?file/);
        await w.settled();
      }
      const p = new Person(w);
      await t.do(p, file);
      expect({ task: t.name, steps: p.steps }).toEqual({ task: t.name, steps: table().get(t.name)?.dendro });
      expect(p.steps).toBeLessThanOrEqual(table().get(t.name)!.best);
      await w.close();
    });

  test.skipIf(!process.env.DENDRO_ALL)('of speedscope are those of the table', async () => {
    const steps: Record<string, number> = {};
    for (const t of tasks) {
      if (!t.speedscope) {
        steps[t.name] = Infinity;
        continue;
      }
      const w = await world.page();
      const p = new Person(w);
      await w.page.goto(other.url);
      if (t !== tasks[0]) {
        await p.drop(file);
        await p.see('Left Heavy');
        p.steps = 0;
      }
      await t.speedscope(p, file);
      steps[t.name] = p.steps;
      await w.close();
    }
    expect(steps).toEqual(Object.fromEntries([...table()].map(([name, row]) => [name, row.speedscope])));
  });
});
