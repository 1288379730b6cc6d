// What the list of changes once said wrong, or could not be asked: a test by fault.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { counted, Person } from './person';
import { missing, World } from './world';

const pr = 'feedc0ffee00';

describe.skipIf(missing)('changes', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    const entries: object[] = [];
    const put = (group: string, benchmark: string, run: string, day: number, branch: string, commit: string, slow = 0) => {
      const k = 100 * entries.length % 7;
      const stacks = group === 'java'
        ? `com/acme/Shop.main;com/acme/Shop.list;java/util/Arrays.sort ${600 + slow + k}\ncom/acme/Shop.main;com/acme/Cart.add ${900 - k}\ncom/acme/Shop.main;com/acme/Db.query ${1200 + k}\ncom/acme/Shop.main;com/acme/Mail.send ${800 - k}\n`
        : `main.main;shop.Price ${600 + slow + k}\nmain.main;shop.Load ${900 - k}\nmain.main;shop.Save ${1200 + k}\nmain.main;shop.Send ${800 - k}\n`;
      const type = group === 'java' ? 'wall' : 'cpu';
      entries.push({ file: world.write(`${entries.length}.folded`, stacks), group, benchmark, run, branch, commit, type, date: `2026-10-${day}T00:00:00Z`, operations: 100 });
    };
    for (const [group, names] of [['go', ['load', 'price', 'same', 'save', 'send']], ['java', ['list', 'same']]] as const)
      for (const name of names) {
        for (let i = 0; i < 8; i++) put(group, name, `r${i}`, 10 + i, 'main', `${i}`.repeat(12), group === 'go' && name === 'save' && i > 5 ? 900 : 0);
        put(group, name, 'pr-0', 20, 'pr', 'abad1dea0000', name === 'price' ? 1500 : 0); // an older commit of the pull request
      }
    put('go', 'load', 'pr-1', 21, 'pr', pr);
    put('go', 'send', 'pr-1', 21, 'pr', pr, 900);
    put('java', 'list', 'pr-1', 21, 'pr', pr);
    world.dendro('import', '--store', 'c.duckdb', '--manifest', world.write('all.json', JSON.stringify(entries)));
    base = (await world.serve('--store', 'c.duckdb')).http;
  });
  afterAll(() => world.close());

  test('fault 1: a pull request is a table of benchmarks, which says of each what the API says', async () => {
    const w = await world.page();
    await w.open(base);
    const p = new Person(w);
    await p.click('pr against main', 'link');
    await p.at(/branch=pr/);
    counted(p, 'what a pull request costs');
    const rows = w.page.locator('.triage .tr');
    await rows.filter({ hasText: 'go/send' }).getByText('35 ns/op').waitFor(); // values come after the verdicts
    expect(await w.page.locator('.triage b').first().innerText()).toBe('1 slower, 2 unchanged, 4 not run at feedc0ffee');
    expect(await rows.filter({ hasText: 'go/send' }).innerText()).toMatch(/slower, suspect\s+go\/send\s+35 ns\/op\s+44 ns\/op\s+\+25\.\d%\s+shop\.Price \+[89]\./);
    type Answer = { benchmarks: { group: string; benchmark: string; outcome: { status: string; says: string; title?: string } }[] };
    const { benchmarks } = (await (await fetch(`${base}/api/v1/report?base=main&head=pr`)).json()) as Answer;
    expect(benchmarks.length).toBe(7);
    expect(await rows.count()).toBe(7);
    for (const { group, benchmark, outcome: o } of benchmarks) {
      const text = await rows.filter({ hasText: `${group}/${benchmark}` }).innerText();
      expect(text).toContain(o.status.replace(' at HEAD', ''));
      expect(text).toContain(o.title ?? o.says);
    }
    expect(await w.barriers()).toEqual([]);
    await rows.filter({ hasText: 'go/send' }).getByRole('button', { name: /shop.Price/ }).click(); // the evidence
    await w.page.locator('.panel', { hasText: 'shop.Price' }).waitFor();
    await rows.filter({ hasText: 'go/send' }).getByRole('link').click();
    await w.page.waitForURL(/\/diff\?.*base=main&head=pr&group=go&benchmark=send&type=cpu/);
    await w.page.locator('.flame canvas').first().waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('every page says of each benchmark what the API says', async () => {
    const w = await world.page();
    type Answer = { benchmarks: { group: string; benchmark: string; outcome: { status: string; says: string; since?: { run: string }; title?: string } }[] };
    const { benchmarks } = (await (await fetch(`${base}/api/v1/overview?branch=main`)).json()) as Answer;
    expect(benchmarks.length).toBe(7);
    await w.open(`${base}/benchmarks?branch=main`);
    for (const b of benchmarks) expect(await w.page.getByRole('grid', { name: 'benchmarks' }).locator('.tr', { hasText: `${b.group}/${b.benchmark}` }).innerText(), 'Benchmarks').toContain(b.outcome.says);
    await w.open(`${base}/?branch=main`);
    await w.page.locator('.triage').getByRole('button', { name: /benchmarks?: / }).click();
    for (const b of benchmarks) {
      const text = await w.page.locator('.triage .tr[aria-rowindex]', { hasText: `${b.group}/${b.benchmark}` }).first().innerText();
      expect(text, 'Changes').toContain(b.outcome.status.startsWith('not run') ? 'not run' : b.outcome.status);
      if (b.outcome.since) expect(text, 'Changes').toContain(b.outcome.since.run);
    }
    for (const b of benchmarks) {
      await w.open(`${base}/benchmark?branch=main&group=${b.group}&benchmark=${b.benchmark}`);
      const text = await w.page.locator('main').innerText();
      for (const said of [b.outcome.says, b.outcome.title ?? '', b.outcome.since ? `since ${b.outcome.since.run}` : '']) expect(text, `${b.group}/${b.benchmark}`).toContain(said);
      expect(text).toContain('Newest runs: ');
    }
    const of = (await (await fetch(`${base}/api/v1/report?base=main&head=pr`)).json()) as Answer; // a branch: what the comparison with the base says
    await w.open(`${base}/benchmarks?branch=pr`);
    await w.page.getByText('compared with main').waitFor();
    const rows = await w.page.getByRole('grid', { name: 'benchmarks' }).locator('.tr').allInnerTexts();
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(row).toContain(of.benchmarks.find(b => row.includes(`${b.group}/${b.benchmark}`))!.outcome.says);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the evidence of a change has an address, which survives Back and reload', async () => {
    const w = await world.page();
    await w.open(base);
    const row = w.page.locator('.triage .tr', { hasText: 'go/save' });
    await row.locator('[role=gridcell]').first().click();
    await w.page.waitForURL(/\/c\/[\w-]+$/);
    const address = w.page.url();
    const panel = w.page.locator('.panel', { hasText: 'shop.Price' });
    await panel.waitFor();
    await panel.getByRole('link', { name: 'Diff', exact: true }).click();
    await w.page.waitForURL(/\/diff\?/);
    await w.page.goBack();
    await w.page.waitForURL(address);
    await panel.waitFor();
    await w.page.reload();
    await panel.waitFor();
    await w.page.goBack(); // to the list without it
    await panel.waitFor({ state: 'detached' });
    expect(new URL(w.page.url()).search).toBe('');
    await w.open(`${address}?certainty=accepted`); // a filter of the list does not hide what a link names
    await panel.waitFor();
    await w.open(`${base}/?change=none`);
    await w.page.getByText('No open change has the id none').waitFor();
    expect(w.faults).toEqual([]);
    expect(await w.barriers()).toEqual([]);
    await w.close();
  });

  test('the rows of the choice before are dimmed until the new ones come', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.locator('.triage .tr', { hasText: 'go/save' }).waitFor();
    let release = () => {};
    const held = new Promise<void>(done => (release = done));
    await w.page.route(/\/api\/v1\/report\?/, async route => (await held, route.continue()));
    await w.page.getByLabel('Group').selectOption('java');
    await w.page.getByText('comparing 2 of 7 benchmarks').waitFor();
    const strength = () => w.page.locator('.triage').evaluate(e => Number(getComputedStyle(e).opacity));
    expect(await strength()).toBeLessThan(0.6);
    release();
    await w.page.locator('.comparing').waitFor({ state: 'detached' });
    expect(await strength()).toBe(1);
    expect(await w.page.locator('.triage .tr', { hasText: 'go/save' }).count()).toBe(0);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 2: two commits of a store of two languages are a table of benchmarks, each with its diff', async () => {
    const w = await world.page();
    const row = (name: string) => w.page.locator('.tr', { hasText: name });
    await w.open(`${base}/diff?base-commit=${'7'.repeat(12)}&head-commit=abad1dea0000`); // the address before
    await row('go/price').getByText('/op').first().waitFor();
    expect(w.page.url()).toBe(`${base}/?base=${'7'.repeat(12)}&head=abad1dea0000`);
    expect(await row('go/price').innerText()).toMatch(/slower[^]*\+4\d(\.\d)?%[^]*Price/);
    expect(await row('java/list').innerText()).toMatch(/unchanged/);
    expect(await w.page.locator('.triage b').first().innerText()).toBe('1 slower, 6 unchanged');
    expect(await w.barriers()).toEqual([]);
    await row('java/list').getByRole('link').click();
    await w.page.waitForURL(/group=java&benchmark=list&type=wall/);
    await w.page.locator('.flame canvas').first().waitFor();
    await w.page.goBack();
    await w.page.getByRole('link', { name: 'Merged trees' }).click();
    await w.page.locator('.flame canvas').first().waitFor();
    await w.open(`${base}/diff?base-commit=${'7'.repeat(12)}&head-commit=abad1dea0000&benchmark=same`); // of two groups
    await row('go/same').waitFor();
    await row('java/same').waitFor();
    await w.open(`${base}/?base=${'7'.repeat(12)}&head=abad1dea0000&group=go&benchmark=price`); // of one
    await row('go/price').getByText('/op').first().waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the navigation has three places, and what is shown leads back to its benchmark', async () => {
    const w = await world.page();
    await w.open(base);
    expect(await w.page.getByRole('navigation', { name: 'Sections' }).getByRole('link').allInnerTexts()).toEqual(['Changes', 'Benchmarks', 'Services']);
    await w.open(`${base}/regressions?group=go`);
    await w.page.waitForURL(`${base}/?group=go`);
    const of = 'group=go&benchmark=save';
    for (const page of [`/profile?${of}&last=1`, `/diff?${of}&type=cpu&last=1`, `/function?${of}&function=shop.Price`]) {
      await w.open(base + page);
      expect(await w.barriers(), page).toEqual([]);
      expect(await w.page.locator('h1').innerText(), page).not.toMatch(/go ?\/ ?save/); // fault 15: the heading does not repeat the breadcrumb
      await w.page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'save' }).click();
      await w.page.waitForURL(/\/benchmark\?group=go&benchmark=save/);
    }
    await w.page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Benchmarks' }).click();
    await w.page.getByRole('link', { name: 'Where the time goes' }).click();
    await w.page.getByRole('heading', { name: 'Where the time goes' }).waitFor();
    await w.open(`${base}/profile?${of}&last=1`); // the header of a graph: another run, and what it is compared with
    await w.page.getByRole('button', { name: 'The run before' }).click();
    await w.page.waitForURL(/run=r7/);
    await w.settled();
    await w.page.getByRole('link', { name: 'Compare with…' }).click();
    await w.page.waitForURL(/head=r7/);
    expect(await w.page.getByLabel('head').inputValue()).toBe('r7');
    await w.page.locator('.triage .tr', { hasText: 'go/save' }).waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
