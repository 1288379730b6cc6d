// From a finding to the changed line of code: a server that was started for a repository.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing, World } from './world';

/** A profile in the text of pprof -raw, with lines. */
const raw = (slow: number, fast: number) => `PeriodType: cpu nanoseconds
Period: 1000000
Samples:
samples/count cpu/nanoseconds
          ${slow}   ${slow}000000: 1 3
          ${fast}   ${fast}000000: 2 3
Locations
     1: 0x11 M=1 main.slow ${'/src/app/main.go'}:5:0 s=4
     2: 0x22 M=1 main.fast ${'/src/app/main.go'}:9:0 s=8
     3: 0x33 M=1 main.main ${'/src/app/main.go'}:13:0 s=12
Mappings
1: 0x0/0x100/0x0 app
`;

describe.skipIf(missing)('source', () => {
  const world = new World();
  let base = '';
  let repo = '';
  beforeAll(async () => {
    repo = join(world.dir, 'app');
    mkdirSync(repo);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-C', repo, ...args], { encoding: 'utf8' }).trim();
    git('init', '-q', '-b', 'main');
    const commit = (body: string, subject: string) => {
      writeFileSync(join(repo, 'go.mod'), 'module app\n');
      writeFileSync(join(repo, 'main.go'), `package main\n\n\nfunc slow() {\n\t${body} // <img src=x onerror=alert(1)>\n}\n\nfunc fast() {\n}\n\n\nfunc main() {\n\tslow()\n}\n`);
      git('add', '.');
      git('commit', '-q', '-m', subject);
      return git('rev-parse', 'HEAD');
    };
    const good = commit('once()', 'first');
    const bad = commit('once(); again()', 'parse twice');
    for (let i = 0; i < 9; i++) {
      const slow = i < 7 ? 300 + (i % 3) : 900 + i;
      world.dendro('import', '--store', 's.duckdb', '--keep-source', '--run', `r${i}`, '--date', `2026-10-1${i}`, '--branch', 'main', '--commit', i < 7 ? good : bad, '--group', 'app', '--benchmark', 'Parse', '--metric', `time/op=${1000 + slow}ns/op`, '--progress', 'none', world.write(`p${i}.txt`, raw(slow, 700 + (i % 4))));
    }
    base = (await world.serve('--store', 's.duckdb', '--code', repo)).http;
  });
  afterAll(() => world.close());

  test('from Home to the changed line is one click; the finding can be reproduced and told', async () => {
    const w = await world.page();
    await w.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await w.open(`${base}/?type=cpu`);
    await w.page.locator('.triage .tr', { hasText: 'main.slow' }).locator('[role=gridcell]').first().click();
    await w.page.locator('.panel .changed .added', { hasText: 'again()' }).waitFor();
    expect(await w.page.locator('.panel').innerText()).toMatch(/parse twice \(Ada\)/);
    expect(await w.barriers()).toEqual([]);
    await w.page.getByRole('button', { name: 'Reproduce' }).click();
    expect(await w.page.evaluate(() => navigator.clipboard.readText())).toMatch(/^dendro bench --base [0-9a-f]{40} --head [0-9a-f]{40} --count 4 -- go test -bench '\^Parse' \.\/\.\.\.$/);
    await w.page.getByRole('button', { name: 'Issue' }).click();
    expect(await w.page.evaluate(() => navigator.clipboard.readText())).toMatch(/^# `app\/Parse`: \+[\d.]+% in `main\.slow[\s\S]*parse twice[\s\S]*dendro bench/);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('lines have self and total beside their text, which needs the right to change', async () => {
    const w = await world.page();
    await w.open(`${base}/function?function=main.slow&type=cpu&lines=true`);
    const row = w.page.locator('.source tr', { hasText: 'again()' });
    expect(await row.innerText()).toMatch(/908 ms\s+908 ms\s+5\s+once\(\); again\(\)/);
    expect(await w.barriers()).toEqual([]);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('a server without a repository shows lines beside the text of a file that one opens', async () => {
    world.dendro('import', '--store', 'none.duckdb', '--keep-source', '--run', 'r', '--group', 'app', '--benchmark', 'Parse', '--progress', 'none', world.write('one.txt', raw(300, 700)));
    const { http } = await world.serve('--store', 'none.duckdb');
    const w = await world.page();
    await w.open(`${http}/function?function=main.slow&type=cpu&lines=true`);
    await w.page.getByText('Drop main.go here or open it').waitFor();
    expect(await w.barriers()).toEqual([]);
    await w.page.locator('.source input[type=file]').setInputFiles(join(repo, 'main.go'));
    const row = w.page.locator('.source tr', { hasText: 'again()' });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/300 ms\s+300 ms\s+5\s+once\(\); again\(\) \/\/ <img/);
    expect(await w.page.locator('.source tbody tr').count()).toBe(7); // three lines around it
    await w.page.getByRole('button', { name: 'Close it' }).click();
    await w.page.getByText('Drop main.go here or open it').waitFor();
    expect(w.faults).toEqual([]);
    await w.close();
  });

  /** A repository with a commit per list of changed files; returns their hashes. */
  const repository = (name: string, ...states: ((dir: string) => void)[]) => {
    const dir = join(world.dir, name);
    mkdirSync(dir);
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-C', dir, ...args], { encoding: 'utf8' }).trim();
    git('init', '-q', '-b', 'main');
    git('remote', 'add', 'origin', 'git@github.com:acme/shop.git');
    const commits = states.map((change, i) => {
      change(dir);
      git('add', '.');
      git('commit', '-q', '-m', i === 0 ? 'first' : 'second');
      return git('rev-parse', 'HEAD');
    });
    return { dir, commits };
  };
  const project = join(import.meta.dirname, '../..');

  test('from Home to the changed line of the demo it is one click, and one more to its page', async () => {
    const workload = join(project, 'test/demo/workload');
    const { dir, commits } = repository(
      'demo',
      d => cpSync(workload, d, { recursive: true }),
      d => {
        const file = join(d, 'pricing/rule.go');
        writeFileSync(file, readFileSync(file, 'utf8').replace('pattern := cache.lookup(r.pattern)', 'pattern := (*regexp.Regexp)(nil)'));
      },
    );
    const profiles = join(project, 'app/internal/demo/profiles');
    const list = JSON.parse(readFileSync(join(profiles, 'manifest.json'), 'utf8')).profiles ?? JSON.parse(readFileSync(join(profiles, 'manifest.json'), 'utf8'));
    for (const r of (list as { file: string; run: string; benchmark: string; date: string; operations: number; metric: { mean: number } }[]).filter(r => r.benchmark === 'checkout').slice(-10))
      world.dendro('import', '--store', 'demo.duckdb', '--run', r.run, '--date', r.date, '--branch', 'main', '--commit', commits[r.run > 'run-016' ? 1 : 0]!, '--repository', 'https://github.com/acme/shop', '--group', 'shop', '--benchmark', 'checkout', '--metric', `time/op=${r.metric.mean}ns/op`, '--progress', 'none', join(profiles, r.file));
    const { http } = await world.serve('--store', 'demo.duckdb', '--code', dir);
    const w = await world.page();
    await w.open(`${http}/?type=cpu`);
    await w.page.locator('.triage .tr', { hasText: 'pricing.matchRule' }).locator('[role=gridcell]').first().click();
    const panel = w.page.locator('.panel');
    await panel.locator('.changed .removed', { hasText: 'cache.lookup' }).waitFor();
    await panel.locator('.changed .added', { hasText: '(*regexp.Regexp)(nil)' }).waitFor();
    expect(await panel.getByRole('link', { name: commits[1]!.slice(0, 10), exact: true }).getAttribute('href')).toBe(`https://github.com/acme/shop/commit/${commits[1]}`);
    expect(await panel.locator('dd a', { hasText: 'rule.go' }).getAttribute('href')).toContain(`/blob/${commits[1]}/pricing/rule.go#L`);
    await panel.getByRole('link', { name: 'Benchmark', exact: true }).click();
    await w.settled();
    expect(await w.page.getByRole('grid', { name: 'Runs' }).locator('a', { hasText: commits[1]!.slice(0, 10) }).first().getAttribute('href')).toBe(`https://github.com/acme/shop/commit/${commits[1]}`);
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('the commit in a report has blanks for tabs, and its files above the lines; the tabs of the report fit', async () => {
    world.dendro('report', '--store', base, '--repo', repo, '--type', 'cpu', '--write', 'commit.html');
    const w = await world.page({ viewport: { width: 1280, height: 720 } });
    await w.open(`file://${join(world.dir, 'commit.html')}`);
    await w.page.locator('.triage .tr', { hasText: 'main.slow' }).locator('[role=gridcell]').first().click();
    const line = w.page.locator('.panel .changed .added', { hasText: 'again()' });
    await line.waitFor();
    expect(await line.innerText()).toMatch(/\+ {5}once\(\); again\(\)/);
    expect(await w.page.locator('.panel .changed').innerText()).not.toMatch(/[\t\ufffd]/);
    const [label, code] = await w.page.locator('.panel .changed').evaluate(e => [e.querySelector('figcaption')!, e.querySelector('pre')!].map(x => x.getBoundingClientRect()).map(r => [r.top, r.bottom]));
    expect(label![1]).toBeLessThanOrEqual(code![0]!);
    const tabs = w.page.locator('header nav a');
    expect(await tabs.count()).toBeGreaterThan(1);
    for (const width of [1280, 390]) {
      await w.page.setViewportSize({ width, height: 800 });
      const ends = await tabs.evaluateAll(list => list.map(a => [a.getBoundingClientRect().right, a.getBoundingClientRect().height]));
      for (const [right, height] of ends) {
        expect(right).toBeLessThanOrEqual(width);
        expect(height).toBeLessThan(40); // one line
      }
    }
    expect(w.faults).toEqual([]);
    await w.close();
  });

  test('from Home to the line that bumped a dependency it is two clicks: the branch, and its finding', async () => {
    const pair = join(project, 'test/detection/public/testdata/hcver');
    const { dir, commits } = repository(
      'bump',
      d => cpSync(join(pair, 'caller'), d, { recursive: true }),
      d => cpSync(join(d, 'head.mod'), join(d, 'go.mod')),
    );
    ['repo-1', 'head-1', 'repo-2', 'head-2', 'repo-3', 'repo-4'].forEach((run, i) => {
      const head = run.startsWith('head');
      world.dendro('import', '--store', 'bump.duckdb', '--run', run, '--date', `2026-10-0${i + 1}`, '--branch', head ? 'bump' : 'main', '--commit', commits[head ? 1 : 0]!, '--group', 'acme', '--machine', 'm', '--metrics', join(pair, `${run}.txt`), '--progress', 'none', join(pair, `${run}.pb.gz`));
    });
    const { http } = await world.serve('--store', 'bump.duckdb', '--code', dir);
    const w = await world.page();
    await w.open(http);
    await w.page.getByRole('link', { name: 'bump against main' }).click();
    await w.page.locator('.triage .tr', { hasText: 'slower' }).locator('[role=gridcell]').first().click();
    await w.page.locator('.panel .changed .added', { hasText: 'hashicorp/go-version' }).waitFor();
    expect(await w.page.locator('.panel .facts').innerText()).toMatch(/bumped\s+github\.com\/hashicorp\/go-version v1\.9\.0 → v1\.7\.0 \(go\.mod\)/);
    expect(w.faults).toEqual([]);
    await w.close();
  });
});
