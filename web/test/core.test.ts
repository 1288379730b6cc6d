import { describe, expect, it } from 'vitest';
import { chartBoxes, nodeOf } from '../src/core/boxes';
import { around, callers, type Nodes, Upright } from '../src/core/nodes';
import { type Column, decoding, Tree, valuesOf, type Wire } from '../src/core/profile';
import { commitPage } from '../src/core/repository';
import { pattern, search } from '../src/core/search';
import { atOnce, inSteps } from '../src/core/steps';
import { named, none, parts, stride } from '../src/core/table';
import { callees, formatTransform, parseTransform, treeKinds } from '../src/core/transforms';
import { forms } from '../src/flame/label';
import { profile } from '../e2e/made';
import { decode, func, inverted, type Laid, laidOut, randomTree, rowsOf, transformed } from './random';

const sum = (list: Iterable<number>) => [...list].reduce((a, b) => a + b, 0);

describe('trees', () => {
  it('are depth first, siblings by name, each function once', () => {
    for (let seed = 0; seed < 30; seed++) {
      const { table: t } = randomTree(seed);
      const wrong: number[] = [];
      for (let i = 0; i < t.n; i++) {
        const p = t.parent[i]!;
        const next = t.end[i]!;
        if (p >= i || t.depth[i] !== (p === none ? 0 : t.depth[p]! + 1) || (p !== none && t.end[p]! < t.end[i]!)) wrong.push(i);
        if (next < t.n && t.parent[next] === p && t.functions[t.fn[next]!]!.name <= t.functions[t.fn[i]!]!.name) wrong.push(i);
      }
      expect(wrong).toEqual([]);
    }
  });
  it('total what their nodes sum to', () => {
    for (let seed = 0; seed < 30; seed++) {
      const t = randomTree(seed);
      expect(sum(t.self[0]!)).toBe(t.root[0]);
      const roots = new Upright(t).children(none);
      expect(sum(roots.map(r => t.total[0]![r]!))).toBe(t.root[0]);
      expect(sum(rowsOf(t).map(r => r.self[0]!))).toBe(t.root[0]);
      expect(sum(inverted(t).children(none).map(r => inverted(t).total(r, 0)))).toBe(t.root[0]);
    }
  });
  it('say who calls a function and whom it calls, as its trees of callers and callees do', () => {
    for (let seed = 0; seed < 30; seed++) {
      const t = randomTree(seed, 300, 1 + (seed % 2));
      for (let fn = 0; fn < 9; fn++) {
        const set = new Uint8Array(9);
        set[fn] = 1;
        const level = (v: Nodes) =>
          v
            .children(v.children(none).find(r => v.fn(r) === fn) ?? none)
            .map(c => ({ fn: v.fn(c), total: t.self.map((_, side) => v.total(c, side)) }))
            .filter(x => x.total.some(total => total !== 0));
        const near = around(t, fn);
        expect(near.callees).toEqual(level(new Upright(atOnce(callees(t, set)))));
        expect(near.callers).toEqual(level(atOnce(callers(t, set))));
      }
    }
  });
  it('find the child of a function among those that are shown', () => {
    for (let seed = 0; seed < 20; seed++)
      for (const v of [new Upright(randomTree(seed)), inverted(randomTree(seed))])
        for (const node of [none, ...v.children(none)])
          for (let fn = 0; fn < 9; fn++) expect(v.child(node, fn)).toBe(v.children(node).find(c => v.fn(c) === fn) ?? none);
  });
  it('give the functions of the inverted tree their self values', () => {
    const t = randomTree(3);
    const v = inverted(t);
    const self = new Map(rowsOf(t).map(r => [r.fn, r.self[0]]));
    for (const r of v.children(none)) expect(v.self(r, 0)).toBe(self.get(v.fn(r)));
  });
});

