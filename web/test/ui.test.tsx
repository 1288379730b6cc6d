// @vitest-environment happy-dom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Change, ReportDocument } from '../src/core/answers';
import { Http, Problem, setSource } from '../src/core/source';
import { goTo, place } from '../src/core/url';
import { Facts } from '../src/ui/Evidence';
import { KeyHelp, press, searchShown, useKeys } from '../src/ui/Keys';
import { Failure } from '../src/ui/Load';
import { Menu } from '../src/ui/Menu';
import { Scatter } from '../src/ui/Scatter';
import { Table } from '../src/ui/Table';
import { copy, Said } from '../src/ui/Tip';
import { Triage } from '../src/ui/Triage';

setSource(new Http());
const tick = () => new Promise(resolve => setTimeout(resolve, 20));
const show = async (content: preact.ComponentChild) => {
  await act(() => render(content, document.body)); // with its effects
  await tick();
};

afterEach(() => render(null, document.body));

describe('Table', () => {
  const columns = [
    { id: 'name', title: 'Name', cell: (i: number) => `row ${i}`, sortable: true },
    { id: 'n', title: 'N', width: 80, numeric: true, cell: (i: number) => i },
  ];
  it('has only the visible rows of a million in the document, and says how many there are', async () => {
    await show(<Table label="t" rows={1_000_000} columns={columns} />);
    expect(document.querySelectorAll('.tr').length).toBeLessThan(60);
    expect(document.querySelector('[role=grid]')!.getAttribute('aria-rowcount')).toBe('1000001');
  });
  it('moves the selection by keys, and opens by Enter', async () => {
    const select = vi.fn();
    const open = vi.fn();
    await show(<Table label="t" rows={5} columns={columns} selected={1} onSelect={select} onOpen={open} />);
    const key = (k: string) =>
      document.querySelector('[role=grid]')!.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
    for (const k of ['ArrowDown', 'ArrowUp', 'End', 'Home', 'Enter']) key(k);
    expect(select.mock.calls.map(c => c[0])).toEqual([2, 0, 4, 0]);
    expect(open).toHaveBeenCalledWith(1);
  });
  it('tells the order, and asks for another', async () => {
    const sort = vi.fn();
    await show(<Table label="t" rows={1} columns={columns} sort={{ id: 'name', descending: true }} onSort={sort} />);
    expect(document.querySelector('[aria-sort]')!.getAttribute('aria-sort')).toBe('descending');
    document.querySelector<HTMLElement>('.thead button')!.click();
    expect(sort).toHaveBeenCalledWith('name');
  });
  it('shows names as text', async () => {
    await show(<Table label="t" rows={1} columns={[{ id: 'x', title: '<b>', cell: () => '<img src=x onerror=alert(1)>' }]} />);
    expect(document.querySelector('img, b')).toBeNull();
    expect(document.body.textContent).toContain('<img src=x');
  });
});

describe('a dead end', () => {
  const change: Change = {
    id: 'f', kind: 'regression', benchmark: 'checkout', type: 'cpu', function: 'f', status: 'confirmed', score: 9, fails: false,
    since: { run: 'r' }, delta: { samples: 1, gross: 1, share: 0.1, base: 0.1 }, also: [], chance: 0, parts: [], path: [], paths: [], ruledOut: [],
  };
  const doc: ReportDocument = { headline: '1 regression', changes: [change], benchmarks: [], metrics: { level: 0, means: [], rows: [] }, notes: [], parameters: [], schema: 2 };
  it('of filters has the way back', async () => {
    goTo('/?certainty=suspect&q=x');
    await show(<Triage doc={doc} />);
    await act(() => [...document.querySelectorAll('button')].find(b => b.textContent === 'Clear the filters')!.click());
    expect([...place.value.params]).toEqual([]);
    expect(document.querySelector('.tbody')!.textContent).toContain('slower, confirmed');
  });
  it('of a selection has a link without it', async () => {
    for (const [status, links] of [[404, ['/']], [503, []]] as const) {
      await show(<Failure error={new Problem('Nothing is selected', 'no profiles', status)} what="runs" />);
      expect([...document.querySelectorAll('a')].map(a => a.getAttribute('href'))).toEqual(links);
    }
  });
});

describe('Menu', () => {
  it('opens, marks what is chosen, runs and closes', async () => {
    const run = vi.fn();
    await show(
      <Menu
        label="Type"
        groups={[
          {
            label: 'Type',
            items: [
              { label: 'cpu', checked: true },
              { label: 'wall', checked: false, run },
            ],
          },
        ]}
      />,
    );
    document.querySelector<HTMLElement>('button')!.click();
    await tick();
    const items = [...document.querySelectorAll<HTMLElement>('[role=menuitemradio]')];
    expect(items.map(i => i.getAttribute('aria-checked'))).toEqual(['true', 'false']);
    items[1]!.click();
    await tick();
    expect(run).toHaveBeenCalledOnce();
    expect(document.querySelector('[role=menu]')).toBeNull();
  });
});

