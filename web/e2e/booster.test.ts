// Booster, the UI of Apache SkyWalking until version 10, against `dendro serve` with a real
// agent. Package agents starts the server and the shop, and runs this with their addresses and
// the folder of the built UI: `DENDRO_TEST_REAL=1 DENDRO_BOOSTER=… go test ./test/agents -run TestBooster`.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const server = process.env.DENDRO_PAGE ?? '';
const ui = process.env.DENDRO_BOOSTER ?? '';
const shop = JSON.parse(process.env.DENDRO_SHOP ?? '{}') as { service: string; instance: string; endpoint: string; slow: string; spin: string };
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** Serves the UI as its own container does: its files, and requests to the server. */
function serve(): Promise<Server> {
  const s = createServer((q, a) => {
    const path = new URL(q.url!, 'http://ui').pathname;
    if (/^\/(graphql|status|debugging)/.test(path)) {
      const to = request(server + q.url, { method: q.method, headers: q.headers }, r => {
        a.writeHead(r.statusCode!, r.headers);
        r.pipe(a);
      });
      to.on('error', e => a.writeHead(502).end(String(e)));
      q.pipe(to);
      return;
    }
    let file = join(ui, normalize(path));
    if (!existsSync(file) || statSync(file).isDirectory()) file = join(ui, 'index.html');
    a.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(a);
  });
  return new Promise(done => s.listen(0, '127.0.0.1', () => done(s)));
}

describe.skipIf(missing || !server || !ui)('Booster', () => {
  const world = new World();
  let pages: Server;
  let base = '';
  beforeAll(async () => {
    pages = await serve();
    base = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    pages.close();
    await world.close();
  });

  test('its menu leads to services, instances, endpoints, traces and profiles', async () => {
    const w = await world.page();
    const { page } = w;
    const refused: string[] = []; // answers with an error, and messages of the UI
    page.on('response', async r => {
      if (r.status() >= 400) refused.push(`${r.status()} ${r.url()}`);
      else if (r.url().endsWith('/graphql') && (await r.text().catch(() => '')).includes('"errors"')) refused.push(r.request().postData() ?? '');
    });
    await page.exposeFunction('uiSaid', (text: string) => refused.push(text));
    await page.addInitScript(() => {
      new MutationObserver(list => {
        for (const m of list)
          for (const n of m.addedNodes)
            if (n instanceof HTMLElement && n.matches('.el-message--error')) (window as unknown as { uiSaid(t: string): void }).uiSaid(n.innerText);
      }).observe(document, { childList: true, subtree: true });
    });
    const tab = async (name: string) => {
      const i = await page.locator('.tabs input').evaluateAll((list, n) => list.findIndex(e => (e as HTMLInputElement).value === n), name);
      expect(i, `a tab ${name}`).toBeGreaterThanOrEqual(0);
      await page.locator('.tabs input').nth(i).click();
    };
    const shot = async (name: string) => {
      if (process.env.DENDRO_PICTURES) await page.screenshot({ path: `${process.env.DENDRO_PICTURES}/booster-${name}.png` });
    };
    const open = async () => {
      await page.goto(base);
      await page.getByText(shop.service, { exact: true }).first().click();
      await page.locator('.tabs').waitFor();
    };
    const choose = async (placeholder: string, option: string) => {
      await page.locator('.el-select__wrapper', { hasText: placeholder }).locator('visible=true').first().click();
      await page.getByRole('option', { name: option }).locator('visible=true').first().click();
      await page.keyboard.press('Escape');
    };
    const newTask = async (field: string) => {
      await page.getByRole('button', { name: 'New Task' }).click();
      const dialog = page.getByRole('dialog').locator('visible=true');
      await dialog.getByText(field).first().waitFor();
      await dialog.locator('.el-dialog__headerbtn').click();
      await dialog.waitFor({ state: 'detached' });
    };

    await open();
    await page.locator('.el-table').getByText(shop.instance).waitFor();
    await shot('service');
    await tab('Traces');
    await page.locator('.trace-wrapper').getByText('GET:/').locator('visible=true').first().waitFor();
    await shot('traces');

    await tab('Trace profiling');
    await page.locator('.profile-wrapper').getByRole('button', { name: 'Analyze' }).click();
    await page.locator('.thread-stack').getByText(shop.slow).first().waitFor();
    await shot('trace-profiling');
    await newTask('Max Sampling Count');

    await tab('async-profiler');
    await page.locator('.profile-task-list .profile-td, .profile-wrapper td').first().click(); // its progress fills the selectors
    await choose('Select instances', shop.instance);
    await choose('Select a event', 'CPU');
    await page.getByRole('button', { name: 'Analyze' }).click();
    await page.locator('.d3-flame-graph-label', { hasText: shop.spin }).first().waitFor({ state: 'attached' });
    await shot('async-profiler');
    await newTask('ITIMER');

    await tab('pprof');
    await newTask('Create Task');
    await shot('pprof');

    for (const [list, name] of [
      ['Instances', shop.instance],
      ['Endpoints', shop.endpoint],
    ] as const) {
      await open();
      await tab(list);
      await page.locator('.el-table').getByText(name, { exact: true }).first().click();
      await page.locator('.profile-wrapper').getByText(shop.endpoint).first().waitFor();
      await tab('Traces');
      await page.locator('.trace-wrapper').getByText('GET:/').locator('visible=true').first().waitFor();
      await shot(list);
    }

    for (const [path, text] of [
      ['/dashboard/list', 'ServiceInstance'],
      ['/marketplace', 'Services that report to Dendro'],
      ['/alerting', ''],
      ['/settings', 'Cluster Nodes'],
    ] as const) {
      await page.goto(base + path);
      if (text) await page.getByText(text).first().waitFor();
    }
    await page.getByText('TTL', { exact: true }).click();
    await page.getByText('Browser Error Log').waitFor();
    expect(refused).toEqual([]);
    expect(w.faults).toEqual([]);
  }, 300_000);
});
