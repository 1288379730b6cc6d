// A store with what real ones have, and the addresses of every page and view of it: the example with
// its pull request, real histories of two languages with several branches, recordings with threads,
// heaps, a dump, and a trace task.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { push, type World } from './world';

const root = resolve(import.meta.dirname, '../..');
const real = join(root, 'test/detection/testdata/real');

interface Score {
  score: number;
  wall_ns_per_op: number;
  ops: number;
  started_unix: number;
  epoch: string;
}

/** The runs of a real history as a manifest: the unchanged ones, the last with a plant, and a pull request. */
function history(group: string, benchmark: string, changed: string): object[] {
  const dir = join(real, group, benchmark);
  const read = JSON.parse(readFileSync(join(dir, 'scores.json'), 'utf8')) as { runs?: Record<string, Score> } & Record<string, Score>;
  const all: Record<string, Score> = read.runs ?? read;
  const names = (folder: string) => Object.keys(all).filter(n => n.startsWith(`${folder}/`)).sort();
  const run = (name: string, run: string, branch: string, commit: string, later: number) => {
    const s = all[name]!;
    return {
      file: join(dir, `${name}.collapsed.gz`),
      run: `${group}-${run}`,
      group,
      benchmark,
      branch,
      commit: commit.repeat(20),
      machine: `ci-${s.epoch}`,
      date: new Date((s.started_unix + later) * 1000).toISOString(),
      operations: s.ops,
      metrics: [
        { name: 'cpu/op', mean: s.score, unit: 'ns/op' },
        { name: 'wall/op', mean: s.wall_ns_per_op, unit: 'ns/op' },
      ],
    };
  };
  return [
    ...names('history').map((n, i) => run(n, n.slice(-3), 'main', (16 + i).toString(16), 60 * i)),
    ...names(`test-${changed}`).map((n, i) => run(n, n.replace('/', '-'), 'main', 'e5', 7200 + 60 * i)),
    ...names('test-A20').slice(-2).map((n, i) => run(n, n.replace('/', '-'), 'feature/fast-path', 'f1', 14400 + 60 * i)),
  ];
}

/** Fills a store, and serves it: the address. */
export async function gallery(world: World): Promise<string> {
  const store = ['--store', 'gallery.duckdb'];
  world.dendro('demo', ...store);
  const runs = [
    ...history('go126-text', 'json.orders', 'B40'),
    ...history('jvm17-json', 'json.parse_catalog', 'B40'),
    ...history('jvm25-search', 'sql.join', 'clean'),
  ];
  world.dendro('import', ...store, '--manifest', world.write('manifest.json', JSON.stringify(runs)));
  for (const [benchmark, file] of [
    ['shop', 'jfr/testdata/ap46-multi.jfr.gz'],
    ['firefox', 'firefox/testdata/firefox-153-raw.json.gz'],
    ['dump', 'threaddump/testdata/jstack-jdk17.txt.gz'],
  ] as const)
    world.dendro('import', ...store, '--keep-source', '--group', 'recordings', '--benchmark', benchmark, '--run', 'r1', join(root, 'format', file));
  const base = (await world.serve('--continuous', ...store)).http;
  const now = Math.floor(Date.now() / 1000);
  for (let hours = 30; hours > 2; hours--) await push(base, `run-${String(1 + (hours % 16)).padStart(3, '0')}`, '1.2.3', now - hours * 3600);
  for (let quarters = 8; quarters > 0; quarters--) await push(base, quarters % 2 ? 'run-017' : 'run-018', '1.3.0', now - quarters * 900); // long enough to be judged
  return base;
}

const demo = 'group=shop&benchmark=checkout';
const java = 'group=jvm17-json&benchmark=json.parse_catalog';
const go = 'group=go126-text&benchmark=json.orders';

/** Every page and view, by a name for its picture. */
export const pages: Record<string, string> = {
  home: '/',
  benchmark: `/benchmark?${demo}`,
  'benchmark-java': `/benchmark?${java}`,
  'benchmark-go': `/benchmark?${go}`,
  benchmarks: '/benchmarks',
  graph: `/profile?${demo}&type=cpu&last=1`,
  'graph-java': `/profile?${java}&last=1`,
  tree: `/profile?${demo}&type=cpu&last=1&view=tree`,
  'bottom-up': `/profile?${java}&last=1&view=inverted`,
  sandwich: `/profile?${java}&last=1&view=sandwich`,
  functions: `/profile?${java}&last=1&view=functions`,
  threads: '/profile?group=recordings&benchmark=firefox',
  'over-time': '/profile?group=recordings&benchmark=firefox&view=stack-chart',
  recording: '/profile?group=recordings&benchmark=shop',
  dump: '/profile?group=recordings&benchmark=dump',
  'two-sides': '/?branch=feature/fast-path',
  diff: `/diff?${demo}&type=cpu&last=2`,
  'diff-java': `/diff?${java}&last=2`,
  'diff-functions': `/diff?${java}&last=2&view=functions`,
  function: '/function?function=regexp.MustCompile&type=cpu',
  'function-java': `/function?${java}&function=shop.json.ParseCatalog.op`,
  find: '/find?pattern=regexp.MustCompile&type=cpu',
  bottlenecks: '/bottlenecks',
  'functions-over-time': `/functions?${java}`,
  services: '/services',
  service: '/services?service=shop.api',
  tasks: '/tasks',
  'new-task': '/tasks?create=true',
  unknown: '/nosuch',
};
