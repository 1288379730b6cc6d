// Twenty tasks of a profiler's user: how many clicks, drags, keys and typed texts the page needs,
// beside the viewers that people come from. docs/web.md has the table and the sources of the
// other columns; the test fails where the page needs more steps than the table says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
  async drag(from: number, to: number) {
    this.steps++;
    const box = (await this.w.page.locator('.lane canvas').first().boundingBox())!;
    await this.w.page.mouse.move(box.x + from * box.width, box.y + 8);
    await this.w.page.mouse.down();
    await this.w.page.mouse.move(box.x + to * box.width, box.y + 8, { steps: 8 });
    await this.w.page.mouse.up();
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

/** Tasks for which another viewer needs fewer steps; docs/web.md says why. */
const behind = ['list functions by self time', 'collapse a recursive function', 'choose a range of time', 'compare two ranges of time'];

interface Task {
  name: string;
  from: string;
  do: (p: Person, file: string) => Promise<unknown>;
}

const tasks: Task[] = [
  { name: 'open a file and see its graph', from: '/', do: async (p, file) => (await p.drop(file), await p.at(/profile\?file/), await p.w.page.waitForSelector('canvas')) },
  { name: 'search for a function', from: profile, do: async p => (await p.key('/'), await p.type('regexp'), await p.at(/q=regexp/)) },
  { name: 'zoom into a box', from: profile, do: async p => (await p.box(2, 0.3, 'double'), await p.at(/zoom=/)) },
  { name: 'show everything again', from: `${profile}&kind=go`, do: async p => (await p.key('0'), await p.at(/^((?!kind=).)*$/)) },
  { name: 'list functions by self time', from: profile, do: async p => (await p.key('6'), await p.at(/view=functions/), await p.click(/^Self/, 'columnheader'), await p.w.page.waitForSelector('[aria-sort]:has-text("Self")')) },
  { name: 'callers and callees of a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('x'), await p.at(/view=sandwich/)) },
  { name: 'bottom-up tree', from: profile, do: async p => (await p.key('i'), await p.at(/view=inverted/)) },
  { name: 'only what is below a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('f'), await p.at(/transform=focus-function/)) },
  { name: 'take a function out of the tree', from: profile, do: async p => (await p.box(2, 0.3), await p.key('m'), await p.at(/transform=merge-function/)) },
  { name: 'collapse a recursive function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('r'), await p.at(/transform=collapse/)) },
  { name: 'undo the last transform', from: `${profile}&transform=merge-function:runtime.main`, do: async p => (await p.key('Control+z'), await p.at(/^((?!transform=).)*$/)) },
  { name: 'copy the name of a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('c'), await p.see(/copied/i)) },
  { name: 'choose a range of time', from: '', do: async p => (await p.key('7'), await p.w.page.waitForSelector('.lane canvas'), await p.drag(0.1, 0.5), await p.at(/range=/)) },
  { name: 'compare two ranges of time', from: '', do: async p => {
      await p.key('7');
      await p.w.page.waitForSelector('.lane canvas');
      await p.drag(0.02, 0.45);
      await p.click('Compare with another time…');
      await p.see(/Drag over the time/);
      await p.w.page.waitForSelector('.lane canvas');
      await p.w.page.waitForTimeout(300);
      await p.drag(0.55, 0.98);
      await p.at(/base-range=.*new-range=/);
    } },
  { name: 'compare two runs', from: '/benchmark?group=shop&benchmark=checkout', do: async p => {
      await p.click(/Compare run-016/, 'checkbox');
      await p.click(/Compare run-018/, 'checkbox');
      await p.click(/Compare run-016 with run-018/, 'link');
      await p.at(/base-run=run-016&new-run=run-018/);
    } },
  { name: 'what became slower, and where', from: '/', do: async p => p.see(/slower/) },
  { name: 'the diff at the guilty call path', from: '/', do: async p => {
      await p.w.page.waitForSelector('.triage tbody tr, [role=row]');
      p.steps++;
      await p.w.page.locator('[role=row], tbody tr').filter({ hasText: 'slower' }).first().dblclick();
      await p.at(/diff\?/);
    } },
  { name: 'a function over all runs', from: profile, do: async p => (await p.box(2, 0.3, 'right'), await p.click(/This function over time/, 'menuitem'), await p.at(/function\?/)) },
  { name: 'dark or light', from: profile, do: async p => {
      const before = await p.w.page.evaluate(() => document.documentElement.outerHTML.slice(0, 200));
      await p.key('t');
      await p.w.page.waitForFunction(was => document.documentElement.outerHTML.slice(0, 200) !== was, before, { timeout: 8000 });
    } },
  { name: 'help for the keys', from: profile, do: async p => (await p.key('?'), await p.see('next match')) },
];

/** The table of docs/web.md: steps of Dendro and of the best other viewer, by task. */
function table(): Map<string, { dendro: number; best: number }> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/web.md'), 'utf8');
  const rows = new Map<string, { dendro: number; best: number }>();
  for (const [, name, dendro, ...others] of text.matchAll(/^\| ([a-z][^|]*?) \| (\d+) \| (\d+|–) \| (\d+|–) \| (\d+|–) \|$/gm))
    rows.set(name!, { dendro: Number(dendro), best: Math.min(...others.map(x => (x === '–' ? Infinity : Number(x)))) });
  return rows;
}

describe.skipIf(missing)('steps', () => {
  const world = new World();
  let base = '';
  let file = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    file = world.write('timed.perf', Array.from({ length: 200 }, (_, i) => `shop 1 ${(1 + i / 100).toFixed(3)}: 10000000 cpu-clock:\n\t0 ${i < 100 ? 'load' : 'pay'} (shop)\n\t0 main (shop)\n`).join('\n'));
    base = (await world.serve('--store', 'demo.duckdb')).http;
  });
  afterAll(() => world.close());

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
      const row = table().get(t.name);
      expect({ task: t.name, steps: p.steps }).toEqual({ task: t.name, steps: row?.dendro });
      expect(p.steps <= row!.best).toBe(!behind.includes(t.name));
      await w.close();
    });
});
