// A store with what real ones have, and the addresses of every page and view of it: the example with
// its pull request, real histories of two languages with several branches, recordings with threads,
// heaps, a dump, and a trace task.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { push, type Watched, type World } from './world';

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

/** A server with a task of a real agent, some of whose requests were sampled. */
async function traced(world: World): Promise<string> {
  const { http, grpc } = await world.serve('--store', 'traces.duckdb');
  const agent = { SW_AGENT_INSTANCE_NAME: 'shop-1', SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL: '1', SW_AGENT_COLLECTOR_BACKEND_SERVICES: grpc };
  const shop = await world.start(world.shop(), ['-listen', '127.0.0.1:0'], /http\S+\n/, agent);
  const request = () => fetch(`${shop.text.trim()}/checkout`);
  const rows = async (path: string, n: number) => {
    for (let tries = 0; tries < 60; tries++, await new Promise(done => setTimeout(done, 500)))
      if (((await (await fetch(`${http}/api/v1/${path}`)).json()) as { rows?: unknown[] }).rows?.length! >= n) return;
    throw new Error(`${path}: fewer than ${n} rows`);
  };
  await request();
  await rows('endpoints?service=shop', 1);
  const task = { service: 'shop', endpoint: 'GET:/checkout', duration: 60_000, period: 10, minDuration: 0, maxSegments: 5 };
  await fetch(`${http}/api/v1/tasks`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(task) });
  await rows('tasks/last/logs', 1);
  for (let k = 0; k < 3; k++) await request();
  await rows('tasks/last/segments', 3);
  return http;
}

/** The servers of what is rare, by what they hold. */
export async function rareServers(world: World): Promise<Record<string, string>> {
  const now = Math.floor(Date.now() / 1000);
  const name = `std::_Rb_tree<${'std::basic_string<char>, '.repeat(14)}std::less<void>>::_M_insert_unique_node(unsigned long)`; // of 400 letters
  const run = (k: number) => world.write(`long-${k}.folded`, `main;shop::Handler::serve();${name} ${300 + (k > 8 ? 200 : 0) + k}\nmain;${'com.acme.shop.'.repeat(28)}Cart.total ${400 + k}\n`);
  for (let k = 0; k < 12; k++) world.dendro('import', '--store', 'long.duckdb', '--group', 'odd', '--benchmark', 'long', '--run', `r${k}`, '--branch', 'main', '--operations', '1000', '--date', `2026-10-${10 + k}T00:00:00Z`, run(k));
  world.dendro('import', '--store', 'one.duckdb', '--benchmark', 'only', '--run', 'r1', world.write('one.folded', 'main;work 10\nmain;rest 5\n'));
  for (const r of ['r1', 'r2', 'r3', 'r4']) {
    const dir = join(world.dir, r, 'go');
    mkdirSync(dir, { recursive: true });
    for (let n = 0; n < 5000; n++)
      writeFileSync(join(dir, `bench-${String(n).padStart(4, '0')}.folded`), `main.main;shop.Price ${300 + (n % 50 === 7 && r > 'r2' ? 300 : n % 9)}\nmain.main;shop.Load;regexp.Compile ${200 + (n % 7)}\n`);
    world.dendro('import', '--store', 'many.duckdb', '--operations', '1000', '--layout', '{group}/{benchmark}.{ext}', '--run', r, '--branch', 'main', '--date', `2026-10-1${r[1]}T00:00:00Z`, r);
  }
  world.dendro('report', '--store', 'long.duckdb', '--write', 'report.html');
  world.dendro('tree', '--store', 'long.duckdb', '--last', '1', '-o', 'tree.html');
  const serve = async (...args: string[]) => (await world.serve(...args)).http;
  const services = await serve('--continuous', '--store', 'services.duckdb');
  for (let hours = 30; hours > 0; hours--) await push(services, `run-${String(1 + (hours % 16)).padStart(3, '0')}`, '1.2.3', now - hours * 3600);
  return {
    long: await serve('--store', 'long.duckdb'),
    one: await serve('--store', 'one.duckdb'),
    many: await serve('--store', 'many.duckdb'),
    services,
    empty: await serve('--store', 'empty.duckdb'),
    traced: await traced(world),
    files: `file://${world.dir}`,
    token: await serve('--store', 'token.duckdb', '--http-token', 'full-0123456789ab', '--read-token', 'read-0123456789ab'),
  };
}

const graphAt = `/profile?${demo}&type=cpu&last=1`;

const answers = (status: number, title: string, detail: string) => (w: Watched) =>
  w.page.route(/api\/v1\/(report|overview|tree)/, r => r.fulfill({ status, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title, status, detail }) }));

interface Rare {
  /** One of the servers of what is rare; by default that of the gallery. */
  of?: string;
  at: string;
  before?: (w: Watched) => Promise<unknown>;
  after?: (w: Watched) => Promise<unknown>;
}

