// Base … head: without a head the list of changes of a branch, with one a comparison of its benchmarks.
import { useState } from 'preact/hooks';
import { commit, visible } from '../core/format';
import { everyBranch } from '../core/scope';
import { pause, source } from '../core/source';
import { type Changes as Address, go, href, place } from '../core/url';
import { useLoad } from './Load';
import { branchOf, type Scope } from './Pickers';

const sideParams = ['run', 'commit', 'branch', 'since', 'until'] as const;

interface Run {
  run: string;
  commit?: string;
  branch?: string;
}

/** Two dates, of which one may be missing: runs from the first on, before the second. */
const dates = /^(\d{4}-\d\d-\d\d\S*?)?\s*(?:\.\.|…)\s*(\d{4}-\d\d-\d\d\S*)?$/;

/** What a field names beside a file: a run, a branch, a commit by its first digits, or the runs between two dates. */
export function sideOf(text: string, runs: readonly Run[]): Partial<Record<(typeof sideParams)[number], string>> | null {
  const name = text.trim();
  if (!name) return null;
  if (runs.some(r => r.run === name)) return { run: name };
  if (runs.some(r => r.branch === name)) return { branch: name };
  const [, since, until] = dates.exec(name) ?? [];
  if (since ?? until) return { ...(since && { since }), ...(until && { until }) };
  const commits = new Set(runs.map(r => r.commit ?? '').filter(c => c.startsWith(name)));
  return name.length >= 4 && commits.size === 1 ? { commit: [...commits][0]! } : null;
}

/** A side as check takes it, of the parameters of a diff: "main", or "run=a,run=b". */
export function nameOf(params: URLSearchParams, side: 'base' | 'head'): string {
  const list = sideParams.flatMap(n => params.getAll(`${side}-${n}`).map(v => [n, v] as const));
  const [kind, value = ''] = list[0] ?? [];
  const alone = list.length === 1 && kind !== 'since' && kind !== 'until' && !value.includes('=');
  return params.get(side) ?? (alone ? value : list.map(x => x.join('=')).join(','));
}

/** What is typed, as check takes it: two dates are conditions. */
function condition(text: string): string {
  const [, since, until] = dates.exec(text) ?? [];
  return since ?? until ? [since && `since=${since}`, until && `until=${until}`].filter(Boolean).join(',') : text;
}

export function Bar({ scope }: { scope: Scope }) {
  const { params } = place.value;
  const { base: main = '', branches } = scope.choices;
  const [text, setText] = useState('');
  const file = params.get('head-file');
  const now = { base: scope.params?.get('base') ?? (file ? '' : (params.get('branch') ?? branchOf(scope))), head: file ?? scope.params?.get('head') ?? '' };
  const search = async (of: string): Promise<Run[]> => (of ? (await source.value.get<{ runs: Run[] }>('search', { text: of })).runs : []);
  const found = useLoad<Run[]>(text, async o => (await pause(150, o.signal), search(text))); // while one types
  const pull = branches.find(b => b.branch !== main)?.branch;
  const submit = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const typed = (name: string) => String(data.get(name) ?? '').trim();
    const [base, head] = [condition(typed('base')), condition(typed('head'))];
    const kept: Address = {};
    for (const name of ['group', 'benchmark', 'type', 'machine']) kept[name] = params.getAll(name);
    if (file) {
      const side = sideOf(base, [...branches.map(b => ({ run: '', branch: b.branch })), ...(await search(typed('base')))]);
      const field = form.elements.namedItem('base') as HTMLInputElement;
      field.setCustomValidity(side ? '' : 'no run, branch or commit has this name; two dates: 2026-01-01 .. 2026-02-01');
      if (!field.reportValidity()) return;
      for (const [n, v] of Object.entries(side!)) kept[`base-${n}`] = v;
      go('diff', { ...kept, benchmark: typed('benchmark'), 'head-file': file });
    } else if (head && params.has('group') && params.getAll('benchmark').length === 1) go('diff', { ...kept, base: base || main, head });
    else if (!head && [main, everyBranch].includes(base || main)) go('home', { ...kept, branch: base && base !== main ? base : null });
    else if ((base || main) === main && branches.some(b => b.branch === head)) go('home', { ...kept, branch: head }); // links to other pages keep it
    else go('home', { ...kept, base: base || main, head });
  };
  const field = (name: 'base' | 'head', title: string, hint: string) => (
    <label>
      {title}
      <input
        key={now[name]}
        name={name}
        size={22}
        list="sides"
        autocomplete="off"
        placeholder={hint}
        title="branch, commit or run, or the runs between two dates: 2026-01-01 .. 2026-02-01"
        defaultValue={now[name]}
        readOnly={name === 'head' && !!file}
        onInput={e => (e.currentTarget.setCustomValidity(''), setText(e.currentTarget.value.trim()))}
      />
    </label>
  );
  return (
    <form class="pickers" aria-label="What is compared" onSubmit={e => (e.preventDefault(), void submit(e.currentTarget))}>
      {field('base', 'Base', 'branch, commit or run')}
      {field('head', '… head', 'compare with …')}
      {file && (
        <label>
          Benchmark
          <input name="benchmark" placeholder="all" defaultValue={params.get('benchmark') ?? ''} />
        </label>
      )}
      <datalist id="sides">
        <option value={everyBranch}>all branches</option>
        {branches.map(b => (
          <option key={b.branch} value={b.branch}>
            branch
          </option>
        ))}
        {found.value?.map(r => (
          <option key={r.run} value={r.commit?.startsWith(text) ? commit(r.commit) : r.run}>
            {[r.run, r.commit && commit(r.commit), r.branch].filter(Boolean).join(', ')}
          </option>
        ))}
      </datalist>
      <button type="submit">Compare</button>
      {pull && now.head !== pull && <a href={href('home', { branch: pull })}>{`${visible(pull)} against ${visible(main)}`}</a>}
    </form>
  );
}
