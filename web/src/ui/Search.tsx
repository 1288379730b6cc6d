// The one search: benchmarks, functions, runs by key or commit, services and tasks, in one box
// that the keyboard alone can use.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SearchResult } from '../core/answers';
import { commit, count, visible } from '../core/format';
import { benchmarkName } from '../core/metric';
import { carried, everyBranch } from '../core/scope';
import { patternOf } from '../core/search';
import { pause, source } from '../core/source';
import { goTo, href } from '../core/url';
import { Failure, useLoad } from './Load';
import { searchShown } from './Keys';
import './search.css';

interface Row {
  label: string;
  hint?: string;
  to: string;
}

/** What was found, by kind, in the order of the list. */
function groupsOf(f: SearchResult, text: string): [kind: string, title: string, rows: Row[]][] {
  const all: [string, string, Row[]][] = [
    ['benchmarks', 'Benchmarks', f.benchmarks.map(b => ({ label: benchmarkName(b), to: href('benchmark', { ...carried(), ...b }) }))],
    [
      'functions',
      'Functions',
      [
        ...f.functions.map(name => ({ label: name, to: href('function', { ...carried(), function: name }) })),
        ...(f.functions.length > 1 ? [{ label: `${patternOf(text)}: where they take time`, to: href('find', { ...carried(), pattern: patternOf(text) }) }] : []),
      ],
    ],
    [
      'runs',
      'Runs',
      f.runs.map(r => ({
        label: r.run,
        hint: [r.commit && commit(r.commit), r.branch, r.benchmarks > 1 ? `${count(r.benchmarks)} benchmarks` : benchmarkName(r)].filter(Boolean).join(' · '),
        to: r.benchmarks > 1 ? href('benchmarks', { branch: everyBranch, run: r.run }) : href('profile', { group: r.group, benchmark: r.benchmark, run: r.run }),
      })),
    ],
    ['services', 'Services', f.services.map(s => ({ label: s.service, to: s.pushes ? href('services', { service: s.service }) : href('tasks', { service: s.service }) }))],
    ['tasks', 'Slow requests', f.tasks.map(t => ({ label: t.endpoint || t.id, hint: t.service, to: href('task', { task: t.id }) }))],
  ];
  return all.filter(([, , rows]) => rows.length > 0);
}

/** The dialog, while it is shown. */
export default function Search() {
  const ref = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(searchShown.value || '');
  const [at, setAt] = useState(0);
  const [entered, setEntered] = useState(false); // before the answer came
  const asked = text.trim();
  const answer = useLoad<SearchResult>(asked, async o => {
    await pause(100, o.signal); // while one types
    return source.value.get<SearchResult>('search', { text: asked }, o);
  });
  useLayoutEffect(() => ref.current?.showModal(), []);
  const groups = answer.value && asked ? groupsOf(answer.value, asked) : [];
  const rows = groups.flatMap(([, , list]) => list);
  const active = Math.min(at, rows.length - 1);
  useEffect(() => ref.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [active]);
  const close = () => (searchShown.value = false);
  const key = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) setAt((active + by + rows.length) % Math.max(1, rows.length));
    else if (e.key === 'Enter') setEntered(true);
    else return;
    e.preventDefault();
  };
  useEffect(() => {
    if (!entered || answer.busy) return;
    setEntered(false);
    if (!rows[active]) return;
    close();
    goTo(rows[active].to);
  }, [entered, answer.busy]);
  let n = -1;
  return (
    <dialog ref={ref} class="search" aria-label="Search" onClose={close} onClick={e => (e.target as Element).closest('a, input') ? (e.target as Element).closest('a') && close() : e.target === ref.current && close()}>
      <input
        {...({ role: 'combobox' } as object)} // of a list below it, not of the browser's
        aria-label="Search benchmarks, functions, commits, runs, services and tasks"
        aria-controls="found"
        aria-expanded={rows.length > 0}
        aria-activedescendant={rows.length > 0 ? `found-${active}` : undefined}
        placeholder="benchmark, function, commit, run, service, task"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={e => (setText(e.currentTarget.value), setAt(0), setEntered(false))}
        onKeyDown={key}
      />
      {answer.error && <Failure error={answer.error} what="what was found" retry={answer.retry} />}
      <div id="found" role="listbox" aria-label="Found" aria-busy={answer.busy}>
        {groups.map(([kind, title, list]) => (
          <div key={kind} role="group" aria-label={title}>
            <small aria-hidden="true">{`${title}${answer.value?.omitted?.[kind] ? `, ${count(answer.value.omitted[kind])} more` : ''}`}</small>
            {list.map(r => {
              n++;
              return (
                <a key={r.to} id={`found-${n}`} role="option" tabIndex={-1} aria-selected={n === active} href={r.to}>
                  {visible(r.label)}
                  {r.hint && <span class="dim"> {visible(r.hint)}</span>}
                </a>
              );
            })}
          </div>
        ))}
      </div>
      {asked && !answer.busy && !answer.error && rows.length === 0 && <p role="status">{`Nothing has “${visible(asked)}” in its name.`}</p>}
    </dialog>
  );
}
