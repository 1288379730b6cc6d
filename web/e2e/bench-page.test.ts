// The page beside speedscope and d3-flame-graph, in turns in one run: `make bench-page`. From the
// drop of a file to the picture with what belongs to it, from the store to the same, how long a
// frame takes while one zooms, and what the page holds in memory then. Beside the time that passed
// stands the processor time of the processes that run and draw the page, which other programs on the
// machine change less. Times decide nothing.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { asNested, asSpeedscope, profile } from './made';
import { d3FlameGraph, type Served, speedscope } from './others';
import { missing, World } from './world';

const rounds = Number(process.env.DENDRO_ROUNDS ?? 3);

interface Program {
  name: string;
  /** The page that is open before. */
  url: () => string;
  /** The file that is dropped; none: the page itself shows it. */
  file?: string;
  /** Whether everything is there, as the source of a function for the page. */
  ready: string;
  /** Zooms by a step, forth or back, as the source of a function for the page. */
  zoom: string;
}

const wheel = (canvas: string) => `forth => {
  const c = ${canvas};
  const r = c.getBoundingClientRect();
  c.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ctrlKey: true, deltaY: forth ? -40 : 40, clientX: r.left + 0.37 * r.width, clientY: r.top + 100 }));
}`;

const dendro = {
  ready: `() => document.querySelector('.flame canvas') && document.querySelector('.side .tr .name')`,
  zoom: wheel(`[...document.querySelectorAll('.flame canvas')].at(-1)`),
};

describe.skipIf(!process.env.DENDRO_BENCH || missing)('the page beside others', () => {
  const world = new World();
  const others: Served[] = [];
  const sizes = [100_000, 1_000_000];
  let base = '';
  beforeAll(async () => {
    for (const n of sizes) {
      const wire = profile(n);
      world.write(`${n}.speedscope.json`, asSpeedscope(wire));
      world.write(`${n}.nested.json`, asNested(wire));
      world.dendro('import', '--benchmark', `b${n}`, '--run', 'r', `${n}.speedscope.json`);
      world.dendro('export', '--benchmark', `b${n}`, '--format', 'pprof', '-o', `${n}.pb.gz`);
    }
    others.push(await speedscope(), await d3FlameGraph());
    base = (await world.serve()).http;
  }, 600_000);
  afterAll(async () => {
    for (const o of others) o.server.close();
    await world.close();
  });

  for (const n of sizes)
    test(`${n} nodes`, async () => {
      const file = join(world.dir, `${n}.pb.gz`);
      const programs: Program[] = [
        { name: 'Dendro, dropped', url: () => base, file, ...dendro },
        { name: 'Dendro, from the store', url: () => `${base}/profile?benchmark=b${n}&last=1`, ...dendro },
        {
          name: 'speedscope',
          url: () => others[0]!.url,
          file,
          ready: `() => document.querySelectorAll('canvas').length >= 3`,
          zoom: wheel(`[...document.querySelectorAll('canvas')].at(-1)`),
        },
        {
          name: 'd3-flame-graph',
          url: () => others[1]!.url,
          file: join(world.dir, `${n}.nested.json`),
          ready: `() => document.querySelector('#chart svg g.frame')`,
          zoom: `forth => {
            const at = performance.now();
            if (at - (window.zoomedAt ?? -1e9) < 800) return; // its animation takes 750 ms
            window.zoomedAt = at;
            const frames = [...document.querySelectorAll('g.frame')];
            const of = forth ? frames.filter(f => f.__data__.depth === 3).sort((a, b) => b.__data__.value - a.__data__.value)[0] : frames.find(f => f.__data__.depth === 0);
            of?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
          }`,
        },
      ];
      const seen = new Map(programs.map(p => [p.name, { ready: [] as number[], readyTime: [] as number[], frames: [] as number[], frameTime: [] as number[], heap: [] as number[] }]));
      for (let round = 0; round < rounds; round++)
        for (const p of programs) {
          const m = await measured(world, p);
          const of = seen.get(p.name)!;
          of.ready.push(m.ready);
          of.readyTime.push(m.readyTime);
          of.frames.push(...m.frames);
          of.frameTime.push(m.frameTime);
          of.heap.push(m.heap);
          console.log(`${n} nodes, round ${round + 1}, ${p.name}: ready ${text(m.ready)} ms (${text(m.readyTime)}), frame ${text(at(m.frames, 0.5))} ms, p95 ${text(at(m.frames, 0.95))} (${text(m.frameTime)}), ${text(m.heap)} MB`);
        }
      console.log(
        [
          `${n} nodes, ${Math.round(readFileSync(file).length / 1e5) / 10} MB as pprof, ${rounds} rounds; ms, in brackets of processor time`,
          '| | ready: median | least to most | frame while zooming: median | p95 | memory, MB |',
          ...[...seen].map(
            ([name, s]) =>
              `| ${name} | ${text(at(s.ready, 0.5))} (${text(at(s.readyTime, 0.5))}) | ${text(at(s.ready, 0))}–${text(at(s.ready, 1))} | ${text(at(s.frames, 0.5), 1)} (${text(at(s.frameTime, 0.5), 1)}) | ${text(at(s.frames, 0.95), 1)} | ${text(at(s.heap, 0.5))} |`,
          ),
        ].join('\n'),
      );
    }, 3_600_000);
});

