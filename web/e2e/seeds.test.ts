// What the documents behind Dendro ask of its pages: tasks that start later, CPU time against
// wall time, and compile modes as colours.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const austin = (mode: string, rows: string) => `# austin: 3.7.0\n# mode: ${mode}\n${rows}`;

describe.skipIf(missing)('seeds', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    const cpu = world.write('cpu.austin', austin('cpu', 'P1;T1;a.py:main:1;a.py:work:5 3000\n'));
    const wall = world.write('wall.austin', austin('wall', 'P1;T1;a.py:main:1;a.py:work:5 3100\nP1;T1;a.py:main:1;a.py:read:9 7200\n'));
    for (const file of [cpu, wall]) world.dendro('import', '--benchmark', 'waits', '--run', 'r1', file);
    for (let i = 1; i < 4; i++) {
      const compiled = world.write(`compiled-${i}.collapsed`, `java/lang/Thread.run_[j];shop/Cart.total_[j] ${20 + i}\njava/lang/Thread.run_[j];shop/Cart.tax_[j] 40\n`);
      world.dendro('import', '--benchmark', 'modes', '--run', `r0${i}`, '--date', `2026-01-0${i}`, compiled);
    }
    const modes = world.write('modes.collapsed', 'java/lang/Thread.run_[j];shop/Cart.total_[0] 60\njava/lang/Thread.run_[j];shop/Cart.tax_[j] 40\n');
    world.dendro('import', '--benchmark', 'modes', '--run', 'r1', modes);
    base = (await world.serve()).http;
  });
  afterAll(() => world.close());

  test('a task starts at the time of the form', async () => {
    const w = await world.page();
    await w.open(`${base}/tasks?create=true&service=shop&endpoint=/checkout`);
    const start = Math.ceil(Date.now() / 60_000 + 60) * 60_000;
    await w.page.getByLabel('Start').fill(new Date(start).toISOString().slice(0, 16).replace('T', ' '));
    await w.page.getByRole('button', { name: 'Create' }).click();
    await w.page.getByText('planned').first().waitFor();
    const { rows } = (await (await fetch(`${base}/api/v1/tasks`)).json()) as { rows: { start: number; state: string }[] };
    expect(rows.map(t => [t.start, t.state])).toEqual([[start, 'planned']]);
    await w.open(`${base}/tasks?create=true&service=shop&endpoint=/checkout`);
    await w.page.getByLabel('Start').fill('2020-01-01T00:00:00'); // a start in the past is refused
    await w.page.getByLabel('Start').press('Tab');
    expect(await w.page.getByLabel('Start').evaluate(e => (e as HTMLInputElement).checkValidity())).toBe(false);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('what waits is the wall time of a run against its CPU time', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?benchmark=waits`);
    await w.settled();
    await w.page.getByTitle('value type').click();
    await w.page.getByText('cpu against wall').click();
    await w.page.waitForURL(/base-type=cpu.*head-type=wall/);
    await w.settled();
    await w.page.locator('h1', { hasText: /cpu, .*r1.*wall, .*r1/ }).waitFor(); // the names of runs come after the graph
    expect(await w.page.locator('.head .sub').first().innerText()).toContain('cpu against wall');
    expect(await w.page.getByRole('grid', { name: 'functions' }).innerText()).toMatch(/read[\s\S]*\+7\.2 ms/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('frames have the colours of their compile modes', async () => {
    const w = await world.page();
    await w.open(`${base}/profile?benchmark=modes&run=r1`);
    await w.settled();
    const shown = async () => {
      const seen = await w.page.locator('canvas').first().evaluate(c => {
        const { width, height } = c as HTMLCanvasElement;
        const { data } = (c as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height);
        const found = new Set<string>();
        for (let i = 0; i < data.length; i += 4 * 97) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
        return [...found];
      });
      const of = (hue: (r: number, g: number, b: number) => boolean) => seen.some(c => hue(...(c.split(',').map(Number) as [number, number, number])));
      return { red: of((r, g, b) => r > g + 30 && Math.abs(g - b) < 15), green: of((r, g, b) => g > r + 30 && g > b + 15) };
    };
    expect(await shown()).toEqual({ red: false, green: false });
    await w.page.getByRole('button', { name: 'Display' }).click();
    await w.page.getByText('colour by compile mode').click();
    await w.page.waitForURL(/modes=true.*color=category|color=category.*modes=true/);
    await w.settled();
    expect(await shown()).toEqual({ red: true, green: true });
    expect(await w.page.locator('.legend').innerText()).toMatch(/^\s*no mode\s+interpreted\s+jit$/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the page of bottlenecks has the traces of --expand, and why they were followed', async () => {
    world.dendro('bottlenecks', '--store', base, '--benchmark', 'modes', '--by', 'subtree', '--expand', 'informed', '-o', 'traces.html');
    const w = await world.page();
    await w.open(`file://${world.dir}/traces.html`);
    const traces = w.page.locator('details.traces', { hasText: 'Traces of java.lang.Thread.run' });
    await traces.locator('summary').first().click();
    await traces.getByText(/^Child traces/).click();
    expect(await traces.locator('thead').first().locator('th').allInnerTexts()).toEqual(['Trace', 'Difference', 'Of the candidate', 'Its score', 'Status', 'Why']);
    expect(await traces.locator('tbody').first().innerText()).toMatch(/Cart.total.*×2.00: mode became interpreted: 100%, before 0%/s);
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the page of a method has its candidates, which sort, and their traces', async () => {
    world.dendro('regressions', '--store', base, '--method', 'thesis', '--benchmark', 'modes', '-o', 'thesis.html');
    const w = await world.page();
    await w.open(`file://${world.dir}/thesis.html`);
    const candidates = w.page.locator('details', { hasText: /Candidates of .*modes/ }).locator('table.candidates');
    const first = candidates.locator('tbody tr').first();
    expect(await first.innerText()).toContain('Thread.run');
    await candidates.getByRole('button', { name: 'Measured' }).click();
    await candidates.getByRole('button', { name: 'Measured' }).click();
    expect(await first.innerText()).toContain('Cart.tax');
    await candidates.getByRole('button', { name: 'Difference' }).click();
    expect(await candidates.locator('tbody').innerText()).toMatch(/Cart.total\s+22\s+60\s+\+38\s+38.0/);
    expect(await w.page.locator('details.traces').first().textContent()).toMatch(/Traces of.*(Child|Parent) traces \(\d+\)/s);
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
