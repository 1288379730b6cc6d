// The stack chart: what every thread did over time, one chart per thread over one axis.
import type { WireFunction } from '../core/answers';
import type { ComponentChildren } from 'preact';
import { useContext, useMemo, useState } from 'preact/hooks';
import { type ChartWire, chartBoxes, extent } from '../core/boxes';
import { counted, number, visible } from '../core/format';
import { readFunction } from '../core/profile';
import { dataParams, selectionParams } from '../core/request';
import { matches } from '../core/search';
import { idOf, parseSelection } from '../core/selection';
import { none } from '../core/table';
import { type Changes, go, place, update } from '../core/url';
import { row } from '../flame/sheet';
import { functionBucket } from '../flame/palette';
import { Axis } from '../ui/Axis';
import { Await, useAnswer } from '../ui/Load';
import { Name, placeOf } from './describe';
import { Canvas } from './Graph';
import { Shown } from './Legend';
import { Pairs } from '../ui/Tip';

interface Thread {
  name: string;
  id: string;
  process: string;
  samples: number;
}

/** The boxes of one chart. */
interface Side {
  columns: ChartWire['columns'] & {
    functions: WireFunction[];
  };
  /** The time from which ranges count, in ms since the start of the profile. */
  zero?: number;
}

interface Answer extends Side {
  threads?: Thread[];
}

/** The charts of both sides, which begin at 0. */
interface DiffAnswer {
  columns: { base: Side['columns']; head: Side['columns'] };
  threads?: { name: string; base: number; head: number }[];
}

const mostThreads = 8;

/** The parameters of a chart: the data, with all transforms and the kind, which the server applies. */
function chartParams(params: URLSearchParams, thread?: string): URLSearchParams {
  const q = dataParams(params);
  q.delete('transform');
  for (const x of params.getAll('transform')) q.append('transform', x);
  const kind = params.get('kind');
  if (kind) q.set('kind', kind);
  if (thread !== undefined) {
    q.delete('thread');
    q.set('thread', thread);
  }
  q.set('view', 'stack-chart');
  q.set('form', 'columns');
  return q;
}

export function Chart({ params }: { params: URLSearchParams }) {
  const all = useAnswer<Answer>('tree', chartParams(params));
  return (
    <div class="charts">
      <Await of={all} what="the stack chart">
        {answer => {
          const chosen = params.getAll('thread');
          const threads = (answer.threads ?? [])
            .filter(t => chosen.length === 0 || chosen.includes(t.name) || chosen.includes(t.id))
            .sort((a, b) => b.samples - a.samples);
          const { boxes, from, to } = chartBoxes(answer);
          const range: [number, number] = [from, to];
          const unit = unitOf(params);
          if (to <= from)
            return (
              <p class="empty">
                {boxes.n === 0
                  ? 'No sample of this selection says when it was taken.'
                  : 'All samples are of one moment: there is nothing to show over time.'}
              </p>
            );
          if (threads.length < 2)
            return (
              <>
                <Hint />
                <Lane title={threads[0] ? titleOf(threads[0]) : 'all samples'} answer={answer} range={range} unit={unit} tall />
              </>
            );
          return (
            <>
              <Hint />
              <Most of={threads}>{t => <ThreadLane key={t.id + t.name} thread={t} params={params} range={range} unit={unit} />}</Most>
            </>
          );
        }}
      </Await>
    </div>
  );
}