/** What is rare: states of pages that no address has, and stores that few have. */
export const rare: Record<string, Rare> = {
  'sign-in': { of: 'token', at: '/' },
  'wrong-token': { of: 'token', at: '/', after: async w => (await w.page.getByLabel('Token').fill('wrong'), await w.page.getByRole('button', { name: 'Log in' }).click(), await w.page.getByText('The token is not').waitFor()) },
  'read-only': { of: 'token', at: '/', after: async w => (await w.page.getByLabel('Token').fill('read-0123456789ab'), await w.page.getByRole('button', { name: 'Log in' }).click(), await w.page.getByText('read only').waitFor()) },
  'error-403': { at: '/', before: answers(403, 'Not allowed', 'this token may read only') },
  'error-422': { at: graphAt, before: answers(422, 'The selection has several value types', 'choose one of cpu, alloc_space') },
  'error-413': { at: graphAt, before: answers(413, 'The answer is too large', 'the tree has 12,345,678 call nodes, more than 5,000,000; narrow the selection with --last or --benchmark') },
  'error-500': { at: '/', before: answers(500, 'Internal error', 'the store cannot be read: I/O error') },
  'server-gone': { at: '/', before: w => w.page.route('**/api/v1/**', r => r.abort()) },
  'server-left': { at: '/benchmarks', after: async w => (await w.page.route('**/api/v1/**', r => r.abort()), await w.page.getByRole('link', { name: 'Changes' }).click(), await w.page.getByText('does not answer').first().waitFor()) },
  empty: { of: 'empty', at: '/' },
  'empty-benchmarks': { of: 'empty', at: '/benchmarks' },
  'empty-services': { of: 'empty', at: '/services' },
  'services-only': { of: 'services', at: '/', after: w => w.page.getByText('No service has two releases').waitFor() },
  'one-home': { of: 'one', at: '/' },
  'one-benchmark': { of: 'one', at: '/benchmark?benchmark=only' },
  'many-home': { of: 'many', at: '/' },
  'many-benchmarks': { of: 'many', at: '/benchmarks' },
  'long-home': { of: 'long', at: '/' },
  'long-graph': { of: 'long', at: '/profile?group=odd&benchmark=long&last=1', after: w => w.page.locator('.side .tr').nth(1).click() },
  'long-functions': { of: 'long', at: '/profile?group=odd&benchmark=long&last=1&view=functions' },
  'long-bottlenecks': { of: 'long', at: '/bottlenecks' },
  report: { of: 'files', at: '/report.html' },
  'report-graph': { of: 'files', at: '/tree.html' },
  'traced-services': { of: 'traced', at: '/services' },
  'traced-tasks': { of: 'traced', at: '/tasks' },
  task: { of: 'traced', at: '/task?task=last', after: w => w.page.locator('.framed .side .tr').nth(2).click() },
  'task-request': { of: 'traced', at: '/task?task=last', after: async w => (await w.page.getByRole('button', { name: 'GET:/checkout' }).last().click(), await w.page.getByRole('img', { name: /Stack chart of/ }).waitFor()) },
  evidence: { at: '/', after: async w => (await w.page.locator('.triage .tr').first().click(), await w.page.getByRole('complementary', { name: 'Evidence' }).waitFor()) },
  'evidence-java': { at: '/?group=jvm17-json', after: async w => (await w.page.locator('.triage .tr').first().click(), await w.page.getByRole('complementary', { name: 'Evidence' }).waitFor()) },
  lines: { at: `/profile?group=recordings&benchmark=firefox`, after: async w => (await w.page.keyboard.press('l'), await w.page.locator('.sidebar.of-lines').waitFor()) },
  'history-lines': { at: `/function?${demo}&function=regexp.MustCompile&type=cpu&lines=true`, after: w => w.page.locator('details', { hasText: 'Lines' }).last().scrollIntoViewIfNeeded() },
  selected: { at: graphAt, after: w => w.page.locator('.side .tr').nth(3).click() },
  search: { at: '/', after: async w => (await w.page.keyboard.press('/'), await w.page.keyboard.type('match'), await w.page.locator('.search [role=option]').first().waitFor()) },
  help: { at: graphAt, after: w => w.page.keyboard.press('?') },
  menu: { at: graphAt, after: w => w.page.locator('.side .tr').nth(3).click({ button: 'right' }) },
  accept: { at: '/', after: async w => (await w.page.locator('.triage .tr').first().click(), await w.page.getByRole('button', { name: 'Accept…' }).click()) },
  broken: { at: '/', after: w => w.page.setInputFiles('input[type=file]', { name: 'broken.pb.gz', mimeType: '', buffer: Buffer.from('\x1f\x8b no profile') }) },
  import: { at: '/', after: w => w.page.setInputFiles('input[type=file]', [1, 2, 3].map(k => ({ name: `${k}.folded`, mimeType: '', buffer: Buffer.from('main;work 10') }))) },
};
