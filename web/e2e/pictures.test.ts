// Writes the pictures of the documentation: `make pictures`.
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { missing, World } from './world';

const dir = process.env.DENDRO_PICTURES;

describe.skipIf(missing || !dir)('pictures', () => {
  const world = new World();
  afterAll(() => world.close());

  test('of the demo', async () => {
    world.dendro('demo', '--store', 'demo.duckdb');
    const { http } = await world.serve('--store', 'demo.duckdb');
    const w = await world.page({ viewport: { width: 1280, height: 640 } });
    await w.open(http);
    await w.page.locator('.triage .tr [role=gridcell]').first().click();
    await w.page.getByRole('link', { name: 'rule.go:35' }).waitFor(); // the evidence is read
    await w.page.screenshot({ path: join(dir!, 'web-home.png') });
    await w.page.setViewportSize({ width: 1280, height: 720 });
    await w.page.getByRole('link', { name: 'Diff', exact: true }).click();
    await w.settled();
    await w.page.waitForTimeout(300);
    await w.page.screenshot({ path: join(dir!, 'web-diff.png') });
  });
});
