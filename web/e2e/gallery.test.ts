// Every page and view on a store with real histories of two languages, at three widths and in two
// themes: no barrier, no error, nothing wider than the window. It takes minutes: `make web-all`
// (DENDRO_ALL) has it, and `make pictures` (DENDRO_GALLERY, a folder), which also writes a picture of
// each, to be looked at. Every check has the pages of pages.test.ts.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gallery, pages, rare, rareServers } from './gallery';
import { missing, World } from './world';

const dir = process.env.DENDRO_GALLERY;
const widths = [
  { width: 1600, height: 900 },
  { width: 1280, height: 720 },
  { width: 390, height: 844 },
];

describe.skipIf(missing || !(dir || process.env.DENDRO_ALL))('every page', () => {
  const world = new World();
  let base = '';
  let others: Record<string, string> = {};
  beforeAll(async () => {
    if (dir) mkdirSync(dir, { recursive: true });
    base = await gallery(world);
    others = await rareServers(world);
  }, 600_000);
  afterAll(() => world.close());

  const all = { ...Object.fromEntries(Object.entries(pages).map(([name, at]) => [name, { at }])), ...rare };
  for (const [name, { of, at, before, after }] of Object.entries(all) as [string, (typeof rare)[string]][])
    test(name, async () => {
      const w = await world.page({ colorScheme: 'light' });
      await before?.(w);
      await w.open((of ? others[of] : base) + at);
      await after?.(w);
      const wide: string[] = [];
      for (const size of widths)
        for (const colorScheme of ['light', 'dark'] as const) {
          await w.page.setViewportSize(size);
          await w.page.emulateMedia({ colorScheme });
          await w.page.waitForTimeout(dir ? 400 : 150);
          if (dir) await w.page.screenshot({ path: join(dir, `${name}-${size.width}-${colorScheme}.png`) });
          const width = await w.page.evaluate(() => document.documentElement.scrollWidth);
          expect(await w.cut(), `${size.width}`).toEqual([]);
          if (width > size.width) wide.push(`${width} in ${size.width}`);
          if (size.width !== 1280 && !(name in rare)) expect(await w.barriers(), `${size.width}, ${colorScheme}`).toEqual([]);
        }
      expect(wide).toEqual([]);
      if (!(name in rare)) expect(w.faults.filter(f => !(name === 'unknown' && /404/.test(f)))).toEqual([]); // refused requests are what some of these show
      await w.close();
    }, 120_000);
});
