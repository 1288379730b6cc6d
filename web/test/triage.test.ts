import { describe, expect, it } from 'vitest';
import type { BenchmarkOverview, Change, ReportDocument } from '../src/core/answers';
import { groupsOf } from '../src/pages/Benchmarks';
import { shortName, splitName } from '../src/core/metric';
import shortNames from './testdata/short.json';
import { everyBranch, scoped } from '../src/core/scope';
import { Http, setSource } from '../src/core/source';
import { look, unseen } from '../src/core/looked';
import { day, daysNamed, moment, stamp } from '../src/core/days';
import { countsText, quietCounts, quietRows, shownChanges } from '../src/ui/Triage';
import { entryOf } from '../src/ui/Acknowledge';
import { sideOf } from '../src/ui/Bar';
import { diffLink, issueText, reproduction, wholeText } from '../src/ui/Evidence';
import { fitting, ranked, sized, templateOf } from '../src/ui/Table';

setSource(new Http());

const change = (c: Partial<Change>): Change => ({
  id: '1', kind: 'regression', benchmark: 'b', type: 'cpu', delta: { samples: 1, gross: 1, share: 0.1, base: 0.1 }, score: 9, status: 'confirmed',
  function: 'f', chance: 0, parts: [], path: [], paths: [], ruledOut: [],
  since: { run: 'r1' }, fails: false, also: [], ...c,
});

describe('scope', () => {
  const names = ['group', 'branch'];
  const of = (query: string, base?: string, sides = false) => scoped(new URLSearchParams(query), names, base ? { base } : {}, sides).toString();
  it('is of the base branch unless the address says another', () => {
    expect(of('group=g&view=x', 'main')).toBe('group=g&branch=main');
    expect(of('branch=pr', 'main')).toBe('branch=pr');
    expect(of(`branch=${everyBranch}`, 'main')).toBe('');
    expect(of('group=g')).toBe('group=g');
    expect(scoped(new URLSearchParams(), names, { base: 'main', noBranch: 2 }).toString()).toBe('branch=main&branch=');
  });
  it('compares another branch with the base', () => {
    expect(of('branch=pr', 'main', true)).toBe('base=main&head=pr');
    expect(of('branch=main', 'main', true)).toBe('branch=main');
    expect(of('branch=a&branch=b', 'main', true)).toBe('branch=a&branch=b');
  });
});

describe('groups', () => {
  it('are a tree: a group has the benchmarks of those below it, and comes before them', () => {
    const list = ['', 'b', 'a/x', 'a', 'a/x/y', 'a-b'].map(group => ({ group }) as BenchmarkOverview);
    expect(groupsOf(list).map(g => [g.group, g.name, g.depth, g.benchmarks])).toEqual([['a', 'a', 0, 3], ['a/x', 'x', 1, 2], ['a/x/y', 'y', 2, 1], ['a-b', 'a-b', 0, 1], ['b', 'b', 0, 1]]);
  });
});

it('a row of several benchmarks is accepted as one, up to its largest change', () => {
  const other = { ...change({ id: '2', benchmark: 'c' }), delta: { samples: 1, gross: 1, share: -0.3, base: 0.1 } };
  expect(entryOf(change({ also: [other] }), 'known', '')).toEqual({ id: '1', also: ['2'], upTo: 0.3, reason: 'known' });
  expect(entryOf(change({}), 'known', '2026-12-31')).toEqual({ id: '1', upTo: 0.1, reason: 'known', until: '2026-12-31' });
});

