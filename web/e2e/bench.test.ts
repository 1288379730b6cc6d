// How long a large profile takes from its columns to the first paint, and to be drawn again:
// `DENDRO_BENCH=1 npm run e2e bench`. Times of the core are processor times, so that they
// mean something on a machine that does other things.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, test } from 'vitest';
import { flameBoxes } from '../src/core/boxes';
import { Upright } from '../src/core/nodes';
import { decoding, functionRows } from '../src/core/profile';
import { atOnce } from '../src/core/steps';
import { profile } from './made';
import { missing, World } from './world';

const wanted = process.env.DENDRO_BENCH;

const median = (list: number[]) => [...list].sort((a, b) => a - b)[list.length >> 1]!;

describe.skipIf(!wanted || missing)('speed', () => {
  const world = new World();
  afterAll(() => world.close());
  for (const [n, sides] of [
    [100_000, 1],
    [1_000_000, 1],
    [1_000_000, 2],
  ] as const) {
    const wire = profile(n, sides);
    test(`of ${n} nodes, ${sides} sides, in Node`, () => {
      const times: Record<string, number[]> = { decode: [], boxes: [], functions: [] };
      for (let i = 0; i < 5; i++) {
        const time = <T>(name: string, run: () => T) => {
          const begin = process.cpuUsage();
          const result = run();
          const { user, system } = process.cpuUsage(begin);
          times[name]!.push((user + system) / 1000);
          return result;
        };
        const tree = time('decode', () => atOnce(decoding(wire)));
        time('boxes', () => atOnce(flameBoxes(new Upright(tree), { order: 'name' })));
        time('functions', () => atOnce(functionRows(tree)));
      }
      report(`${n} nodes, ${sides} sides, processor time`, times);
    }, 120_000);

    test(`of ${n} nodes, ${sides} sides, in a browser`, async () => {
      const path = sides === 1 ? 'tree' : 'diff';
      const data = {
        version: 1,
        title: 'speed',
        start: `/${sides === 1 ? 'profile' : 'diff'}`,
        answers: [{ path, body: { ...wire, profiles: sides === 1 ? 1 : { base: 1, head: 1 }, rootTotal: { base: 1, head: 1 }, notes: [] } }],
      };
      const element = `<script type="application/octet-stream" id="dendro-data">${gzipSync(JSON.stringify(data)).toString('base64')}</script>`;
      const file = world.write(
        'speed.html',
        readFileSync(join(import.meta.dirname, '../dist/report/report.html'), 'utf8').replace('<!--DATA-->', () => element),
      );
      const times: Record<string, number[]> = { 'columns to paint': [], draw: [] };
      for (let i = 0; i < 3; i++) {
        const w = await world.page();
        await w.page.addInitScript(watch);
        await w.open(`file://${file}`);
        await w.page.waitForFunction(() => (window as unknown as Seen).seen.painted > 0, undefined, { timeout: 60_000 });
        await w.page.mouse.move(900, 500);
        for (let k = 0; k < 20; k++) {
          await w.page.keyboard.down('Control');
          await w.page.mouse.wheel(0, k < 10 ? -100 : 100);
          await w.page.keyboard.up('Control');
          await w.page.waitForTimeout(40);
        }
        const seen = await w.page.evaluate(() => (window as unknown as Seen).seen);
        times['columns to paint']!.push(seen.painted - seen.columns);
        times['draw']!.push(...seen.draws.slice(1));
        await w.close();
      }
      report(`${n} nodes, ${sides} sides, in Chromium`, times);
    }, 300_000);
  }
});

interface Seen {
  seen: { columns: number; painted: number; draws: number[] };
}

/** Notes when the columns were there, when the first frame with boxes was through, and how long each frame took. */
function watch() {
  const seen = { columns: 0, painted: 0, draws: [] as number[] };
  (window as unknown as Seen).seen = seen;
  const json = Response.prototype.json;
  Response.prototype.json = async function (this: Response) {
    const value = await json.call(this);
    seen.columns = performance.now();
    performance.mark('columns');
    return value;
  };
  const frame = window.requestAnimationFrame.bind(window);
  const through = new MessageChannel();
  through.port1.onmessage = () => {
    seen.painted = performance.now();
    performance.mark('painted');
  };
  let [boxes, inFrame] = [0, false];
  const fill = CanvasRenderingContext2D.prototype.fillRect;
  CanvasRenderingContext2D.prototype.fillRect = function (...box) {
    fill.apply(this, box);
    if (!this.canvas.closest('.flame') || ++boxes > 1) return;
    if (inFrame) through.port2.postMessage(0);
    else frame(() => through.port2.postMessage(0));
  };
  window.requestAnimationFrame = run =>
    frame(at => {
      const [before, begin] = [boxes, performance.now()];
      inFrame = true;
      run(at);
      inFrame = false;
      if (boxes > before) seen.draws.push(performance.now() - begin);
    });
}

function report(what: string, times: Record<string, number[]>) {
  console.log(`${what}: ${Object.entries(times).map(([k, v]) => `${k} ${median(v).toFixed(1)} ms (least ${Math.min(...v).toFixed(1)})`).join(', ')}`);
}
