import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const profile = '/profile?benchmark=checkout&run=run-018&type=cpu';
const diff = '/diff?benchmark=checkout&base-run=run-010&new-run=run-018&type=cpu';

describe.skipIf(missing)('views of a profile and a diff', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    base = (await world.serve('--store', 'demo.duckdb')).http;
  });
  afterAll(() => world.close());

  test('every view of a diff: no error, no barrier', async () => {
    const w = await world.page();
    for (const view of ['flame', 'tree', 'inverted', 'sandwich', 'functions']) {
      await w.open(`${base}${diff}&view=${view}`);
      expect(await w.barriers(), view).toEqual([]);
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('search, transforms and undo by keyboard; the address holds them', async () => {
    const w = await world.page();
    await w.open(base + profile);
    const p = w.page;
    const param = (name: string) => new URL(p.url()).searchParams.getAll(name);
    const key = async (k: string) => {
      await p.keyboard.press(k);
      await p.waitForTimeout(250);
    };
    await key('/');
    await p.keyboard.type('regexp\\.Compile');
    await key('Enter');
    expect(param('q')).toEqual(['regexp\\.Compile']);
    expect(param('sel')).toHaveLength(1);
    await key('Escape');
    expect(param('q')).toEqual([]);
    await key('f');
    expect(param('transform')).toEqual(['focus-function:regexp.Compile']);
    await key('3');
    expect(param('view')).toEqual(['tree']);
    const rows = await p.locator('[role=treegrid] [role=row]').allInnerTexts();
    expect(rows[1]).toContain('regexp.Compile');
    await p.reload();
    await w.settled();
    expect(await p.locator('[role=treegrid] [role=row]').allInnerTexts()).toEqual(rows);
    await key('Control+z');
    expect(param('transform')).toEqual([]);
    await p.goBack();
    await p.waitForTimeout(300);
    expect(param('transform')).toEqual(['focus-function:regexp.Compile']);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('arrows walk the flame graph, Enter zooms, words say where', async () => {
    const w = await world.page();
    await w.open(base + profile);
    const p = w.page;
    await p.locator('.flame').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await p.keyboard.press(key);
    await p.waitForTimeout(400);
    expect(new URL(p.url()).searchParams.get('zoom')).not.toBeNull();
    expect(await p.locator('.graph [role=status]').textContent()).toMatch(/total, .+ self, depth 2/);
    await p.keyboard.press('Escape');
    await p.waitForTimeout(300);
    expect(new URL(p.url()).searchParams.get('zoom')).toBeNull();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a diff shows the guilty code first, all columns, and both sides in its title', async () => {
    const w = await world.page();
    await w.open(base + diff);
    expect(await w.page.locator('.side .tr').first().innerText()).toContain('pricing.');
    expect(await w.page.locator('.side .table').evaluate(e => e.scrollWidth <= e.clientWidth)).toBe(true);
    expect(await w.page.title()).toMatch(/run-010.*run-018/);
    await w.close();
  });
});