describe('days', () => {
  const now = new Date('2026-03-11T12:00:00Z'); // a Wednesday
  it('are said by name, or as a date', () => {
    expect([day('Monday', now), day('wednesday', now), day('thursday', now), day('yesterday', now), day('today', now)]).toEqual(['2026-03-09', '2026-03-11', '2026-03-05', '2026-03-10', '2026-03-11']);
    expect([day('2026-01-02', now), day('', now), day('2026-13-02', now), day('soon', now), day('"><img>', now)]).toEqual(['2026-01-02', '', undefined, undefined, undefined]);
    expect(daysNamed(now)).toEqual([['yesterday', '2026-03-10'], ['Monday', '2026-03-09'], ['a week', '2026-03-04']]);
  });
  it('of what is to come are the next ones', () => {
    expect([day('Monday', now, true), day('wednesday', now, true), day('tomorrow', now, true)]).toEqual(['2026-03-16', '2026-03-11', '2026-03-12']);
  });
  it('have hours, if they are said', () => {
    expect([moment('Monday 9:00', now), moment('14:05', now), moment('2026-01-02 03:04', now), moment('2026-01-02', now), moment('', now), moment('Friday 14:00', now, true)]).toEqual(['2026-03-09 09:00', '2026-03-11 14:05', '2026-01-02 03:04', '2026-01-02', '', '2026-03-13 14:00']);
    expect([moment('25:00', now), moment('soon 14:00', now), moment('14', now)]).toEqual([undefined, undefined, undefined]);
    expect([moment('2026-01-02T03:04:00Z', now), moment('2026-01-02T03:04', now)]).toEqual(['2026-01-02 03:04', '2026-01-02 03:04']);
    expect([moment('2026-01-02', now, true), moment('2026-01-02T03:04:00', now, true)]).toEqual([undefined, undefined]); // over
    expect([stamp('2026-01-02 03:04'), stamp('2026-01-02'), stamp('')]).toEqual(['2026-01-02T03:04:00Z', '2026-01-02T00:00:00Z', '']);
  });
  it('leave the changes that were seen first since then', () => {
    const at = (id: string, date: string) => change({ id, change: { finding: id, state: 'confirmed', onset: { run: 'r' }, seen: { run: 'r', date }, runs: 1 } });
    const doc = { changes: [at('before', '2026-03-08T23:59:00Z'), at('monday', '2026-03-09T00:00:00Z'), change({ id: 'two sides' })] } as unknown as ReportDocument;
    expect(shownChanges(doc, new URLSearchParams('new=2026-03-09')).map(c => c.id)).toEqual(['monday', 'two sides']);
  });
});

describe('triage', () => {
  const doc = {
    changes: [
      change({ id: 'slow', headline: { function: 'shop.pay', own: true } }),
      change({ id: 'lib', status: 'suspect', function: 'java.util.Map.get' }),
      change({ id: 'fast', kind: 'improvement' }),
      change({ id: 'moved', kind: 'moved' }),
      change({ id: 'old', status: 'transient' }),
      change({ id: 'ok', acknowledged: { reason: 'known' } }),
    ],
  } as unknown as ReportDocument;
  const ids = (query: string) => shownChanges(doc, new URLSearchParams(query)).map(c => c.id);
  it('leaves out what moved or is past, unless asked for', () => {
    expect(ids('')).toEqual(['slow', 'lib', 'fast', 'ok']);
    expect(ids('past=true')).toContain('old');
  });
  it('filters by words, certainty, direction and code', () => {
    expect(ids('q=map GET')).toEqual(['lib']);
    expect(ids('certainty=suspect')).toEqual(['lib']);
    expect(ids('certainty=accepted')).toEqual(['ok']);
    expect(ids('slower=true')).toEqual(['slow', 'lib', 'ok']);
    expect(ids('own=true')).toEqual(['slow']);
  });
});

describe('the diff of a change', () => {
  it('has the sides of the finding, against the history only where shares were compared', () => {
    const sides = { base: ['r1', 'r2'], head: ['r3'] };
    expect(diffLink(change({ path: ['main', 'f'], sides }))).toMatch(/^.diff.benchmark=b.type=cpu.base-run=r1.base-run=r2.head-run=r3.sel=p.main;f$/);
    expect(diffLink(change({ sides: { ...sides, against: 'history' } }))).toContain('against=history');
    expect(diffLink(change({}))).toBeUndefined();
  });
});

