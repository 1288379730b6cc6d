// The stack chart: what every thread did over time, one chart per thread over one axis.
import type { WireFunction } from '../core/answers';
import type { ComponentChildren } from 'preact';
import { useContext, useMemo, useState } from 'preact/hooks';
import { type ChartWire, chartBoxes, extent } from '../core/boxes';
import { counted, number, visible } from '../core/format';
import { readFunction } from '../core/profile';
import { selectionParams, shownParams } from '../core/request';
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

/** A thread of a profile, or of both sides of a diff. */
interface Thread {
  name: string;
  id?: string;
  samples?: number;
  base?: number;
  head?: number;
}

type Columns = ChartWire['columns'] & { functions: WireFunction[] };

/** The boxes of one chart. */
interface Side {
  columns: Columns;
  /** The time from which ranges count, in ms since the start of the profile. */
  zero?: number;
}

/** One chart, or of a diff those of both sides, which begin at 0. */
type Answer = (Side | { columns: { base: Columns; head: Columns } }) & { threads?: Thread[] };

const mostThreads = 8;

/** The parameters of a chart, of one thread or those of the address. */
const chartParams = (params: URLSearchParams, thread = ''): URLSearchParams => shownParams(params, { view: 'stack-chart', form: 'columns', thread });

/** The charts of an answer, with what tells them apart. */
const sidesOf = (a: Answer): [name: string, side: Side][] =>
  'base' in a.columns
    ? [
        ['base', { columns: a.columns.base }],
        ['head', { columns: a.columns.head }],
      ]
    : [['', a as Side]];

/** The stack charts of a profile, or of a diff: of every thread, both sides one above the other, over one axis. */
export function Chart({ path, params }: { path: 'tree' | 'diff'; params: URLSearchParams }) {
  const all = useAnswer<Answer>(path, chartParams(params));
  const [most, setMost] = useState(mostThreads);
  return (
    <div class="charts">
      <Await of={all} what="the stack chart">
        {answer => {
          const chosen = params.getAll('thread');
          const known = (answer.threads ?? []).filter(t => chosen.length === 0 || chosen.includes(t.name) || chosen.includes(t.id ?? ''));
          const threads = known.filter(t => t.base !== 0 && t.head !== 0).sort((a, b) => (b.samples ?? 0) - (a.samples ?? 0));
          const ends = sidesOf(answer).map(([, side]) => chartBoxes(side));
          const range: [number, number] = [Math.min(...ends.map(e => e.from)), Math.max(...ends.map(e => e.to))];
          const lanes = (a: Answer, title: string, thread?: string) =>
            sidesOf(a).map(([name, side]) => (
              <Lane key={name} title={[name, title].filter(Boolean).join(': ')} {...(thread && name !== 'head' ? { thread } : {})} answer={side} range={range} unit={unitOf(params)} tall={path === 'tree' && !thread} />
            ));
          if (range[1] <= range[0])
            return (
              <p class="empty">
                {ends[0]!.boxes.n === 0 ? 'No sample of this selection says when it was taken.' : 'All samples are of one moment: there is nothing to show over time.'}
              </p>
            );
          return (
            <>
              {!params.has('range') && !params.has('against-range') && <p class="note">Drag over a chart to choose a range of time for all views.</p>}
              {threads.length < 2
                ? lanes(answer, threads[0] ? titleOf(threads[0]) : path === 'tree' ? 'all samples' : '')
                : threads.slice(0, most).map(t => (
                    <OfThread key={`${t.id} ${t.name}`} t={t} path={path} params={params}>
                      {a => lanes(a, titleOf(t) + (t.samples ? `, ${counted(t.samples, 'sample')}` : ''), t.id || t.name)}
                    </OfThread>
                  ))}
              {threads.length > most && (
                <p class="note">
                  {counted(threads.length - most, 'thread')} with fewer samples not shown.{' '}
                  <button type="button" onClick={() => setMost(threads.length)}>
                    Show all
                  </button>
                </p>
              )}
              {known.length > threads.length && <p class="note">{counted(known.length - threads.length, 'thread')} that only one side has not shown.</p>}
            </>
          );
        }}
      </Await>
    </div>
  );
}

function OfThread({ t, path, params, children }: { t: Thread; path: string; params: URLSearchParams; children: (a: Answer) => ComponentChildren }) {
  const answer = useAnswer<Answer>(path, chartParams(params, t.id || t.name));
  return (
    <Await of={answer} what={`thread ${titleOf(t)}`}>
      {children}
    </Await>
  );
}

const unitOf = (params: URLSearchParams) => (params.has('same-width') ? 'stacks' : 'ms');

const rangeText = (a: number, b: number) => `${a.toFixed(3)}..${b.toFixed(3)}`;

const titleOf = (t: Thread) => visible([t.name, t.id && t.id !== t.name && `(${t.id})`].filter(Boolean).join(' ') || 'thread');

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
