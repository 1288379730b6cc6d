import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostile, missing, World } from './world';

if (missing) throw new Error(`The pages are not tested in a browser: ${missing}`);

const demo = 'group=shop&benchmark=checkout';
const addresses: Record<string, string> = {
  home: '/',
  benchmark: `/benchmark?${demo}`,
  benchmarks: '/benchmarks',
  icicle: `/profile?${demo}&type=cpu&last=1`,
  tree: `/profile?${demo}&type=cpu&last=1&view=tree`,
  'bottom-up': `/profile?${demo}&type=cpu&last=1&view=inverted`,
  sandwich: `/profile?${demo}&type=cpu&last=1&view=sandwich`,
  functions: `/profile?${demo}&type=cpu&last=1&view=functions`,
  diff: `/diff?${demo}&type=cpu&last=2`,
  find: '/find?pattern=regexp.*&min-share=1%25&type=cpu',
  function: '/function?function=regexp.MustCompile&type=cpu',
  services: '/services',
  tasks: '/tasks',
  'new task': '/tasks?create=true',
};

/** Pages that have all colours between them: contrasts are measured in the dark too. */
const coloured = ['home', 'benchmark', 'icicle', 'diff', 'new task'];

describe.skipIf(missing)('pages', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    base = (await world.serve('--store', 'demo.duckdb')).http;
  });
  afterAll(() => world.close());

  for (const [name, address] of Object.entries(addresses))
    test(`${name}: no error, no barrier, fits a phone`, async () => {
      const w = await world.page({ colorScheme: 'light' });
      await w.open(base + address);
      expect(await w.barriers()).toEqual([]);
      expect(await w.cut(), 'labels of charts').toEqual([]); // fault 13
      expect(await w.page.locator('input[type^=date], input[type=time]').count()).toBe(0); // fault 12: mm/dd/yyyy
      await w.page.emulateMedia({ colorScheme: 'dark' });
      await w.page.setViewportSize({ width: 390, height: 844 });
      await w.drawn();
      if (coloured.includes(name)) expect(await w.barriers(), 'dark').toEqual([]);
      expect(await w.page.evaluate(() => document.documentElement.scrollWidth), 'wider than the window').toBeLessThanOrEqual(390);
      expect(w.faults).toEqual([]);
      await w.close();
    });

  test('the regression is on the first page, its call path one click away', async () => {
    const w = await world.page();
    await w.open(base);
    const found = w.page.locator('.triage .tr').first();
    expect(await found.innerText()).toContain('MustCompile');
    await found.locator('[role=gridcell]').first().dblclick();
    await w.page.waitForURL(/\/diff/);
    await w.settled();
    expect(new URL(w.page.url()).pathname).toBe('/diff');
    expect(await w.page.locator('h1').innerText()).toContain('base 16 runs, run-001 … run-016');
    await w.page.getByText('regexp.MustCompile').first().waitFor();
    expect(await w.page.locator('aside, .sidebar, .details').first().innerText()).toContain('MustCompile');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the search finds where a function takes more than a share, over all runs', async () => {
    const w = await world.page();
    await w.open(`${base}/`);
    await w.page.keyboard.press('/');
    await w.page.getByRole('dialog', { name: 'Search' }).waitFor();
    await w.page.keyboard.type('compile');
    await w.page.getByRole('option', { name: '*compile*: where they take time' }).click();
    await w.page.waitForURL(/\/find/);
    await w.settled();
    const row = w.page.locator('tbody').first().locator('tr'); // below it are the functions of the pattern
    expect(await row.count()).toBe(1);
    expect(await row.innerText()).toMatch(/shop\/checkout\s+2 of 18\s+2\.1%\s+19\.1%\s+run-018/);
    await w.page.locator('input[name=min-share]').fill('5%');
    await w.page.getByRole('button', { name: 'Find' }).click();
    await w.page.getByText('is below min-share in 54 selected profiles').waitFor();
    await w.page.locator('input[name=in-any-run]').check();
    await w.page.getByRole('button', { name: 'Find' }).click();
    await row.first().waitFor();
    expect(await row.innerText()).toContain('2 of 18');
    await row.getByRole('link', { name: 'run-018' }).click();
    await w.page.waitForURL(/\/profile\?.*run=run-018/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('addresses hold the view; back and forward work', async () => {
    const w = await world.page();
    const address = `/profile?${demo}&type=cpu&last=1&view=functions&q=regexp`;
    await w.open(base + address);
    const shown = await w.page.locator('main').innerText();
    await w.page.reload();
    await w.settled();
    expect(await w.page.locator('main').innerText()).toBe(shown);
    expect(w.page.url()).toBe(base + address);
    await w.page.getByRole('link', { name: 'Services' }).click();
    await w.settled();
    expect(await w.page.title()).toContain('Services');
    await w.page.goBack();
    await w.settled();
    expect(w.page.url()).toBe(base + address);
    expect(await w.page.locator('main').innerText()).toBe(shown);
    await w.page.goForward();
    await w.settled();
    expect(await w.page.title()).toContain('Services');
    await w.close();
  });

  test('everything is reached with the keyboard', async () => {
    const w = await world.page();
    await w.open(base);
    const key = (k: string) => w.page.keyboard.press(k);
    const focused = () =>
      w.page.evaluate(() => document.activeElement?.textContent?.trim() || (document.activeElement as HTMLInputElement)?.placeholder);
    await key('?');
    await w.page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await key('Escape');
    await key('/');
    await w.page.getByRole('dialog', { name: 'Search' }).waitFor();
    expect(await focused()).toContain('benchmark, function, commit');
    await w.page.keyboard.type('checkout');
    await w.page.getByRole('option', { name: /^shop\/checkout/, selected: true }).waitFor();
    await key('Enter');
    await w.page.waitForURL(/\/benchmark\?/);
    await w.settled();
    expect(await w.page.locator('h1').innerText()).toBe('shop/checkout');
    await w.page.getByRole('grid', { name: 'Runs' }).focus();
    await key('ArrowDown');
    await key('Enter');
    await w.page.waitForURL(/\/profile\?.*run=run-018/);
    await w.settled();
    await key('/');
    expect(await focused()).toContain('Search');
    await w.page.keyboard.type('Execute');
    await key('Escape');
    for (const k of ['ArrowDown', 'ArrowDown', 'Enter', 'Escape', '2', '3', '1', 't']) await key(k);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the two newest runs are compared from the page of the benchmark', async () => {
    const w = await world.page();
    await w.open(`${base}/benchmark?${demo}`);
    await w.page.getByLabel('Compare run-018').check();
    await w.page.getByLabel('Compare run-016').check();
    await w.page.getByRole('link', { name: 'Compare run-016 with run-018' }).click();
    await w.settled();
    expect(w.page.url()).toContain('base-run=run-016');
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a finding is accepted for everybody who asks the server, shown struck through, and withdrawn', async () => {
    const w = await world.page();
    await w.open(`${base}/?type=cpu`);
    await w.page.locator('.triage .tr [role=gridcell]').first().click();
    await w.page.getByRole('button', { name: 'Accept…' }).click();
    await w.page.getByLabel('Reason').fill('known');
    await w.page.getByLabel('Your name').fill('Ada');
    await w.page.locator('dialog[open] summary').click();
    expect(JSON.parse(await w.page.locator('dialog[open] pre').innerText())).toMatchObject({ reason: 'known', upTo: expect.closeTo(0.26, 1) });
    expect(await w.barriers()).toEqual([]);
    await w.page.getByRole('button', { name: 'Accept', exact: true }).click();
    await w.page.locator('.tr.accepted').waitFor();
    const check = world.dendro('check', '--store', base, '--type', 'cpu');
    expect(check).toMatch(/passed/);
    expect(world.dendro('regressions', '--store', base, '--type', 'cpu', '-o', 'json')).toContain('"by":"Ada"');
    const other = await world.page();
    await other.open(`${base}/?type=cpu`);
    await other.page.locator('.tr.accepted [role=gridcell]').first().click();
    await other.page.getByText(/by Ada on .*: known/).waitFor();
    await other.page.getByRole('button', { name: 'Withdraw the acceptance' }).click();
    await other.page.locator('.tr:not(.accepted) .more').first().waitFor();
    expect(() => world.dendro('check', '--store', base, '--type', 'cpu')).toThrow();
    expect([...w.faults, ...other.faults]).toEqual([]);
    await w.close();
    await other.close();
  });

  test('a file is shown without being stored, then imported', async () => {
    const w = await world.page();
    const file = world.write('dropped.folded', 'main;load;parse 60\nmain;pay 20\n');
    const profiles = async () => ((await (await fetch(`${base}/api/v1/overview`)).json()) as { profiles: number }).profiles;
    const before = await profiles();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', file);
    await w.page.waitForURL(/profile\?file/);
    await w.settled();
    await w.page.getByText('parse').first().waitFor();
    expect(w.page.url()).toContain('file=dropped.folded');
    expect(await profiles()).toBe(before);
    await w.page.getByRole('button', { name: 'Import or compare…' }).click();
    await w.page.getByLabel('Benchmark', { exact: true }).fill('dropped');
    await w.page.getByLabel('Run (default').fill('r1');
    await w.page.getByRole('button', { name: 'Import', exact: true }).click();
    await w.page.getByRole('dialog', { name: 'Open profiles' }).waitFor({ state: 'detached' });
    await w.page.getByRole('link', { name: 'Changes', exact: true }).click();
    await w.settled();
    await w.page.getByRole('button', { name: /benchmarks?: / }).click();
    await w.page.getByRole('link', { name: 'dropped' }).waitFor();
    expect(await profiles()).toBe(before + 1);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('offline pages make one request and show what was asked for', async () => {
    for (const [args, heading, text] of [
      [['report', '--type', 'cpu', '--write', 'report.html'], '1 regression, 1 improvement in 3 benchmarks', 'MustCompile'],
      [['tree', '--benchmark', 'checkout', '--type', 'cpu', '-o', 'tree.html'], 'checkout', /\d functions/],
      [['top', '--benchmark', 'checkout', '--type', 'cpu', '-o', 'top.html'], 'checkout', /\d functions/],
      [['diff', '--benchmark', 'checkout', '--type', 'cpu', '--last', '2', '-o', 'diff.html'], 'run-017', 'matchRule'],
    ] as const) {
      world.dendro(...args, '--store', base);
      const name = args[args.length - 1]!;
      const w = await world.page({ offline: true });
      await w.open(`file://${join(world.dir, name)}`);
      expect(await w.page.locator('h1').innerText()).toContain(heading);
      await w.page.getByText(text).first().waitFor();
      expect(await w.barriers(), name).toEqual([]);
      if (name === 'report.html') {
        await w.page.locator('.triage .tr [role=gridcell]').first().click();
        await w.page.getByText(/^All of /).click();
        const candidates = w.page.locator('table.candidates').first();
        expect(await candidates.locator('th').allInnerTexts()).toEqual(['Candidate', 'Expected', 'Measured', 'Difference', 'Score', 'Status']);
        expect(await candidates.locator('tbody').textContent()).toContain('+'); // regexp.MustCompile is new
        await candidates.getByRole('button', { name: 'Difference' }).click();
        expect(await candidates.locator('[aria-sort=descending]').innerText()).toBe('Difference');
        expect(await w.page.locator('details.traces').first().textContent()).toMatch(/Traces of.*(Child|Parent) traces \(\d+\)/s);
        await w.page.getByRole('link', { name: 'Diff', exact: true }).click();
        await w.settled();
        await w.page.getByText('matchRule').first().waitFor();
        expect(await w.page.locator('h1').innerText()).toMatch(/base 16 runs, run-001 … run-016\s*→\s*head\s*run-017, run-018/);
        expect(await w.page.locator('.legend').first().innerText()).toContain('sampling noise');
        await w.page.goBack();
        await w.page.getByRole('heading', { name: 'How it was compared' }).waitFor();
        await w.page.evaluate(() => dispatchEvent(new Event('beforeprint')));
        expect(await w.page.locator('.print').textContent()).toContain('Ruled out'); // all evidence is printed
        await w.page.emulateMedia({ media: 'print' });
      }
      expect(
        w.requests.filter(r => !r.startsWith('data:')),
        name,
      ).toHaveLength(1);
      expect(w.faults, name).toEqual([]);
      await w.close();
    }
    expect(readFileSync(join(world.dir, 'report.html'), 'utf8')).not.toContain('MustCompile'); // it is packed data
  });
});

describe.skipIf(missing)('hostile names', () => {
  const world = new World();
  afterAll(() => world.close());

  test('are text on every page and in files', async () => {
    const runs = Array.from({ length: 8 }, (_, i) => ({
      file: world.write(`p${i}.folded`, `${hostile('root')};${hostile('fast')} ${1000 + i}\n${hostile('root')};${hostile('slow')} ${(i >= 6 ? 900 : 300) + (i % 3)}\n`),
      group: hostile('group'),
      benchmark: hostile('benchmark'),
      run: `${hostile('run')} ${i}`,
      date: `2026-01-0${i + 1}T00:00:00Z`,
      commit: hostile('commit'),
      branch: hostile('branch'),
      machine: hostile('machine'),
      attributes: { a: hostile('attr') },
      metrics: [{ name: 'time/op', mean: 100 + (i >= 6 ? 60 : i), unit: 'ms' }],
    }));
    world.dendro('import', '--store', 'x.duckdb', '--manifest', world.write('manifest.json', JSON.stringify(runs)));
    const { http } = await world.serve('--store', 'x.duckdb');
    const w = await world.page();
    const at = new URLSearchParams({ group: hostile('group'), benchmark: hostile('benchmark') });
    for (const path of [
      '/',
      `/benchmark?${at}`,
      `/profile?${at}`,
      `/profile?${at}&view=functions`,
      `/profile?${at}&view=tree`,
      `/diff?${at}&last=2`,
      '/benchmarks',
      '/function',
      `/function?${new URLSearchParams({ function: hostile('slow') })}`,
      `/tasks?${new URLSearchParams({ service: hostile('service') })}`,
      `/?${new URLSearchParams({ q: hostile('q') })}`,
    ]) {
      await w.open(http + path);
      expect(await w.page.locator('main img, main svg[onload]').count(), path).toBe(0);
    }
    world.dendro('report', '--store', http, '--write', 'x.html');
    world.dendro('tree', '--store', http, '-o', 'y.html');
    for (const name of ['x.html', 'y.html']) await w.open(`file://${join(world.dir, name)}`);
    expect(w.faults).toEqual([]);
  });
});

describe.skipIf(missing)('tokens', () => {
  const world = new World();
  afterAll(() => world.close());

  test('log in, and see what the token allows', async () => {
    mkdirSync(join(world.dir, 'empty'));
    const { http } = await world.serve('--store', 'empty/s.duckdb', '--http-token', 'full-0123456789ab', '--read-token', 'read-0123456789ab');
    const w = await world.page();
    const logIn = async (token: string) => {
      await w.page.getByLabel('Token').fill(token);
      await w.page.getByRole('button', { name: 'Log in' }).click();
    };
    await w.page.goto(http);
    await logIn('wrong');
    await w.page.getByText('The token is not this server').waitFor();
    await logIn('read-0123456789ab');
    await w.page.getByText('This store is empty').waitFor();
    expect(await w.page.locator('main h2').allInnerTexts()).toEqual(['This store is empty', 'Drop a profile', 'Record benchmarks', 'Point an SDK here']);
    expect(await w.barriers()).toEqual([]);
    await w.page.getByText('read only').waitFor();
    await w.page.getByRole('link', { name: 'Services' }).click();
    expect(await w.page.getByLabel('Push a profile').innerText()).toContain(`curl --data-binary @cpu.pb.gz "${http}/ingest?name=`); // fault 13: what to do
    await w.page.getByRole('link', { name: 'Slow requests' }).click();
    await w.settled();
    expect(await w.page.locator('.command').innerText()).toBe('SW_AGENT_COLLECTOR_BACKEND_SERVICES=127.0.0.1:11800'); // fault 15: no command that fails
    expect(await w.page.getByRole('form', { name: 'New task' }).count()).toBe(0);
    await w.page.reload();
    await w.settled(); // the session holds
    // Another program of this machine gets nothing from the browser: cookies know no ports.
    const seen: string[] = [];
    const other = createServer((q, a) => {
      seen.push(JSON.stringify(q.headers));
      a.end('<h1>other</h1>');
    }).listen(0, '127.0.0.1');
    const thief = await w.page.context().newPage();
    await thief.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    expect(await thief.evaluate(() => JSON.stringify(localStorage) + document.cookie)).toBe('{}');
    await thief.close();
    other.close();
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.join()).not.toMatch(/cookie|authorization|dendro-session/i);
    const kept = await w.page.evaluate(() => localStorage.getItem('dendro-session'));
    expect(kept).toMatch(/^dendro-session-/);
    const status = async () => (await fetch(`${http}/api/v1/overview`, { headers: { Authorization: `Bearer ${kept}` } })).status;
    expect(await status()).toBe(200);
    await w.page.getByRole('button', { name: 'Log out' }).click();
    await w.page.getByLabel('Token').waitFor();
    expect(await status()).toBe(401); // logging out ends the session on the server
    await logIn('full-0123456789ab');
    await w.page.getByRole('form', { name: 'New task' }).waitFor(); // there are none yet
    await w.page.evaluate(() => {
      const a = document.createElement('a');
      a.href = '/api/v1/openapi.json';
      a.download = 'api.json';
      a.textContent = 'a file';
      document.querySelector('main')!.append(a);
    });
    const arriving = w.page.waitForEvent('download');
    await w.page.getByText('a file').click();
    expect(readFileSync(await (await arriving).path(), 'utf8')).toContain('openapi');
    expect(w.faults.filter(f => !f.includes('401'))).toEqual([]);
  });
});

describe.skipIf(missing)('tasks', () => {
  const world = new World();
  afterAll(() => world.close());

  test('a task is created, followed, and shows where requests spent their time', async () => {
    const { http, grpc } = await world.serve('--store', 'traces.duckdb');
    const shop = await world.start(world.shop(), ['-listen', '127.0.0.1:0'], /http\S+\n/, {
      SW_AGENT_INSTANCE_NAME: 'shop-1',
      SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL: '1',
      SW_AGENT_COLLECTOR_BACKEND_SERVICES: grpc,
    });
    const checkout = `${shop.text.trim()}/checkout`;
    const request = () => execFileSync('curl', ['-sS', checkout]);
    request();
    const w = await world.page();
    await expect
      .poll(
        async () => ((await (await fetch(`${http}/api/v1/endpoints?service=shop`)).json()) as { rows: unknown[] | null }).rows?.length,
        { timeout: 20_000 },
      )
      .toBeGreaterThan(0);
    await w.open(http);
    await w.page.getByRole('link', { name: 'Profile a slow endpoint' }).click();
    const endpoint = w.page.getByLabel('Endpoint');
    await endpoint.fill('check');
    await w.page.locator('#endpoints option[value="GET:/checkout"]').waitFor({ state: 'attached' });
    await endpoint.fill('GET:/checkout');
    await w.page.getByLabel('Duration').selectOption('15');
    await w.page.getByRole('button', { name: 'Create' }).click();
    await w.page.getByRole('heading', { name: 'GET:/checkout' }).waitFor();
    await w.page.getByText('received the task').waitFor({ timeout: 20_000 });
    request();
    await w.page.getByRole('heading', { name: 'Where the requests spent their time' }).waitFor({ timeout: 20_000 });
    const tree = w.page.getByRole('grid', { name: 'functions' });
    await tree.getByText('computeTax').first().waitFor({ timeout: 20_000 });
    expect(await w.barriers()).toEqual([]);
    const top = async (name: string) => (await w.page.getByRole('heading', { name }).boundingBox())!.y;
    expect(await top('Where the requests spent their time')).toBeLessThan(await top('Sampled requests')); // the answer comes first
    expect(await top('Sampled requests')).toBeLessThan(await top('Instances'));
    const second = await world.page();
    await second.open(`${http}/tasks?create=true&service=shop&endpoint=GET:/checkout`);
    await second.page.getByRole('button', { name: 'Create' }).click();
    await second.page.getByText('A task of this service runs already').waitFor();
    await second.page.getByRole('link', { name: 'see the task' }).click();
    await second.page.getByRole('button', { name: 'Stop' }).waitFor();
    await second.close();
    const rows = Number(await tree.getAttribute('aria-rowcount'));
    request();
    request();
    await expect.poll(async () => w.page.locator('.card', { hasText: 'Requests' }).locator('b').innerText(), { timeout: 20_000 }).toBe('3');
    expect(Number(await tree.getAttribute('aria-rowcount'))).toBeGreaterThanOrEqual(rows);
    await tree.getByText('computeTax').first().click();
    const dumps = w.page.getByRole('region', { name: 'Dumps' });
    await dumps.getByRole('heading', { name: /^\d+ dumps? with .*computeTax:\d+$/ }).waitFor();
    expect(await dumps.getByRole('link').count()).toBe(parseInt(await dumps.getByRole('heading').innerText()));
    expect(await dumps.getByRole('link').first().innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
    expect(await w.barriers()).toEqual([]);
    await w.page.getByRole('button', { name: 'GET:/checkout' }).last().click();
    await w.page.getByRole('img', { name: /Stack chart of/ }).waitFor();
    await w.page.getByRole('group', { name: 'Spans' }).getByRole('button').first().click();
    await w.page.getByRole('heading', { name: 'Where this span spent its time' }).waitFor();
    await w.settled();
    expect(await w.barriers()).toEqual([]);
    await w.page.setViewportSize({ width: 390, height: 844 });
    expect(await w.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await w.page.getByRole('button', { name: 'Stop' }).click();
    await w.page.getByText('stopped').first().waitFor();
    expect(w.faults).toEqual([]);
  }, 240_000);
});