describe('a change of several benchmarks', () => {
  const of = (group: string, benchmark: string) => ({ group, benchmark });
  const doc = {
    changes: [change({ id: 'wide', ...of('g', 'b1'), function: 'f', also: [change(of('g', 'b2')), change(of('h', 'b3'))] })],
    benchmarks: [of('g', 'b1'), of('g', 'b2'), of('h', 'b3'), of('g', 'b4')].map(b => ({ ...b, runs: [], outcome: { status: 'unchanged', says: 'unchanged: would have seen 4%' } })),
  } as unknown as ReportDocument;
  it('is found by the name of each', () => {
    for (const q of ['b1', 'g/b2', 'b3']) expect(shownChanges(doc, new URLSearchParams({ q })).map(c => c.id)).toEqual(['wide']);
    expect(shownChanges(doc, new URLSearchParams({ q: 'b4' }))).toEqual([]);
  });
  it('leaves none of them among those without a change', () => {
    expect(quietRows(doc, undefined, ['']).map(r => r.b.benchmark)).toEqual(['b4']);
  });
  it('counts the others also where they are not listed', () => {
    const counts = [{ status: 'unchanged', says: 'unchanged', benchmarks: 40 }, { status: 'not run at HEAD', says: 'not run at 16bc8ed', benchmarks: 7 }] as const;
    expect(countsText(quietCounts({ ...doc, counts: [...counts] }))).toBe('37 unchanged, 7 not run at 16bc8ed');
  });
});

describe('names in a table', () => {
  it('are those of Go', () => {
    for (const [name, short] of Object.entries(shortNames)) expect(shortName(name)).toBe(short);
  });
  it('keep the class of a constructor', () => {
    expect(splitName('java.util.HashMap.<init>')).toEqual(['java.util.', 'HashMap.<init>']);
  });
});

describe('columns', () => {
  const columns = [{ id: 'a', title: '', width: 100 }, { id: 'b', title: '', width: 100, optional: 1 }, { id: 'c', title: '', width: 100, optional: 2 }].map(c => ({ ...c, cell: () => '' }));
  it('that do not fit are left out, the least important first', () => {
    const ids = (width: number) => fitting(columns, width).map(c => c.id).join('');
    expect([ids(0), ids(300), ids(250), ids(150), ids(50)]).toEqual(['abc', 'abc', 'ab', 'a', 'a']);
  });
  it('that say their texts take what the longest needs', () => {
    const cell = () => '';
    const texts = ['run-1', 'run-100'];
    const width = (c: object) => sized([{ id: 'a', title: '', cell, ...c }], 2)[0]!;
    expect(width({ width: 300, text: (i: number) => texts[i]! }).width).toBe(78);
    expect(width({ width: 50, text: (i: number) => texts[i]! }).width).toBe(50);
    const head = (sortable: boolean) => width({ title: 'Since', width: 290, sortable, text: () => '' }).width!;
    expect(head(true)).toBeGreaterThan(head(false)); // an arrow says how it is sorted
    expect(templateOf(sized([{ id: 'a', title: '', cell, text: i => texts[i]! }, { id: 'b', title: '', width: 90, cell }], 2))).toBe('minmax(160px, 160px) 90px minmax(0, 1fr)');
    expect(templateOf([{ id: 'a', title: '', cell }])).toBe('minmax(160px, 1fr)');
  });
  it('come on a phone in the order of their use', () => {
    const list = [{ id: 'verdict', width: 90 }, { id: 'amount', width: 90, optional: 4 }, { id: 'what', wanted: 390 }, { id: 'since', width: 90, optional: 2 }, { id: 'name' }];
    const shown = ranked(list.map(c => ({ ...c, title: '', cell: () => '' })));
    expect(shown.map(c => `${c.id} ${c.width}`)).toEqual(['verdict 90', 'what 260', 'name 160', 'since 90', 'amount 90']);
  });
  it('of little use make room for what another wants', () => {
    const cell = () => '';
    const list = [{ id: 'name', title: '', wanted: 300, cell }, { id: 'b', title: '', width: 100, optional: 4, cell }, { id: 'c', title: '', width: 100, optional: 5, cell }];
    const ids = (width: number) => fitting(list, width).map(c => c.id).join(' ');
    expect([ids(500), ids(499), ids(360), ids(250)]).toEqual(['name b c', 'name b', 'name b', 'name']);
  });
});

