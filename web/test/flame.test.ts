import { describe, expect, it } from 'vitest';
import { Upright } from '../src/core/nodes';
import { none } from '../src/core/table';
import { boxAt, paint, type Scene, visit, type Window, yOf } from '../src/flame/icicle';
import { forms, Labels } from '../src/flame/label';
import { diffBucket, diffSteps, palette } from '../src/flame/palette';
import { Raster } from '../src/flame/raster';
import { row } from '../src/flame/sheet';
import { func, type Laid, laidOut, random, randomTree } from './random';

const window = (more: Partial<Window> = {}): Window => ({
  from: 0,
  to: 1,
  width: 800,
  height: 300,
  top: 0,
  flipped: false,
  rows: 20,
  ...more,
});

/** What is visible, looked at one by one. A box in a parent that is too narrow is too narrow. */
function bruteForce(b: Laid, w: Window): number[] {
  const list = [];
  for (let i = 0; i < b.n; i++) {
    const px = ((b.ends[i]! - b.starts[i]!) / (w.to - w.from)) * w.width;
    const y = yOf(w, b.depth[i]!);
    if (px >= 0.5 && b.ends[i]! > w.from && b.starts[i]! < w.to && y > -row && y < w.height) list.push(i);
  }
  return list;
}

describe('the window', () => {
  it('draws exactly what is visible', () => {
    for (let seed = 0; seed < 12; seed++) {
      const r = random(seed);
      for (const order of ['name', 'width'] as const) {
        const b = laidOut(new Upright(randomTree(seed, 3000, 1 + (seed % 2), 40)), { order });
        for (let k = 0; k < 8; k++) {
          const from = r(1000) / 1000;
          const w = window({
            from,
            to: Math.min(1, from + (1 + r(1000)) / 1000),
            width: 50 + r(900),
            top: r(200),
            flipped: k % 2 === 1,
            rows: Math.max(b.deepest, 16),
          });
          if (w.to <= w.from) continue;
          const drawn: number[] = [];
          visit(b, w, i => drawn.push(i));
          expect(drawn).toEqual(bruteForce(b, w));
        }
      }
    }
  });
  it('covers every pixel whose boxes are too narrow, and says how much they hold', () => {
    for (let seed = 0; seed < 12; seed++) {
      const r = random(seed);
      const b = laidOut(new Upright(randomTree(seed, 3000, 1, 40)), { order: 'name' });
      const from = r(500) / 1000;
      const w = window({ from, to: from + (1 + r(499)) / 1000, width: 20 + r(200), flipped: seed % 2 === 1, rows: Math.max(b.deepest, 16), top: r(60) });
      const covered = new Set<string>();
      const cover = (x: number, to: number, y: number) => {
        for (let px = Math.floor(x); px <= Math.floor(to); px++) covered.add(`${px} ${y}`);
      };
      let parts = 0;
      visit(
        b,
        w,
        (_i, x, y, width) => cover(x, x + width, y),
        (x, y, part) => {
          cover(x, x, y);
          parts += part;
        },
      );
      const scale = w.width / (w.to - w.from);
      const isNarrow = (i: number) => (b.ends[i]! - b.starts[i]!) * scale < 0.5;
      let want = 0;
      for (let i = 0; i < b.n; i++) {
        const y = yOf(w, b.depth[i]!);
        if (b.ends[i]! <= w.from || b.starts[i]! >= w.to || !isNarrow(i) || b.starts[i] === b.ends[i]) continue;
        if (w.flipped ? y <= -row : y >= w.height) continue;
        if (b.parent[i] === none || !isNarrow(b.parent[i]!)) want += (Math.min(b.ends[i]!, w.to) - Math.max(b.starts[i]!, w.from)) / (w.to - w.from);
        const x = Math.max(0, Math.floor((b.starts[i]! - w.from) * scale));
        const near = [x - 1, x, x + 1].some(px => covered.has(`${px} ${y}`)); // a box may begin in one pixel and end in the next
        expect(near, `box ${i} at depth ${b.depth[i]}`).toBe(true);
      }
      expect(parts).toBeCloseTo(want, 9);
    }
  });
  it('finds the box at a point', () => {
    const b = laidOut(new Upright(randomTree(4, 500)), { order: 'name' });
    for (let i = 0; i < b.n; i++) if (b.ends[i]! > b.starts[i]!) expect(boxAt(b, b.depth[i]!, (b.starts[i]! + b.ends[i]!) / 2)).toBe(i);
    expect(boxAt(b, 999, 0.5)).toBe(none);
  });
  it('paints boxes over narrow ones, hits last, and narrow boxes of a pixel once', () => {
    const t = randomTree(9, 4000, 1, 60);
    const boxes = laidOut(new Upright(t), { order: 'name' });
    const found = Uint8Array.from(t.table.functions, (_, i) => (i % 20 === 3 ? 1 : 0));
    const painted = (hits: Uint8Array | null) => {
      const list: number[] = [];
      const w = window({ width: 100, rows: boxes.deepest });
      const raster = new Raster();
      raster.clear(100, 16);
      const pen = {
        box: (x: number, y: number, width: number, colour: number, under?: boolean) => {
          list.push(colour);
          raster.fill(y / row, x, x + width, colour + 1, under);
        },
        boxed: () => list.push(-1),
        text: () => list.push(-2),
      };
      const scene: Scene = { boxes, of: t, functions: t.table.functions, palette: palette('package', false), bucket: i => i % 24, found: hits, flipped: false };
      paint(pen, scene, w, new Labels(t.table.functions, s => s.length * 7));
      return { list, raster, w };
    };
    const plain = painted(null);
    expect(plain.list.length).toBeLessThanOrEqual(16 * 100 * 2);
    const searched = painted(found).list;
    expect(searched.indexOf(24)).toBeGreaterThan(searched.lastIndexOf(25)); // a hit after the last miss
    expect(searched.lastIndexOf(24)).toBeLessThan(searched.indexOf(-1));
    // Of a box of more than a pixel each pixel whose middle it covers, apart from the gap at its end.
    visit(boxes, plain.w, (i, x, y, width) => {
      const pixels = plain.raster.row(y / row);
      if (width > 3) for (let px = Math.round(x); px < Math.round(x + width - 1); px++) expect(pixels[px]).toBe((i % 24) + 1);
    });
    let grey = 0;
    for (let r = 0; r < 16; r++) for (const p of plain.raster.row(r)) if (p === 27) grey++;
    expect(grey).toBeGreaterThan(0);
  });
  it('keeps pixels in their row', () => {
    const raster = new Raster();
    raster.clear(10, 3);
    raster.fill(1, 9.8, 12, 7); // it begins behind the middle of the last pixel
    raster.fill(1, 2.6, 2.9, 5); // it has no middle of a pixel
    raster.fill(1, 2, 5, 1, true);
    expect([...raster.row(0), ...raster.row(2)].every(p => p === 0)).toBe(true);
    expect([...raster.row(1)]).toEqual([0, 0, 1, 5, 1, 0, 0, 0, 0, 7]);
    raster.clear(10, 3);
    expect(raster.row(1).every(p => p === 0)).toBe(true);
  });
});