describe('keys', () => {
  const run = vi.fn();
  function Page() {
    useKeys([{ keys: 'f', help: 'focus it', run }]);
    return (
      <>
        <input />
        <KeyHelp />
      </>
    );
  }
  it('run and are in the help, but not while a text is typed', async () => {
    await show(<Page />);
    document.addEventListener('keydown', press);
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', bubbles: true }));
    document.querySelector('input')!.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', bubbles: true }));
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', ctrlKey: true, bubbles: true }));
    document.removeEventListener('keydown', press);
    expect(run).toHaveBeenCalledOnce();
    expect(document.querySelector('dialog')!.textContent).toContain('focus it');
  });
});

describe('keys that come later', () => {
  it('leave to the others what they do', async () => {
    const ran: string[] = [];
    const key = (keys: string) => ({ keys, help: keys, run: () => ran.push(keys) });
    const Page = ({ more }: { more: boolean }) => (useKeys([...(more ? [key('1'), key('2')] : [key('1')]), key('i'), key('l')]), null);
    await show(<Page more={false} />);
    await show(<Page more />); // a profile whose markers were loaded has one view more
    document.addEventListener('keydown', press);
    for (const k of ['2', 'l', 'i']) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
    document.removeEventListener('keydown', press);
    expect(ran).toEqual(['2', 'l', 'i']);
  });
});

describe('Scatter', () => {
  const points = [
    { x: 0.1, y: 10, name: 'r1' },
    { x: 0.2, y: 12, name: 'r2' },
    { x: 0.6, y: 14, name: 'r3' },
  ];
  const show1 = (list: typeof points, slope?: number, intercept?: number) =>
    show(<Scatter label="l" points={list} slope={slope} intercept={intercept} formatX={String} formatY={v => `${v} ms`} />);
  it('has a point per run and the part of the line that is inside', async () => {
    await show1(points, 7.14, 9.86);
    expect(document.querySelectorAll('circle').length).toBe(3);
    expect(document.querySelector('circle title')!.textContent).toBe('r1: 0.1, 10 ms');
    const numbers = document.querySelector('path')!.getAttribute('d')!.match(/-?[\d.]+/g)!.map(Number);
    for (const [i, v] of numbers.entries()) expect(v >= 0 && v <= (i % 2 === 0 ? 360 : 220)).toBe(true);
    expect(numbers[1]! > numbers[3]!).toBe(true); // it rises
  });
  it('draws equal points without a line', async () => {
    await show1([points[0]!, points[0]!]);
    expect(document.querySelector('path')).toBeNull();
    for (const c of document.querySelectorAll('circle')) expect(Number.isFinite(Number(c.getAttribute('cx')))).toBe(true);
  });
});

describe('Facts', () => {
  const change = (call?: number): Change => ({
    id: 'f', kind: 'regression', benchmark: 'checkout', type: 'cpu', function: 'regexp.MustCompile', status: 'confirmed', score: 9,
    fails: false, file: 'rule.go', line: call ?? 29, since: { run: 'r' }, delta: { samples: 1, gross: 1, share: 0.1, base: 0.1 }, also: [], chance: 0, parts: [], path: [], paths: [], ruledOut: [],
    headline: { function: 'pricing.matchRule', file: 'rule.go', line: 29, own: true, ...(call && { call }) },
  });
  const code = () => [...document.querySelectorAll('a')].at(-1)!.textContent;
  it('names a line once the evidence says which', async () => {
    await show(<Facts c={change()} read={false} />);
    expect(code()).toBe('rule.go');
    await show(<Facts c={change(35)} read />);
    expect(code()).toBe('rule.go:35');
    await show(<Facts c={change()} read />);
    expect(code()).toBe('rule.go:29 (declaration)');
  });
  it('names the run with which a change ended', async () => {
    const at = { run: 'r9', date: '' };
    const over = { finding: 'f', state: 'ended', onset: at, end: { ...at, run: 'r15' }, seen: at, runs: 6 };
    await show(<Facts c={{ ...change(), since: { run: 'r9', lastGood: 'r8' }, change: over }} read />);
    expect(document.body.textContent).toContain('r9, last good r8, ended with r15; score');
  });
});

it('says that nothing was copied where the browser lets no page copy', async () => {
  const own = Object.getOwnPropertyDescriptor(navigator, 'clipboard');
  const said = () => document.querySelector('[role=status]')!.textContent;
  await show(<Said />);
  for (const [clipboard, text] of [
    [undefined, 'The browser does not let this page copy the link'], // without TLS there is none
    [{ writeText: () => Promise.reject(new Error('denied')) }, 'The browser does not let this page copy the name'],
    [{ writeText: () => Promise.resolve() }, 'Copied the link'],
  ] as const) {
    Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true });
    await act(() => copy('x', text.split(' ').at(-1)!));
    expect(said()).toBe(text);
  }
  if (own) Object.defineProperty(navigator, 'clipboard', own);
  else delete (navigator as { clipboard?: unknown }).clipboard;
});

describe('keys while the search is loaded', () => {
  it('are its text', async () => {
    const ran = vi.fn();
    const Page = () => (useKeys([{ keys: '/', help: '', run: () => ((searchShown.value = ''), true) }, { keys: 't', help: '', run: ran }]), null);
    await show(<Page />);
    document.addEventListener('keydown', press);
    const type = (keys: string[]) => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })));
    type(['/', 'm', 'a', 't', 'Shift']);
    expect(searchShown.value).toBe('mat');
    type(['Escape']);
    expect(searchShown.value).toBe(false);
    document.removeEventListener('keydown', press);
    expect(ran).not.toHaveBeenCalled();
  });
});
