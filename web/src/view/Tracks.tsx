// The threads of a profile over time, a row for each, and the markers of the profile as a table.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Activity, MarkerRow } from '../core/answers';
import { counted, number, visible } from '../core/format';
import { dataParams } from '../core/request';
import { place, update } from '../core/url';
import { Axis } from '../ui/Axis';
import { Await, useAnswer } from '../ui/Load';
import { sortBy, Table, useSort } from '../ui/Table';
import { choose as chooseRange } from './Chart';
import './tracks.css';

const height = 18;

/** One row per thread: its width is the time, its height how busy the thread was. */
export function Tracks({ of }: { of: Activity }) {
  const { params } = place.value;
  const chosen = params.getAll('thread');
  const span = of.to - of.from;
  const most = useMemo(() => Math.max(1, ...of.rows.flatMap(r => r.use)), [of]);
  const ref = useRef<HTMLDivElement>(null);
  const [drag, draw] = useState<[number, number] | null>(null);
  const held = useRef(drag); // events may follow each other before a render
  const setDrag = (ends: [number, number] | null) => draw((held.current = ends));
  const at = (e: PointerEvent) => {
    const r = ref.current!.getBoundingClientRect();
    return Math.max(0, Math.min(1, (e.clientX - r.left) / r.width));
  };
  const range = drag ?? readRange(params.get('range'))?.map(t => (t - of.from) / span);
  const choose = (name: string) => update({ thread: chosen.includes(name) ? null : name, zoom: null }, true);
  const names = useMemo(() => of.rows.map(r => (r.name && of.rows.filter(x => x.name === r.name).length === 1 ? r.name : r.id || r.name)), [of]);
  const nameOf = (i: number) => names[i]!;
  return (
    <section class="tracks" aria-label="Threads over time">
      <div class="track-names">
        <small class="dim">{counted(of.rows.length, 'thread')}</small>
        {of.rows.map((r, i) => (
          <button
            key={nameOf(i)}
            type="button"
            aria-pressed={chosen.includes(nameOf(i))}
            title={[visible(r.name), r.id, visible(r.process), counted(r.samples, 'sample')].filter(Boolean).join(', ')}
            onClick={() => choose(nameOf(i))}
          >
            {visible(r.name || r.id || 'thread')}
          </button>
        ))}
      </div>
      <div class="track-times">
        <Axis from={of.from} to={of.to} format={t => `${number(t)} ms`} />
        <div
          ref={ref}
          class="track-rows"
          title="Drag over the rows to choose a range of time, click one to choose its thread."
          onPointerDown={e => {
            if (e.button !== 0) return;
            e.currentTarget.setPointerCapture(e.pointerId);
            setDrag([at(e), at(e)]);
          }}
          onPointerMove={e => held.current && setDrag([held.current[0], at(e)])}
          onPointerUp={e => {
            const ends = held.current;
            if (!ends) return;
            setDrag(null);
            const [a, b] = [Math.min(...ends), Math.max(...ends)];
            if ((b - a) * ref.current!.clientWidth > 4) chooseRange(`${(of.from + a * span).toFixed(3)}..${(of.from + b * span).toFixed(3)}`);
            else {
              const i = Math.floor((e.clientY - ref.current!.getBoundingClientRect().top) / height);
              if (of.rows[i]) choose(nameOf(i));
            }
          }}
          onPointerCancel={() => setDrag(null)}
        >
          {of.rows.map((r, i) => (
            <svg key={nameOf(i)} class={chosen.length > 0 && !chosen.includes(nameOf(i)) ? 'other' : ''} viewBox={`0 0 ${r.use.length} ${height}`} preserveAspectRatio="none" aria-hidden="true">
              <path d={`M0 ${height}${r.use.map((n, x) => `L${x} ${(height - (n / most) * (height - 2)).toFixed(1)}h1`).join('')}V${height}z`} />
            </svg>
          ))}
          {range && <i style={{ left: `${100 * Math.min(...range)}%`, width: `${100 * Math.abs(range[1]! - range[0]!)}%` }} />}
        </div>
      </div>
    </section>
  );
}

const readRange = (text: string | null): number[] | undefined => {
  const ends = text?.split('..').map(Number);
  return ends?.length === 2 && ends.every(Number.isFinite) ? ends : undefined;
};

/** What the program or its runtime recorded: requests, collections, spans. */
export function Markers({ params, zero }: { params: URLSearchParams; zero: number }) {
  const q = dataParams(params);
  q.set('view', 'markers');
  q.set('rows', '20000');
  const answer = useAnswer<{ rows: MarkerRow[] }>('tree', q);
  const { sort, onSort } = useSort('start', ['start', 'name', 'category', 'thread']);
  const [selected, select] = useState(-1);
  const words = (params.get('q') ?? '').toLowerCase();
  return (
    <Await of={answer} what="the markers">
      {({ rows }) => {
        const text = (m: MarkerRow) => m.fields.map(f => `${f.key}=${f.text ?? `${number(f.number ?? 0)} ${f.unit ?? ''}`.trim()}`).join(' ');
        const keys: Record<string, (m: MarkerRow) => number | string> = { start: m => m.start, length: m => m.end - m.start, name: m => m.name, category: m => m.category, thread: m => m.thread };
        const found = rows.filter(m => !words || `${m.name} ${m.category} ${m.thread} ${text(m)}`.toLowerCase().includes(words));
        const list = sortBy(found, keys[sort.id]!, sort.descending);
        return (
          <Table
            label="markers"
            rows={list.length}
            columns={[
              { id: 'start', title: 'Start, ms', width: 100, numeric: true, sortable: true, cell: i => number(list[i]!.start - zero) },
              { id: 'length', title: 'Duration, ms', width: 110, numeric: true, sortable: true, cell: i => (list[i]!.end > list[i]!.start ? number(list[i]!.end - list[i]!.start) : '–') },
              { id: 'name', title: 'Name', width: 200, sortable: true, cell: i => visible(list[i]!.name) },
              { id: 'fields', title: 'Fields', cell: i => <span class="dim">{visible(text(list[i]!))}</span> },
              { id: 'category', title: 'Category', width: 120, sortable: true, optional: 1, cell: i => visible(list[i]!.category) },
              { id: 'thread', title: 'Thread', width: 160, sortable: true, optional: 2, cell: i => visible(list[i]!.thread) },
            ]}
            sort={sort}
            onSort={onSort}
            selected={selected}
            onSelect={select}
            onOpen={i => {
              const { start, end } = list[i]!;
              if (end > start) update({ range: `${(start - zero).toFixed(3)}..${(end - zero).toFixed(3)}`, view: null }, true);
            }}
            empty={words ? 'No marker matches the search.' : 'No markers in this range.'}
          />
        );
      }}
    </Await>
  );
}
