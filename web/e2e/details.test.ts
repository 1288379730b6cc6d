// The details of what is selected in a graph: its lines, and its value types.
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, type Watched, World } from './world';

const root = resolve(import.meta.dirname, '../..');
const demo = join(root, 'app/internal/demo/profiles');

describe.skipIf(missing)('details', () => {
  const world = new World();
  let base = '';
  beforeAll(async () => {
    const store = ['--store', 'd.duckdb'];
    for (const run of ['run-017', 'run-018'])
      world.dendro('import', ...store, '--keep-source', '--group', 'shop', '--benchmark', 'checkout', '--run', run, join(demo, run, 'checkout.pb.gz'));
    base = (await world.serve(...store)).http;
  });
  afterAll(() => world.close());

  /** Selects the hottest function, and asks for its source in the menu of its box. */
  const showSource = async (w: Watched): Promise<string> => {
    const row = w.page.locator('.side .tr[aria-rowindex]').nth(1);
    await row.click({ button: 'right' });
    await w.page.getByRole('menuitem', { name: /Show source/ }).click();
    await w.drawn();
    await w.settled(); // what was shown before is of another function
    const details = w.page.getByRole('complementary', { name: 'Selection' });
    await details.locator('figure.source').first().waitFor();
    return details.innerText();
  };

  test('fault 3: a dropped file shows the lines of a function without leaving the page', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', join(demo, 'run-018/checkout.pb.gz'));
    await w.page.locator('.side .tr').first().waitFor();
    const at = new URL(w.page.url()).pathname;
    await w.page.keyboard.press('l'); // without a selection: of the hottest function
    await w.page.locator('figure.source').first().waitFor();
    expect(new URL(w.page.url()).searchParams.get('sel')).not.toBe(null);
    expect(await showSource(w)).toMatch(/\d+ lines?, self .* total/);
    expect(new URL(w.page.url()).pathname).toBe(at);
    expect(new URL(w.page.url()).searchParams.get('tab')).toBe('source');
    // The text of a file that one opens is beside the amounts.
    const input = w.page.locator('figure.source input[type=file]').first();
    await input.setInputFiles({ name: 'any.go', mimeType: 'text/plain', buffer: Buffer.from(Array.from({ length: 900 }, (_, i) => `text of line ${i + 1}`).join('\n')) });
    await w.page.getByText(/text of line \d+/).first().waitFor();
    expect(await w.barriers()).toEqual([]);
    // Another selection has its own lines.
    const first = await w.page.locator('figure.source').first().innerText();
    await w.page.locator('.side .tr[aria-rowindex]').nth(2).click();
    await w.page.waitForFunction(old => (document.querySelector('figure.source') as HTMLElement | null)?.innerText !== old && !document.querySelector('.sidebar .loading'), first);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 3: a stored run and the head of a diff show lines in the details', async () => {
    const w = await world.page();
    for (const address of ['profile?group=shop&benchmark=checkout&run=run-018', 'diff?group=shop&benchmark=checkout&base-run=run-017&head-run=run-018']) {
      await w.open(`${base}/${address}`);
      await w.page.locator('.side .tr').first().waitFor();
      expect(await showSource(w), address).toMatch(/\d+ lines?, self .* total/);
      expect(await w.barriers()).toEqual([]);
    }
    expect(w.requests.filter(r => /\/lines\?/.test(r)).at(-1)).toMatch(/run=run-018/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 3: a dropped recording has the menu of its value types', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', join(root, 'format/jfr/testdata/ap46-multi.jfr.gz'));
    await w.page.locator('.side .tr').first().waitFor();
    await w.page.locator('.tracks').waitFor();
    await w.page.getByRole('button', { name: /^cpu\b/ }).click();
    await w.page.getByRole('menuitemradio', { name: 'alloc', exact: true }).click();
    await w.page.waitForFunction(() => /type=alloc/.test(location.search));
    await w.page.getByText(/of alloc in 1 profile/).waitFor();
    await w.settled();
    expect(w.requests.filter(r => r.includes('/view?')).length).toBe(2); // the file is sent once for each view of it, with the threads
    expect(await w.page.locator('.head.bar').innerText()).toMatch(/[KMG]i?B/);
    // A file has one time only: there is no history to offer.
    await w.page.locator('.side .tr[aria-rowindex]').nth(1).click({ button: 'right' });
    expect(await w.page.getByRole('menuitem', { name: /History/ }).count()).toBe(0);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('fault 15: a file that is no profile leaves a page that says so, and opens another', async () => {
    const w = await world.page();
    await w.open(base);
    await w.page.setInputFiles('input[type=file]', { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from([0, 1, 2, 3]) });
    await w.page.getByRole('alert').waitFor();
    expect(await w.page.getByRole('heading', { level: 1 }).innerText()).toBe('notes.txt');
    expect(await w.barriers()).toEqual([]);
    await w.page.setInputFiles('input[type=file]', join(demo, 'run-018/checkout.pb.gz'));
    await w.page.locator('.side .tr').first().waitFor();
    // Another one is taken while a file is read.
    const drop = (name: string, text: string) =>
      w.page.evaluate(
        ([name, text]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text!], name!));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        },
        [name, text],
      );
    await w.page.route(/name=slow/, () => {}); // no answer
    await drop('slow.folded', 'main 1\n');
    await w.page.getByLabel('Loading the call tree').waitFor();
    await drop('fast.folded', 'main;work 2\n');
    await w.page.locator('.side .tr', { hasText: 'work' }).waitFor();
    await w.close();
  });

  test('fault 14: a phone has the theme and the help', async () => {
    const w = await world.page({ viewport: { width: 390, height: 844 }, colorScheme: 'light' });
    await w.open(base);
    expect(await w.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await w.page.getByRole('button', { name: 'Dark' }).click();
    expect(await w.page.locator(':root').getAttribute('data-theme')).toBe('dark');
    await w.page.getByRole('button', { name: 'Keyboard help' }).click();
    await w.page.locator('dialog[open]').waitFor();
    expect(await w.barriers()).toEqual([]);
    await w.close();
  });
});