describe('two search fields', () => {
  const runs = [
    { run: 'r1', branch: 'main', commit: 'abcd1111' },
    { run: 'r2', branch: 'pr', commit: 'abcd2222' },
    { run: 'main2' },
  ];
  it('name runs, branches and commits', () => {
    expect(sideOf('r1', runs)).toEqual({ run: 'r1' });
    expect(sideOf(' pr ', runs)).toEqual({ branch: 'pr' });
    expect(sideOf('abcd2', runs)).toEqual({ commit: 'abcd2222' });
    expect(sideOf('2026-01-01 .. 2026-02-01', runs)).toEqual({ since: '2026-01-01', until: '2026-02-01' });
    expect(sideOf('2026-01-01..', runs)).toEqual({ since: '2026-01-01' });
    expect(sideOf('…2026-02-01T12:00:00Z', runs)).toEqual({ until: '2026-02-01T12:00:00Z' });
    for (const none of ['', 'abcd', 'abc', 'nothing', '..', '2026-01-01']) expect(sideOf(none, runs)).toBeNull();
  });
});

describe('a finding to pass on', () => {
  const c = change({ since: { run: 'r2', lastGood: 'r1', commit: 'b'.repeat(40) }, headline: { function: 'shop.pay', own: true, file: 'a.go' }, benchmark: "Pay it's/x" });
  const b = { runs: [{ run: 'r1', commit: 'a'.repeat(40) }] } as unknown as Parameters<typeof reproduction>[1];
  it('is measured by a command that a shell reads as it is meant', () => {
    expect(reproduction(c, b)).toBe(`dendro bench --base ${'a'.repeat(40)} --head ${'b'.repeat(40)} --count 4 -- go test -bench '^Pay' ./...`);
    expect(reproduction(change({}), b)).toBe('');
  });
  it('is Markdown in which names are text', () => {
    const text = issueText(change({ function: 'a`b', path: ['main', 'a`b'] }), '');
    expect(text).toContain("  - `a'b`");
    expect(text).not.toContain('To reproduce');
  });
});

describe('since you last looked', () => {
  const hour = 3_600_000;
  it('marks what no look before this one had', () => {
    let looks = look({}, ['a', 'b'], 0);
    expect(unseen(looks, 'a') || unseen(looks, 'c')).toBe(false); // the first look
    looks = look(looks, ['a', 'b', 'c'], hour / 4); // the same one
    expect(unseen(looks, 'c')).toBe(false);
    looks = look(looks, ['b', 'd'], 3 * hour);
    expect(['a', 'b', 'c', 'd'].filter(id => unseen(looks, id))).toEqual(['d']);
    looks = look(looks, ['d', 'e'], 3.2 * hour); // still new after the page was loaded again
    expect(['a', 'd', 'e'].filter(id => unseen(looks, id))).toEqual(['d', 'e']);
    looks = look(looks, ['d', 'e', 'a'], 20 * hour); // back on the list after it was seen
    expect(['a', 'd', 'e'].filter(id => unseen(looks, id))).toEqual([]);
  });
});

describe('what a change explains', () => {
  const of = (value: number, explains?: number) =>
    wholeText({ finding: 'f', state: 'confirmed', onset: { run: 'n' }, seen: { run: 'n' }, runs: 2, program: { value, low: value, high: value, unit: '1' }, ...(explains !== undefined && { explains }) });
  it('is stated where the whole program changed by another amount', () => {
    expect(of(1, 0.03)).toBe('+100.0%, 3.0% of that is this change');
    expect(of(0.2, 0.95)).toBe('');
    expect(of(0.2)).toBe('');
    expect(of(0.2, 2)).toBe('+20.0%');
    expect(of(-0.2, -0.5)).toBe('−20.0%');
    expect(wholeText(undefined)).toBe('');
  });
});
