// Where a function or call path takes more than a share: by benchmark, group, run or function.
import type { FindSumsResult, History } from '../core/answers';
import { amount, counted, count, percent, visible } from '../core/format';
import { benchmarkName } from '../core/metric';
import { carried } from '../core/scope';
import { href, update } from '../core/url';
import { SelfBox } from '../ui/Box';
import { Crumbs } from '../ui/Crumbs';
import { newest, OfFunction } from '../ui/History';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { By, type InScope, Scoped } from '../ui/Scoped';
import { preferred, useTyped } from '../ui/Typed';
import { Notes, Plain } from '../ui/Plain';
import '../pages.css';

const selection = ['pattern', 'min-share', 'by', 'self', 'in-any-run', 'last', 'group', 'benchmark', 'branch', 'machine', 'type', 'since', 'until'];
const kinds = { benchmark: 'Benchmark', group: 'Group', run: 'Run', function: 'Function' } as const;
type Kind = keyof typeof kinds;

export default function Find() {
  return (
    <Scoped title="Find" names={selection}>
      {known => <Where {...known} />}
    </Scoped>
  );
}

function Where({ scope, params }: InScope) {
  const pattern = params.get('pattern') ?? '';
  const any = params.get('in-any-run') === 'true';
  const by = (params.get('by') ?? 'benchmark') as Kind;
  return (
    <Page
      title="Find"
      crumbs={<Crumbs of={params} />}
      sub="Where a function or call path takes more than a share of the samples"
      actions={
        <>
          <Pickers scope={scope} show={['branch', 'group', 'type', 'machine', 'since']} type={params.get('type') ?? preferred(scope.choices.types)} />
          <By kinds={kinds} now={by} />
          <SelfBox />
        </>
      }
    >
      <form
        class="actions"
        onSubmit={e => {
          e.preventDefault();
          const typed = new FormData(e.currentTarget);
          update({ pattern: String(typed.get('pattern')).trim(), 'min-share': String(typed.get('min-share')).trim(), 'in-any-run': typed.get('in-any-run') ? 'true' : null }, true);
        }}
      >
        <label>
          Function or call path <input name="pattern" type="search" size={50} value={pattern} placeholder="json.*, A;B, A;**;B" title="'*' and '?' stand for any text; A;B is B called by A, A;**;B is B anywhere below A; /a regular expression/" />
        </label>
        <label>
          At least <input name="min-share" type="text" size={6} value={params.get('min-share') ?? ''} placeholder="5%" />
        </label>
        <label title="List rows of which a single run reaches the share, not all of them together">
          <input name="in-any-run" type="checkbox" checked={any} /> in any run
        </label>
        <button type="submit">Find</button>
      </form>
      {pattern ? <Rows scope={scope} params={params} by={by} /> : <div class="empty">Enter the name of a function, or a pattern.</div>}
    </Page>
  );
}

function Rows({ scope, params, by }: InScope & { by: Kind }) {
  const asked = new URLSearchParams(params);
  asked.set('by', by);
  if (!asked.has('type') && scope.choices.types.length > 1) asked.set('type', preferred(scope.choices.types));
  const answer = useTyped<FindSumsResult>('find', asked);
  return (
    <Await of={answer} what="where it occurs">
      {r => (
        <>
          <p class="dim">{`By ${by}: ${visible(r.type)} of ${counted(r.profiles, 'profile')}. The share is of all runs of a row: those without the function count as 0.`}</p>
          <Notes of={r.notes} />
          {r.rows.length > 0 && (
            <Plain
              rows={r.rows}
              columns={[
                { title: kinds[by], cell: x => <a href={addressOf(by, x, r.type)}>{visible(x.name)}</a> },
                { title: 'Profiles', cell: x => `${count(x.profiles)} of ${count(x.of)}` },
                { title: 'Share', numeric: true, cell: x => percent(x.share) },
                { title: 'Largest', numeric: true, cell: x => percent(x.maxShare) },
                { title: 'Run', cell: x => <a href={href('profile', { ...whereOf(x), run: x.maxRun, type: r.type })}>{visible(x.maxRun)}</a> },
                { title: 'Self', numeric: true, cell: x => (x.self ? amount(x.self, r.unit) : '–') },
                { title: 'Total', numeric: true, cell: x => amount(x.total, r.unit) },
              ]}
            />
          )}
          {r.omitted.rows > 0 && <p class="dim">{`${r.omitted.rows} more`}</p>}
          {r.rows.length > 0 &&
            r.rows.length <= few &&
            (by === 'function' || !/[*?;]|^\//.test(params.get('pattern')!) ? (
              <OverTime params={asked} name={by === 'function' ? r.rows[0]!.name : params.get('pattern')!} />
            ) : (
              <Rows scope={scope} params={params} by="function" />
            ))}
        </>
      )}
    </Await>
  );
}

/** So few rows leave room for the functions of a pattern, and for what a function is over time. */
const few = 6;

/** A function over the runs of its benchmarks. */
function OverTime({ params, name }: { params: URLSearchParams; name: string }) {
  const q = new URLSearchParams([...params, ['function', name]]);
  for (const p of ['pattern', 'min-share', 'by', 'in-any-run', 'last']) q.delete(p);
  const answer = useAnswer<History>('history', q);
  return (
    <section class="findings" aria-label="Over time">
      {[...(answer.value?.series ?? [])]
        .sort((a, b) => newest(b) - newest(a))
        .slice(0, few)
        .map((s, i) => <OfFunction key={benchmarkName(s)} s={s} open={i < 2} />)}
    </section>
  );
}

/** The page of a row: a function over time, a run, a benchmark, or the regressions of a group. */
function addressOf(by: Kind, x: FindSumsResult['rows'][number], type: string): string {
  if (by === 'function') return href('function', { ...carried(), function: x.name, type });
  if (by === 'run') return href('profile', { ...carried(), run: x.name, type });
  return href(by === 'benchmark' ? 'benchmark' : 'home', { ...carried(), ...whereOf(x), type });
}

/** The selection of a row. */
const whereOf = ({ group, benchmark }: FindSumsResult['rows'][number]) => ({ ...(group && { group }), ...(benchmark && { benchmark }) });