/** The first threads, and a button that shows the others too. */
function Most<T>({ of, children }: { of: T[]; children: (thread: T) => ComponentChildren }) {
  const [most, setMost] = useState(mostThreads);
  return (
    <>
      {of.slice(0, most).map(children)}
      {of.length > most && (
        <p class="note">
          {counted(of.length - most, 'thread')} with fewer samples not shown.{' '}
          <button type="button" onClick={() => setMost(of.length)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

/** The stack charts of a diff: of every thread both sides, one above the other, over one axis. */
export function DiffChart({ params }: { params: URLSearchParams }) {
  const all = useAnswer<DiffAnswer>('diff', chartParams(params));
  return (
    <div class="charts">
      <Await of={all} what="the stack charts">
        {answer => {
          const chosen = params.getAll('thread');
          const threads = (answer.threads ?? []).filter(t => chosen.length === 0 || chosen.includes(t.name));
          const both = threads.filter(t => t.base > 0 && t.head > 0);
          const range = rangeOf(answer);
          const unit = unitOf(params);
          if (both.length < 2) return <Pair title={visible(both[0]?.name ?? '')} answer={answer} range={range} unit={unit} />;
          return (
            <>
              <Hint />
              <Most of={both}>{t => <ThreadPair key={t.name} name={t.name} params={params} range={range} unit={unit} />}</Most>
              {threads.length > both.length && (
                <p class="note">{counted(threads.length - both.length, 'thread')} that only one side has not shown.</p>
              )}
            </>
          );
        }}
      </Await>
    </div>
  );
}

function ThreadPair({ name, params, range, unit }: { name: string; params: URLSearchParams; range: [number, number]; unit: string }) {
  const answer = useAnswer<DiffAnswer>('diff', chartParams(params, name));
  return (
    <Await of={answer} what={`thread ${visible(name)}`}>
      {a => <Pair title={visible(name)} thread={name} answer={a} range={range} unit={unit} />}
    </Await>
  );
}

function Pair({ title, thread, answer, range, unit }: { title: string; thread?: string; answer: DiffAnswer; range: [number, number]; unit: string }) {
  return (
    <>
      {sides.map(side => (
        <Lane
          key={side}
          title={[side, title].filter(Boolean).join(': ')}
          {...(thread && side === 'base' ? { thread } : {})}
          answer={{ columns: answer.columns[side] }}
          range={range}
          unit={unit}
        />
      ))}
    </>
  );
}

const sides = ['base', 'head'] as const;

/** The time that both sides of a diff take. */
function rangeOf(answer: DiffAnswer): [number, number] {
  const ends = sides.map(side => chartBoxes({ columns: answer.columns[side] }));
  return [Math.min(...ends.map(e => e.from)), Math.max(...ends.map(e => e.to))];
}

const unitOf = (params: URLSearchParams) => (params.has('same-width') ? 'stacks' : 'ms');

const rangeText = (a: number, b: number) => `${a.toFixed(3)}..${b.toFixed(3)}`;

const titleOf = (t: Thread) => visible([t.name, t.id && t.id !== t.name && `(${t.id})`].filter(Boolean).join(' ') || 'thread');

function ThreadLane({ thread, params, range, unit }: { thread: Thread; params: URLSearchParams; range: [number, number]; unit: string }) {
  const answer = useAnswer<Answer>('tree', chartParams(params, thread.id || thread.name));
  return (
    <Await of={answer} what={`thread ${titleOf(thread)}`}>
      {a => (
        <Lane
          thread={thread.id || thread.name}
          title={`${titleOf(thread)}, ${counted(thread.samples, 'sample')}`}
          answer={a}
          range={range}
          unit={unit}
        />
      )}
    </Await>
  );
}

/** What to do in a chart; what was chosen is above the views. */
const Hint = () =>
  !place.value.params.has('range') && !place.value.params.has('against-range') && <p class="note">Drag over a chart to choose a range of time for all views.</p>;

/** Shows what was dragged over, or its difference from the range that was chosen before. */
export function choose(range: string): void {
  const { params } = place.value;
  const base = params.get('against-range');
  if (!base) {
    update({ range }, true);
    return;
  }
  const sides: Changes = { 'base-range': base, 'head-range': range };
  for (const [name, value] of selectionParams(params)) {
    if (name === 'file') Object.assign(sides, { 'base-file': value, 'head-file': value });
    else sides[name] = params.getAll(name);
  }
  for (const name of ['type', 'thread']) if (params.has(name)) sides[name] = params.getAll(name);
  go('diff', sides);
}

function Lane({
  title,
  thread,
  answer,
  range,
  unit,
  tall = false,
}: {
  title: string;
  thread?: string;
  answer: Side;
  range: [number, number];
  unit: string;
  tall?: boolean;
}) {
  const { boxes, from, to } = useMemo(() => chartBoxes(answer, range), [answer, range[0], range[1]]);
  const functions = useMemo(() => answer.columns.functions.map(readFunction), [answer]);
  const shownColours = useContext(Shown);
  const colouring = functionBucket[shownColours] ? shownColours : 'package'; // the others are of call nodes
  const bucket = useMemo(() => {
    const of = functions.map(functionBucket[colouring]!);
    return (i: number) => of[boxes.fn[i]!]!;
  }, [functions, boxes, colouring]);
  const { params } = place.value;
  const query = params.get('q') ?? '';
  const found = useMemo(() => (query ? matches(functions, query).functions : null), [functions, query]);
  const selected = parseSelection(functions, params.get('sel'));
  const [box, setBox] = useState(none);
  const [zoomed, setZoomed] = useState(none);
  const shown = box !== none && box < boxes.n && boxes.fn[box] === selected?.fn ? box : selected ? boxes.fn.indexOf(selected.fn) : none;
  const zero = unit === 'ms' ? (answer.zero ?? 0) : 0;
  const time = (at: number) => from - zero + at * (to - from);
  const [view, setView] = useState<[number, number]>([0, 1]);
  const text = (i: number) =>
    `${visible(functions[boxes.fn[i]!]!.name)}, from ${number(time(extent(boxes, i)[0]))} to ${number(time(extent(boxes, i)[1]))} ${unit}`;
  return (
    <section class={`lane ${tall ? 'tall-lane' : ''}`} aria-label={title}>
      <h2>
        {title}
        {thread && (
          <button type="button" title="this thread in all views" onClick={() => update({ thread }, true)}>
            only this
          </button>
        )}
      </h2>
      <Axis from={time(view[0])} to={time(view[1])} format={t => `${number(t)} ${unit}`} />
      <div class="lane-graph" style={tall ? {} : { height: `${Math.min(boxes.deepest, 16) * row + 6}px` }}>
        <Canvas
          label={`Stacks of ${title} over time`}
          boxes={boxes}
          of={boxes}
          functions={functions}
          bucket={bucket}
          flipped={false}
          colouring={colouring}
          found={found}
          selected={shown}
          zoomed={zoomed}
          onSelect={b => {
            setBox(b);
            update({ sel: `f.${idOf(functions[boxes.fn[b]!]!)}` });
          }}
          onZoom={setZoomed}
          onMoved={(a, b) => setView([a, b])}
          {...(unit === 'ms'
            ? { onRange: (a: number, b: number) => choose(rangeText(time(a), time(b))) }
            : {})}
          tip={i => (
            <>
              <b>
                <Name f={functions[boxes.fn[i]!]!} short={false} />
              </b>
              <small>{placeOf(functions[boxes.fn[i]!]!)}</small>
              <Pairs of={[['from', `${number(time(extent(boxes, i)[0]))} ${unit}`], ['for', `${number(boxes.width[i]! * (to - from))} ${unit}`]]} />
            </>
          )}
          text={text}
        />
      </div>
    </section>
  );
}
