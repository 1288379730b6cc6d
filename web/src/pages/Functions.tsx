// Functions over time: the shares of the user's own code over the runs of a benchmark, as lines on one scale.
import type { Bottlenecks as Ranking } from '../core/answers';
import { counted, counting, percent, visible } from '../core/format';
import { benchmarkName, metric, shortName } from '../core/metric';
import { carried } from '../core/scope';
import { goTo, href } from '../core/url';
import { Crumbs } from '../ui/Crumbs';
import { Fn } from '../ui/Fn';
import { opening } from '../ui/History';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { axisOf, colourOf, Plot } from '../ui/Plot';
import { type InScope, Scoped } from '../ui/Scoped';
import { Table } from '../ui/Table';
import { Tabs } from '../ui/Tabs';
import { Notes } from '../ui/Plain';
import '../pages.css';

const title = 'Functions over time';

export default function Functions() {
  return (
    <Scoped title={title} names={['group', 'benchmark', 'branch', 'machine', 'since', 'until', 'type']}>
      {known => <Chosen {...known} />}
    </Scoped>
  );
}

function Chosen({ scope, params }: InScope) {
  const answer = useAnswer<Ranking>('bottlenecks', new URLSearchParams([...params, ['by', 'own'], ['rows', '20'], ['plots', '1']]));
  const r = answer.value;
  return (
    <Page
      title={title}
      crumbs={<Crumbs of={params} />}
      sub={r && visible(`Shares of ${counting(r.type.name, r.type.unit)} in ${counted(r.profiles, 'run')}: each function of yours with the libraries and the runtime that it calls`)}
      actions={<Pickers scope={scope} show={['branch', 'type', 'machine', 'since']} type={r?.type.name ?? ''} />}
    >
      <Tabs />
      <Await of={answer} what="the functions">
        {r => (
          <>
            <Notes of={r.warnings} />
            <Chart r={r} />
          </>
        )}
      </Await>
    </Page>
  );
}

function Chart({ r }: { r: Ranking }) {
  const rows = r.rows.filter(x => x.section === 'own' && x.plots?.[0]?.points.length).slice(0, 8);
  const plot = (i: number) => rows[i]!.plots![0]!;
  if (rows.length === 0) return <p class="empty">No function of yours has a sample.</p>;
  const runs = plot(0).points;
  const { group, benchmark } = plot(0);
  const at = { group, benchmark, type: r.type.name };
  const page = (i: number) => href('function', { ...carried(), ...at, function: rows[i]!.function });
  return (
    <>
      <section class="card">
        <p class="sub">A click opens the run, a drag compares its first run with its last.</p>
        <Plot
          label={`${title} of ${benchmarkName({ group, benchmark })}`}
          {...axisOf(runs)}
          lines={rows.map((x, i) => ({ name: shortName(x.function), values: plot(i).points.map(p => p.y) }))}
          compared
          format={percent}
          onChoose={opening(at, runs)}
        />
      </section>
      <Table
        fitted
        label={title}
        rows={rows.length}
        rowKey={i => rows[i]!.function}
        onOpen={i => goTo(page(i))}
        columns={[
          {
            id: 'function',
            title: 'Function',
            text: i => `${rows[i]!.function.replace(/.*\//, '')}   `,
            cell: i => (
              <a href={page(i)} title={visible(rows[i]!.function)}>
                <b style={{ color: colourOf(i) }}>■</b> <Fn name={rows[i]!.function} />
              </a>
            ),
          },
          { id: 'first', title: 'First run', width: 90, numeric: true, cell: i => percent(plot(i).points[0]!.y) },
          { id: 'last', title: 'Newest run', width: 100, numeric: true, cell: i => percent(plot(i).points.at(-1)!.y) },
          { id: 'mean', title: 'Mean', width: 80, numeric: true, cell: i => percent(rows[i]!.score) },
          { id: 'cost', title: 'Per operation', hint: 'mean of the runs', width: 220, numeric: true, text: i => (plot(i).cost ? metric(plot(i).cost!, plot(i).costUnit!) : ''), cell: i => plot(i).cost && metric(plot(i).cost!, plot(i).costUnit!) },
        ]}
      />
    </>
  );
}