describe('labels', () => {
  it('keep the method', () => {
    expect(forms(func('github.com/acme/cart.(*Engine).Lock', { kind: 'go' }))).toEqual([
      'github.com/acme/cart.(*Engine).Lock',
      'cart.(*Engine).Lock',
      '(*Engine).Lock',
      'Lock',
    ]);
    expect(forms(func('a.b.C.run', { kind: 'java' }))).toEqual(['a.b.C.run', 'C.run', 'run']);
    expect(forms(func('sortItems/<', { kind: 'js' }))).toEqual(['sortItems/<']);
    expect(forms(func('Reflow http://a.org/page.html', { kind: 'label' }))).toEqual(['Reflow http://a.org/page.html']);
    expect(forms(func('[libxul.so]', { kind: 'native' }))).toEqual(['[libxul.so]']);
    expect(forms(func('std::vector<int, std::allocator<int>>::push_back(int)', { kind: 'cpp' })).at(-1)).toBe('push_back');
    expect(forms(func('net/http.(*conn).serve.func1', { kind: 'go' })).at(-1)).toBe('serve.func1');
    expect(forms(func('a/b.work[go.shape.*uint8]', { kind: 'go' })).at(-1)).toBe('work');
    expect(forms(func('main'))).toEqual(['main']);
    expect(forms(func('finish_task_switch.isra.0', { kind: 'kernel' }))).toEqual(['finish_task_switch.isra.0', 'finish_task_switch']);
    expect(forms(func('shop::Ledger::post(int).part.1.cold', { kind: 'cpp' })).at(-1)).toBe('post');
    expect(forms(func('main.work.func1', { kind: 'go' })).at(-1)).toBe('work.func1');
    expect(forms(func('java.util.regex.Pattern.<init>', { kind: 'java' })).at(-1)).toBe('Pattern.<init>');
  });
  it('fit', () => {
    const list = [func('github.com/acme/cart.(*Engine).Lock', { kind: 'go' })];
    const labels = new Labels(list, s => s.length);
    const got = [40, 20, 15, 8, 3, 2, 1].map(room => labels.fit(0, room));
    expect(got).toEqual(['github.com/acme/cart.(*Engine).Lock', 'cart.(*Engine).Lock', '(*Engine).Lock', 'Lock', 'Lo…', '', '']);
  });
});

it.each(['👩‍💻👩🏽‍🚀work', 'e\u0301e\u0301e\u0301e\u0301', 'नमस्तेनमस्ते', 'a👨‍👩‍👧‍👦bcdefgh'])('a label of %s is cut between letters', name => {
  const letters = Array.from(new Intl.Segmenter().segment(name), s => s.segment);
  const begins = letters.map((_, i) => letters.slice(0, i + 1).join(''));
  const labels = new Labels([func(name)], s => s.length);
  let cut = 0;
  for (let room = 1; room < name.length; room++) {
    const label = labels.fit(0, room);
    expect(label.length).toBeLessThanOrEqual(room);
    if (label.endsWith('…') && ++cut) expect(begins).toContain(label.slice(0, -1));
  }
  expect(cut).toBeGreaterThan(0);
});

describe('colours of a diff', () => {
  it('are grey for no change and strong for all', () => {
    expect([diffBucket(0), diffBucket(-1), diffBucket(1), diffBucket(9)]).toEqual([diffSteps, 0, 2 * diffSteps, 2 * diffSteps]);
    const light = palette('diff', false).fills;
    expect(light[diffSteps]).toBe('#e4e6ea');
    expect(new Set(light).size).toBe(2 * diffSteps + 1);
  });
});
