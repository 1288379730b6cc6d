// The page beside speedscope and d3-flame-graph, in turns in one run: `make bench-page`. From the
// drop of a file to the picture with what belongs to it, from the store to the same, how long a
// frame takes while one zooms, and what the page holds in memory then. Beside the time that passed
// stands the processor time of the processes that run and draw the page, which other programs on the
// machine change less. Of the page itself also, for each thing that one does, the longest task of its
// main thread, in processor time, and how long a key in the search took to its frame. A wide profile on
// a large screen shows more than 100,000 boxes in every frame. Times decide nothing.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flameBoxes } from '../src/core/boxes';
import { Upright } from '../src/core/nodes';
import { decoding } from '../src/core/profile';
import { atOnce } from '../src/core/steps';
import { paint } from '../src/flame/icicle';
import { Labels } from '../src/flame/label';
import { palette } from '../src/flame/palette';
import { type Pen, row } from '../src/flame/sheet';
import { asNested, asSpeedscope, profile, wide } from './made';
import { d3FlameGraph, type Served, speedscope } from './others';
import { missing, World } from './world';

const rounds = Number(process.env.DENDRO_ROUNDS ?? 3);
/** The programs to measure, as a pattern: speedscope takes minutes. */
const wanted = new RegExp(process.env.DENDRO_PROGRAMS ?? '');

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
  viewport?: { width: number; height: number };
  /** What else one does, in order. */
  actions?: readonly [name: string, run: (page: Page) => Promise<unknown>][];
}

const wheel = (canvas: string, by = 40) => `forth => {
  const c = ${canvas};
  const r = c.getBoundingClientRect();
  c.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ctrlKey: true, deltaY: forth ? -${by} : ${by}, clientX: r.left + 0.37 * r.width, clientY: r.top + 100 }));
}`;

const canvas = `[...document.querySelectorAll('.flame canvas')].at(-1)`;
const dendro = {
  ready: `() => document.querySelector('.flame canvas') && document.querySelector('.side .tr .name')`,
  zoom: wheel(canvas),
  actions: actions(),
};

/** What one does with a graph, from the keys that are typed into the search to an export. */
function actions(): NonNullable<Program['actions']> {
  const menu = (name: string, item: string) => async (page: Page) => {
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('menuitem', { name: item }).or(page.getByRole('menuitemcheckbox', { name: item })).or(page.getByRole('menuitemradio', { name: item })).first().click();
  };
  const key = (k: string) => (page: Page) => page.keyboard.press(k);
  return [
    ['search', async page => page.getByRole('searchbox').pressSequentially('method7', { delay: 150 })],
    ['end of the search', key('Escape')],
    ['selection', async page => page.mouse.click(1000, 300)],
    ['theme', key('t')],
    ['theme back', key('t')],
    ['order by width', menu('Display', 'widest callee first')],
    ['tree', key('3')],
    ['bottom-up', key('4')],
    ['sandwich', key('5')],
    ['functions', key('6')],
    ['sort by name', async page => page.getByRole('button', { name: /functions$/ }).click()],
    ['icicle', key('1')],
    ['collapse recursion', key('r')],
    ['export of the picture', menu('Export', 'SVG')],
    ['export of the table', menu('Export', 'TSV')],
  ];
}

