// Twenty tasks of a profiler's user: how many clicks, drags, keys and typed texts the page needs,
// beside the viewers that people come from. docs/web.md has the table. Dendro's column and
// speedscope's are what these scripts need, and those of changes.test.ts and services.test.ts; a test fails where they differ
// from the table, and where Dendro needs more steps than the best viewer.
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Served, speedscope } from './others';
import { counted, Person, table } from './person';
import { missing, World } from './world';

/** A profile with lines. */
const lined = resolve(import.meta.dirname, '../../app/internal/demo/profiles/run-018/checkout.pb.gz');

const profile = '/profile?group=shop&benchmark=checkout&last=1&type=cpu';

interface Task {
  name: string;
  from: string;
  do: (p: Person, file: string) => Promise<unknown>;
  /** The file that is open, if it is another one. */
  file?: string;
  /** The same in speedscope, with a file open but in the first task. */
  speedscope?: (p: Person, file: string) => Promise<unknown>;
}

/** Waits until what speedscope draws, on canvases, is another picture. */
async function redrawn(p: Person, act: () => Promise<unknown>) {
  await p.w.page.waitForTimeout(300); // what is still moving
  const before = await p.w.page.screenshot();
  await act();
  await expect.poll(async () => before.equals(await p.w.page.screenshot()), { timeout: 30_000 }).toBe(false);
}

const tasks: Task[] = [
  { name: 'open a file and see its graph', from: '/', do: async (p, file) => (await p.drop(file), await p.at(/profile\?file/), await p.w.page.waitForSelector('canvas')), speedscope: async (p, file) => (await p.drop(file), await p.see('Left Heavy')) },
  { name: 'search for a function', from: profile, do: async p => (await p.key('/'), await p.type('regexp'), await p.at(/q=regexp/)), speedscope: async p => (await p.key('Control+f'), await p.type('pay'), await p.see('?/1')) },
  { name: 'zoom into a box', from: profile, do: async p => (await p.box(2, 0.3, 'double'), await p.at(/zoom=/)), speedscope: p => redrawn(p, () => p.point(300, 160, true)) },
  { name: 'list functions by self time', from: profile, do: async p => (await p.key('6'), await p.w.page.waitForSelector('[aria-sort=descending]:has-text("Self")')), speedscope: async p => (await p.key('3'), await p.see('Symbol Name')) },
  { name: 'callers and callees of a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('x'), await p.at(/view=sandwich/)), speedscope: async p => {
      await p.key('3');
      await p.see('Symbol Name');
      await redrawn(p, () => (p.steps++, p.w.page.getByText('pay', { exact: true }).click()));
    } },
  { name: 'bottom-up tree', from: profile, do: async p => (await p.key('i'), await p.at(/view=inverted/)) },
  { name: 'only what is below a function', from: profile, do: async p => (await p.box(2, 0.3), await p.key('f'), await p.at(/transform=focus-function/)) },
  { name: 'take a function out of the tree', from: profile, do: async p => (await p.box(2, 0.3), await p.key('m'), await p.at(/transform=merge-function/)) },
  { name: 'choose a range of time', from: '', do: async p => (await p.drag('.track-rows', 0.1, 0.5), await p.at(/range=/)), speedscope: p => redrawn(p, () => p.drag('canvas >> nth=1', 0.1, 0.5)) },
  { name: 'compare two ranges of time', from: '', do: async p => {
      await p.drag('.track-rows', 0.02, 0.45);
      await p.click('Compare with another time…');
      await p.see(/Drag over the time/);
      await p.drag('.track-rows', 0.55, 0.98);
      await p.at(/base-range=.*head-range=/);
    } },
  { name: 'the hot line of a file', from: '', do: async p => (await p.key('l'), await p.w.page.waitForSelector('figure.source')), file: lined },
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
  { name: 'what is new since Monday', from: '/', do: async p => (await p.click('Monday'), await p.at(/new=\d{4}-/)) },
  { name: 'where the time of your own code goes', from: '/benchmarks', do: async p => (await p.click('Where the time goes', 'link'), await p.see('wire.')) },
];

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

  test('the table has every task', () => expect([...table().keys()]).toEqual([...tasks.map(t => t.name), 'what a pull request costs', 'what a release of a service costs', 'a service today against yesterday']));

  for (const t of tasks)
    test(t.name, async () => {
      const w = await world.page({ permissions: ['clipboard-read', 'clipboard-write'] });
      if (t.from) await w.open(base + t.from);
      else {
        await w.open(base);
        await w.page.setInputFiles('input[type=file]', t.file ?? file);
        await w.page.waitForURL(/profile\?file/);
        await w.settled();
      }
      const p = new Person(w);
      await t.do(p, file);
      counted(p, t.name);
      await w.close();
    });

  test.skipIf(!process.env.DENDRO_ALL)('of speedscope are those of the table', async () => {
    const steps = Object.fromEntries([...table().keys()].map(name => [name, Infinity]));
    for (const t of tasks) {
      if (!t.speedscope) continue;
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