describe('answers in columns', () => {
  const packed = (kind: string, list: ArrayBufferView): Column => `${kind}:${Buffer.from(list.buffer).toString('base64')}`;
  it('are packed as the server does', () => {
    for (const [text, want] of [
      ['u1:AP8=', [0, 255]],
      ['u2:AQAAAQ==', [1, 256]],
      ['i4://///w==', [-1]],
      ['f8:AAAAAAAA4D8AAAAAAAAAAA==', [0.5, 0]],
      ['u1:', []],
    ] as const)
      expect([...valuesOf(text)]).toEqual(want);
  });
  it('take few bytes a node, and are read while the page does other things', async () => {
    const made = profile(200_000).columns;
    const depth = new Uint8Array(made.parent.length);
    made.parent.forEach((p, i) => (depth[i] = p === none ? 0 : depth[p]! + 1));
    const columns = { depth: packed('u1', depth), function: packed('u2', new Uint16Array(made.function)), self: packed('u2', new Uint16Array(made.self!)), functions: made.functions };
    const wire: Wire = { profiles: 1, type: 'cpu', unit: 'count', columns };
    const reading = decoding(wire);
    let steps = 0;
    while (!reading.next().done) steps++;
    expect(steps).toBeGreaterThan(depth.length / stride);
    let turns = 0;
    const timer = setInterval(() => turns++);
    const t = await inSteps(decoding(wire));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
    const b = laidOut(new Upright(t), { order: 'name' });
    const { starts, ends, ...boxes } = b;
    const held = new Set([...Object.values(t.table), ...t.self, ...t.total, t.widths, ...Object.values(boxes)].filter(x => ArrayBuffer.isView(x)));
    expect([...held].reduce((sum, x) => sum + x.byteLength, 0) / t.table.n).toBeLessThan(20);
    expect(t.root).toEqual([sum(made.self!)]);
    const { n, end, parent, fn, functions } = t.table;
    let wrong = 0; // siblings that are not in the order of names, of more functions than are sorted at once
    for (let i = 0; i < n; i++) if (end[i]! < n && parent[end[i]!] === parent[i] && functions[fn[end[i]!]!]!.name <= functions[fn[i]!]!.name) wrong++;
    expect(wrong).toBe(0);
    await expect(inSteps(decoding(wire), AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});

describe('transforms', () => {
  it('keep the total or drop samples', () => {
    const keeps = [
      'merge-function',
      'merge-node',
      'collapse-function',
      'collapse-direct-recursion',
      'collapse-recursion',
      'collapse-resource',
    ];
    for (let seed = 0; seed < 20; seed++) {
      const t = randomTree(seed);
      const root = t.table.functions[t.table.fn[0]!]!.name;
      for (const kind of treeKinds) {
        const arg = kind === 'collapse-resource' ? 'm1' : kind === 'merge-function' ? 'p1/q.f4' : root;
        const after = transformed(t, [parseTransform(`${kind}:${arg}`)!]);
        expect(after.root[0], kind).toBeLessThanOrEqual(t.root[0]!);
        if (keeps.includes(kind) && kind !== 'merge-function' && kind !== 'merge-node') expect(after.root[0], kind).toBe(t.root[0]);
      }
    }
  });
  it('do the same twice as once', () => {
    for (let seed = 0; seed < 20; seed++) {
      const t = randomTree(seed);
      for (const text of [
        'merge-function:p1/q.f4',
        'drop-function:p1/q.f4',
        'focus-function:p1/q.f4',
        'collapse-recursion:p1/q.f4',
        'collapse-recursion:*',
        'collapse-function:p1/q.f4',
      ]) {
        const x = parseTransform(text)!;
        const once = transformed(t, [x]);
        const twice = transformed(once, [x]);
        expect([twice.table.n, ...twice.self[0]!]).toEqual([once.table.n, ...once.self[0]!]);
      }
    }
  });
  it('of a list are those of one after the other', () => {
    for (let seed = 0; seed < 20; seed++) {
      const t = randomTree(seed, 200, 2);
      const list = ['collapse-recursion:p0/q.f3', 'merge-function:p1/q.f1', 'focus-function:p2/q.f2'].map(x => parseTransform(x)!);
      const all = transformed(t, list);
      const steps = list.reduce((tree, x) => transformed(tree, [x]), t);
      expect(steps.total.map(v => [...v])).toEqual(all.total.map(v => [...v]));
    }
  });
  it('drop and focus divide the samples', () => {
    for (let seed = 0; seed < 20; seed++) {
      const t = randomTree(seed);
      const [a, b] = ['drop-function:p0/q.f3', 'focus-function:p0/q.f3'].map(x => transformed(t, [parseTransform(x)!]).root[0]!);
      expect(a! + b!).toBe(t.root[0]);
      expect(atOnce(callees(t, named(t.table.functions, 'p0/q.f3'))).root[0]).toBe(b);
    }
  });
  it('read what they write', () => {
    for (const text of [
      'merge-function:a',
      'focus-subtree:a;b\\;c;d\\\\',
      'collapse-recursion@js:x',
      'filter:stack-suffix:y',
      'filter:function-include:a;b',
    ]) {
      expect(formatTransform(parseTransform(text)!)).toBe(text);
    }
    for (const bad of ['', 'nothing:x', 'merge-function:', 'focus-subtree:a;;b', 'filter:marker-search:x'])
      expect(parseTransform(bad)).toBeNull();
  });
});

describe('boxes', () => {
  const orders = ['name', 'width'] as const;
  it('lie inside of their parents and beside each other', () => {
    for (let seed = 0; seed < 6; seed++) {
      for (const v of [
        new Upright(randomTree(seed)),
        inverted(randomTree(seed)),
        new Upright(randomTree(seed, 200, 2)),
        inverted(randomTree(seed, 200, 2)),
      ] as Nodes[]) {
        for (const order of orders) {
          const b = laidOut(v, { order });
          const last = new Map<number, number>();
          const wrong: number[] = [];
          for (let i = 0; i < b.n; i++) {
            const p = b.parent[i]!;
            if (p !== none && (b.starts[i]! < b.starts[p]! - 1e-12 || b.ends[i]! > b.ends[p]! + 1e-12 || b.skip[p]! < b.skip[i]!))
              wrong.push(i);
            if (b.starts[i]! < (last.get(b.depth[i]!) ?? 0) - 1e-12) wrong.push(i);
            last.set(b.depth[i]!, b.ends[i]!);
          }
          expect(wrong).toEqual([]);
        }
      }
    }
  });
  it('by name are the rows of the table, and by width the same in another order', () => {
    for (let seed = 0; seed < 6; seed++) {
      const v = new Upright(randomTree(seed, 2000, 1 + (seed % 2), 40));
      const b = laidOut(v, { order: 'name' });
      expect([b.node, b.skip, b.parent, b.width]).toEqual([null, v.tree.table.end, v.tree.table.parent, v.tree.widths[1]]);
      const wide = laidOut(v, { order: 'width' });
      const sized = (x: Laid) => [...Array(x.n).keys()].map(i => [nodeOf(x, i), x.width[i], x.depth[i], x.fn[i], x.parent[i] === none ? none : nodeOf(x, x.parent[i]!)].join()).sort();
      expect(sized(wide)).toEqual(sized(b));
      for (let i = 0; i < wide.n; i++) {
        const next = wide.skip[i]!;
        if (next < wide.n && wide.parent[next] === wide.parent[i]) expect(wide.width[next]).toBeLessThanOrEqual(wide.width[i]!);
      }
    }
  });
  it('of a chart have parents', () => {
    const { boxes, from, to } = chartBoxes({
      columns: { depth: [0, 0, 1, 1], function: [0, 1, 2, 3], start: [10, 30, 10, 15], end: [30, 40, 15, 30], self: [0, 10, 5, 15] },
    });
    expect([from, to]).toEqual([10, 40]);
    expect([...boxes.parent]).toEqual([-1, 0, 0, -1]);
    expect([...boxes.skip]).toEqual([3, 2, 3, 4]);
  });
});

describe('search', () => {
  it('counts a sample once', () => {
    for (let seed = 0; seed < 20; seed++) {
      const t = randomTree(seed);
      const found = search(t, 'q\\.f[36]$')!;
      expect(found.count).toBe(2);
      const with36 = transformed(t, [parseTransform('filter:function-include:p0/q.f3;p0/q.f6')!]).root[0]!;
      expect(found.share[0]).toBeCloseTo(with36 / t.root[0]!, 12);
    }
  });
  it('takes what is no expression as it is, and small letters for both', () => {
    expect(pattern('(*T').literal).toBe(true);
    expect(pattern('(*t').test('a.(*T).M')).toBe(true);
    expect(pattern('abc').test('ABC')).toBe(true);
    expect(pattern('Abc').test('ABC')).toBe(false);
    expect(search(randomTree(1), '')).toBeNull();
  });
});

describe('names', () => {
  it('have a package', () => {
    for (const [name, kind, want] of [
      ['github.com/acme/cart.(*Engine).Lock', 'go', ['github.com/acme/', 'cart.', '(*Engine).Lock']],
      ['a/b.sort[go.shape.*uint8,c/d.T]', 'go', ['a/', 'b.', 'sort[go.shape.*uint8,c/d.T]']],
      ['runtime.mallocgc', 'go-runtime', ['', 'runtime.', 'mallocgc']],
      ['java.util.HashMap.get', 'java', ['java.util.', 'HashMap.', 'get']],
      ['std::vector<int, std::allocator<int>>::push_back(int)', 'cpp', ['', 'std::vector<int, std::allocator<int>>::', 'push_back(int)']],
      ['main', '', ['', '', 'main']],
    ] as const)
      expect(parts(func(name, { kind }))).toEqual(want);
  });
});

describe('diffs', () => {
  it('are as wide as the larger side, and grey within the noise', () => {
    const t = randomTree(5, 200, 2);
    const [self, total] = t.widths;
    for (let i = 0; i < t.table.n; i++) {
      expect(self![i]).toBe(Math.max(t.self[0]![i]!, t.self[1]![i]!));
      expect(total![i]).toBeGreaterThanOrEqual(Math.max(t.total[0]![i]!, t.total[1]![i]!));
    }
    expect(t.change(100, 110)).toBe(0);
    expect(t.change(100, 160)).toBe(60);
    expect(new Tree(t.table, t.self, 'count').change(100, 101)).toBe(1);
  });
  it('against the history are grey within the band of each call path', () => {
    const t = decode({
      profiles: 1,
      type: 'cpu',
      unit: 'count',
      columns: {
        parent: [-1, 0, 0],
        function: [0, 1, 2],
        baseSelf: [0, 100, 100],
        headSelf: [0, 150, 150],
        significant: [0, 1, 0],
        noisePerValue: [1, 1],
        functions: ['a', 'b', 'c'].map(name => ({ function: name, file: '', module: '', language: '', kind: '' })),
      },
    });
    const v = new Upright(t);
    const change = (n: number) => t.change(v.total(n, 0), v.total(n, 1), v.outside(n));
    expect([0, 1, 2].map(change)).toEqual([0, 50, 0]);
    expect(rowsOf(t).map(r => [r.fn, r.outside])).toEqual([
      [0, false],
      [1, true],
      [2, false],
    ]);
    expect(inverted(t).outside()).toBeUndefined();
  });
  it('name the base name of what was renamed', () => {
    expect(forms({ ...func('b/db.fetch'), baseName: 'a/store.load' })).toEqual(['b/db.fetch (was a/store.load)', 'b/db.fetch', 'db.fetch', 'fetch']);
  });
});

it('commits are links where the address of the repository is known', () => {
  const hash = '579d7113d22a';
  for (const [repository, page] of [
    ['https://github.com/acme/shop', `https://github.com/acme/shop/commit/${hash}`],
    ['git@github.com:acme/shop.git', `https://github.com/acme/shop/commit/${hash}`],
    ['ssh://git@gitlab.acme.org:2222/a/b/shop.git/', `https://gitlab.acme.org/a/b/shop/-/commit/${hash}`],
    ['https://user:secret@github.com/acme/shop', `https://github.com/acme/shop/commit/${hash}`],
    ['https://example.org/acme/shop', ''],
    ['javascript:alert(1)//github.com/x', ''],
    ['/srv/github/shop', ''],
    ['', ''],
  ])
    expect(commitPage(repository, hash), repository).toBe(page);
  expect(commitPage('https://github.com/acme/shop', '"><script>')).toBe('');
});