describe.skipIf(!process.env.DENDRO_BENCH || missing)('the page beside others', () => {
  const world = new World();
  const others: Served[] = [];
  const sizes = (process.env.DENDRO_NODES ?? '100000,1000000').split(',').map(Number);
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
      ].filter(p => wanted.test(p.name));
      await compare(`${n} nodes, ${megabytes(file)} MB as pprof`, programs);
    }, 3_600_000);

  test('100,000 boxes in the window', async () => {
    const wire = wide(2400, 64);
    const file = world.write('wide.speedscope.json', asSpeedscope(wire));
    const viewport = { width: 2560, height: 1440 };
    const zoom = wheel(canvas, 4);
    const { page } = await world.page({ viewport });
    await page.goto(base, { waitUntil: 'networkidle' });
    await page.setInputFiles('input[type=file]', file);
    await page.waitForSelector('.flame canvas');
    const { width, height } = await page.evaluate<{ width: number; height: number }>(`${canvas}.getBoundingClientRect().toJSON()`);
    await page.context().close();
    const tree = atOnce(decoding(wire));
    const { functions } = tree.table;
    const boxes = atOnce(flameBoxes(new Upright(tree), { order: 'name' }));
    const drawn = (part: number) => {
      let count = 0;
      const pen = { box: (...[, , , , under]: Parameters<Pen['box']>) => (under ? 0 : count++), boxed() {}, text() {} };
      const rows = Math.max(boxes.deepest, Math.floor(height / row));
      const scene = { boxes, of: tree, functions, palette: palette('owner', false), bucket: () => 0, found: null, flipped: false };
      paint(pen, scene, { from: 0.37 * (1 - part), to: 0.37 + 0.63 * part, width, height, top: 0, flipped: false, rows }, new Labels(functions, s => s.length * 7));
      return count;
    };
    const counts = Array.from({ length: 31 }, (_, step) => drawn(1.0025 ** (-4 * step))); // the steps that zoom in
    expect(Math.min(...counts)).toBeGreaterThan(100_000);
    await compare(
      `${Math.min(...counts)} to ${Math.max(...counts)} boxes drawn on ${width} × ${height} px`,
      [{ name: 'Dendro', url: () => base, file, ready: dendro.ready, zoom, viewport }].filter(p => wanted.test(p.name)),
    );
  }, 600_000);

  /** Measures programs in turns, and prints what each took. */
  async function compare(of: string, programs: readonly Program[]): Promise<void> {
    const seen = new Map(programs.map(p => [p.name, { ready: [] as number[], readyTime: [] as number[], frames: [] as number[], frameTime: [] as number[], heap: [] as number[], blocks: new Map<string, number[]>(), keys: [] as number[] }]));
    for (let round = 0; round < rounds; round++)
      for (const p of programs) {
        const m = await measured(world, p);
        const s = seen.get(p.name)!;
        s.ready.push(m.ready);
        s.readyTime.push(m.readyTime);
        s.frames.push(...m.frames);
        s.frameTime.push(m.frameTime);
        s.heap.push(m.heap);
        s.keys.push(...m.keys);
        for (const [action, length] of m.blocks) s.blocks.set(action, [...(s.blocks.get(action) ?? []), length]);
        console.log(`${of}, round ${round + 1}, ${p.name}: ready ${text(m.ready)} ms (${text(m.readyTime)}), frame ${text(at(m.frames, 0.5))} ms, p95 ${text(at(m.frames, 0.95))} (${text(m.frameTime)}), ${text(m.heap)} MB`);
      }
    console.log(
      [
        `${of}, ${rounds} rounds; ms, in brackets of processor time`,
        '| | ready: median | least to most | frame while zooming: median | p95 | memory, MB |',
        ...[...seen].map(
          ([name, s]) =>
            `| ${name} | ${text(at(s.ready, 0.5))} (${text(at(s.readyTime, 0.5))}) | ${text(at(s.ready, 0))}–${text(at(s.ready, 1))} | ${text(at(s.frames, 0.5), 1)} (${text(at(s.frameTime, 0.5), 1)}) | ${text(at(s.frames, 0.95), 1)} | ${text(at(s.heap, 0.5))} |`,
        ),
        ...[...seen]
          .filter(([, s]) => s.blocks.size > 1)
          .map(
            ([name, s]) =>
              `${name}: longest task, processor time, most of the rounds: ${[...s.blocks].map(([action, list]) => `${action} ${text(at(list, 1))}`).join(', ')}; a key in the search to its frame: p98 ${text(at(s.keys, 0.98))} ms`,
          ),
      ].join('\n'),
    );
  }
});