const text = (x: number, digits = 0) => x.toFixed(digits);

/** A quantile. */
function at(list: readonly number[], q: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

interface Measured {
  ready: number;
  readyTime: number;
  frames: number[];
  frameTime: number;
  heap: number;
}

/** Opens the page of a program once; times in ms, memory in MB. */
async function measured(world: World, p: Program): Promise<Measured> {
  const { page, faults } = await world.page();
  const browser = await page.context().browser()!.newBrowserCDPSession();
  const used = async () => {
    const { processInfo } = (await browser.send('SystemInfo.getProcessInfo')) as { processInfo: { type: string; cpuTime: number }[] };
    return processInfo.filter(i => i.type !== 'browser').reduce((sum, i) => sum + i.cpuTime * 1000, 0);
  };
  await page.addInitScript(`(() => {
    const state = (window.bench = { begin: ${p.file ? 'NaN' : '0'}, end: 0 });
    addEventListener('change', e => { if (e.target.type === 'file') state.begin = performance.now(); }, true);
    const ready = ${p.ready};
    const through = new MessageChannel();
    through.port1.onmessage = () => { state.end = performance.now(); };
    const look = () => {
      if (!Number.isNaN(state.begin) && ready()) requestAnimationFrame(() => through.port2.postMessage(0)); // what it draws in this frame is through
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  })()`);
  let before = await used();
  await page.goto(p.url(), { waitUntil: p.file ? 'networkidle' : 'commit' });
  if (p.file) before = await used();
  if (p.file) await page.setInputFiles('input[type=file]', p.file);
  const state = () => page.evaluate(() => (window as unknown as { bench: { begin: number; end: number } }).bench);
  await page.waitForFunction(() => (window as unknown as { bench: { end: number } }).bench.end > 0, undefined, { timeout: 600_000, polling: 50 }).catch(e => {
    throw new Error(`${p.name}: ${e} ${faults.join('; ')}`);
  });
  const readyTime = (await used()) - before;
  const { begin, end } = await state();
  await page.waitForTimeout(1500); // what follows, as the rest of the boxes
  const still = await used();
  const frames = await page.evaluate<number[]>(`new Promise(done => {
    const zoom = ${p.zoom};
    const list = [];
    let [last, count] = [0, 0];
    const begin = performance.now();
    const step = now => {
      if (last) list.push(now - last);
      last = now;
      if (count === 120 || (count > 20 && now - begin > 10000)) return done(list);
      zoom(count++ % 60 < 30);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
  const frameTime = ((await used()) - still) / frames.length;
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const use = (await client.send('Runtime.getHeapUsage')) as { usedSize: number; backingStorageSize?: number };
  await page.context().close();
  return { ready: end - begin, readyTime, frames, frameTime, heap: (use.usedSize + (use.backingStorageSize ?? 0)) / 1e6 };
}
