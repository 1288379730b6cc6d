// The page of a task of a real agent. Package agents starts the server and a shop with the
// agent, and runs this with their addresses: `DENDRO_TEST_REAL=1 go test ./test/agents -run TestTaskPage`.
import { afterAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

const page = process.env.DENDRO_PAGE ?? '';
const shop = JSON.parse(process.env.DENDRO_SHOP ?? '{}') as { url: string; service: string; instance: string; endpoint: string; slow: string };

describe.skipIf(missing || !page)('a real agent', () => {
  const world = new World();
  afterAll(() => world.close());

  test('its task is created in the page, and followed to the merged tree', async () => {
    const request = async () => expect((await fetch(`${shop.url}/checkout`)).ok).toBe(true);
    const w = await world.page();
    await w.open(`${page}/tasks?create=true&service=${encodeURIComponent(shop.service)}`);
    const endpoint = w.page.getByLabel('Endpoint');
    await endpoint.fill(shop.endpoint);
    await w.page.locator(`#endpoints option[value="${shop.endpoint}"]`).waitFor({ state: 'attached' });
    await w.page.getByLabel('Duration').selectOption('15');
    await w.page.getByLabel('Period in ms').fill('20');
    await w.page.getByRole('button', { name: 'Create' }).click();
    await w.page.getByRole('heading', { name: shop.endpoint }).waitFor();
    await w.page.getByText('received the task').waitFor({ timeout: 60_000 });
    expect(Number(await w.page.getByRole('progressbar', { name: 'Time of the task' }).getAttribute('aria-valuenow'))).toBeLessThan(100);

    const card = (title: string) => w.page.locator('.card', { hasText: title }).locator('b').first();
    const number = async (title: string) => Number((await card(title).innerText().catch(() => '0')).replace(/,/g, ''));
    // The agent samples what begins after it has received the task, and five requests in all: the next
    // one is made when the page has had its time to show the last.
    const grows = (what: () => Promise<boolean>) =>
      expect
        .poll(
          async () => {
            await request();
            return expect.poll(what, { timeout: 10_000, interval: 200 }).toBe(true).then(() => true, () => false);
          },
          { timeout: 55_000, interval: 1 },
        )
        .toBe(true);
    await grows(async () => (await number('Requests')) > 0);
    const tree = w.page.getByRole('grid', { name: 'functions' });
    await tree.getByText(shop.slow).first().waitFor({ timeout: 60_000 });
    const [requests, dumps] = [await number('Requests'), await number('Dumps received')];
    expect(dumps).toBeGreaterThan(0);
    await grows(async () => (await number('Requests')) > requests && (await number('Dumps received')) > dumps);
    expect(await w.page.locator('table', { hasText: 'What it did' }).innerText()).toContain(shop.instance);

    await w.page.getByRole('button', { name: shop.endpoint }).last().click();
    await w.page.getByRole('img', { name: /Stack chart of/ }).waitFor({ timeout: 30_000 });
    await w.page.getByRole('group', { name: 'Spans' }).getByRole('button').first().waitFor();
    await tree.getByText(shop.slow).first().waitFor({ timeout: 30_000 });
    if (process.env.DENDRO_PICTURES) await w.page.screenshot({ path: `${process.env.DENDRO_PICTURES}/web-task.png` });
    expect(w.faults).toEqual([]);
  }, 300_000);
});