const megabytes = (file: string) => text(readFileSync(file).length / 1e6, 1);

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
  /** Of each action the longest task of the main thread. */
  blocks: Map<string, number>;
  /** From each key in the search to the frame after it. */
  keys: number[];
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Processor time, µs. */
  tdur?: number;
  args?: { name?: string };
}

/** The longest task of a trace in the thread that runs a page: its processor time in ms. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const thread = (e: TraceEvent) => `${e.pid} ${e.tid}`;
  const main = new Set(traceEvents.filter(e => e.name === 'thread_name' && e.args?.name === 'CrRendererMain').map(thread));
  const tasks = traceEvents.filter(e => /RunTask$/.test(e.name) && main.has(thread(e)));
  if (tasks.length === 0) throw new Error('the trace has no tasks');
  return tasks.reduce((most, e) => Math.max(most, (e.tdur ?? 0) / 1000), 0);
}

/** Opens the page of a program once; times in ms, memory in MB. */
async function measured(world: World, p: Program): Promise<Measured> {
  const { page, faults } = await world.page(p.viewport && { viewport: p.viewport });
  const chromium = page.context().browser()!;
  const browser = await chromium.newBrowserCDPSession();
  const used = async () => {
    const { processInfo } = (await browser.send('SystemInfo.getProcessInfo')) as { processInfo: { type: string; cpuTime: number }[] };
    return processInfo.filter(i => i.type !== 'browser').reduce((sum, i) => sum + i.cpuTime * 1000, 0);
  };
  await page.addInitScript(`(() => {
    const state = (window.bench = { begin: ${p.file ? 'NaN' : '0'}, end: 0 });
    addEventListener('change', e => { if (e.target.type === 'file') state.begin = performance.now(); }, true);
    window.keyed = [];
    new PerformanceObserver(list => window.keyed.push(...list.getEntries().filter(e => e.interactionId).map(e => e.duration))).observe({ type: 'event', durationThreshold: 16 });
    const ready = ${p.ready};
    const through = new MessageChannel();
    through.port1.onmessage = () => { state.end = performance.now(); };
    const look = () => {
      if (!Number.isNaN(state.begin) && ready()) requestAnimationFrame(() => through.port2.postMessage(0)); // what it draws in this frame is through
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  })()`);
  const blocks = new Map<string, number>();
  let before = await used();
  const open = async () => {
    await page.goto(p.url(), { waitUntil: p.file ? 'networkidle' : 'commit' });
    if (p.file) before = await used();
    if (p.file) await page.setInputFiles('input[type=file]', p.file);
    await page.waitForFunction(() => (window as unknown as { bench: { end: number } }).bench.end > 0, undefined, { timeout: 600_000, polling: 50 }).catch(e => {
      throw new Error(`${p.name}: ${e} ${faults.join('; ')}`);
    });
  };
  await open();
  const readyTime = (await used()) - before;
  const { begin, end } = await page.evaluate(() => (window as unknown as { bench: { begin: number; end: number } }).bench);
  await page.waitForTimeout(1500); // what follows, as the list of functions
  const still = await used();
  const zoom = `new Promise(done => {
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
  })`;
  const frames = await page.evaluate<number[]>(zoom);
  const frameTime = ((await used()) - still) / frames.length;
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const use = (await client.send('Runtime.getHeapUsage')) as { usedSize: number; backingStorageSize?: number };
  const keys: number[] = [];
  const all: Program['actions'] = [[p.file ? 'drop' : 'open', open], ['zoom', () => page.evaluate(zoom)], ...(p.actions ?? [])];
  for (const [action, run] of p.actions ? all : []) {
    await page.evaluate('window.keyed.length = 0');
    await chromium.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] });
    await run(page);
    await page.waitForTimeout(1000);
    blocks.set(action, longestTask(await chromium.stopTracing()));
    if (action === 'search') keys.push(...(await page.evaluate<number[]>('window.keyed')));
  }
  await page.context().close();
  return { ready: end - begin, readyTime, frames, frameTime, blocks, keys, heap: (use.usedSize + (use.backingStorageSize ?? 0)) / 1e6 };
}
