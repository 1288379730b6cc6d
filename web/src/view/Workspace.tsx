// The views of one tree or diff: one search, one selection, one list of transforms.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted, percent, rangeTitle, visible } from '../core/format';
import { callers, Inverted, type Nodes, path, Upright } from '../core/nodes';
import { functionRows, type Tree } from '../core/profile';
import { search } from '../core/search';
import { formatSelection, nodeOf, parseSelection, type Selection, selectionOf } from '../core/selection';
import { isOfFiles, linkToShare } from '../core/share';
import { remembered } from '../core/settings';
import { source } from '../core/source';
import { inSteps, large, type Steps } from '../core/steps';
import { none } from '../core/table';
import { severalThreads } from '../core/threads';
import { callees, everyFunction, formatPath, parseTransform, transform } from '../core/transforms';
import { place, update } from '../core/url';
import { type Colouring, functionBucket } from '../flame/palette';
import { type Key, useKeys } from '../ui/Keys';
import { useSteps, Waiting } from '../ui/Load';
import { type Group, type Item, Popup } from '../ui/Menu';
import { Panel } from '../ui/Panel';
import { copy, showTip } from '../ui/Tip';
import { labelFilters } from './activity';
import { pictureItems, tableItems } from './export';
import { FunctionTable } from './FunctionTable';
import { Graph } from './Graph';
import { historyOf, inStore, Sidebar } from './Sidebar';
import { Legend, Shown } from './Legend';
import { Toolbar } from './Toolbar';
import { TreeTable } from './TreeTable';
import { Chip } from '../ui/Chip';

export const viewNames = ['icicle', 'flame', 'tree', 'inverted', 'sandwich', 'functions', 'stack-chart', 'markers'] as const;
export type ViewName = (typeof viewNames)[number];
const titles: Record<ViewName, string> = {
  icicle: 'Icicle',
  flame: 'Flame',
  tree: 'Tree',
  inverted: 'Bottom-up',
  sandwich: 'Sandwich',
  functions: 'Functions',
  'stack-chart': 'Over time',
  markers: 'Markers',
};

interface Props {
  tree: Tree;
  /** The number of transforms, from the first, that the tree has already. */
  skip: number;
  /** Draws the stack chart; without it there is none. */
  chart?: () => ComponentChildren;
  /** Draws the list of markers. */
  markers?: (() => ComponentChildren) | undefined;
  /** The threads over time, above all views. */
  tracks?: ComponentChildren;
  /** Menus of the page, right of the views. */
  menus?: readonly Group[];
  /** What the colours of a diff mean. */
  legend?: ComponentChildren;
  /** Links to the files that the server writes. */
  downloads: Item[];
  title: string;
}

const details = remembered('details', true);
const sideWidth = remembered('side', 0);
const tracksShown = remembered('tracks', true);
const detailsWidth = remembered('details-width', 0);

/** Shows a tree with the transforms of the address; of a large one the tree before stays until they are done. */
export function Workspace(p: Props) {
  const { params } = place.value;
  const texts = params.getAll('transform');
  const kind = params.get('kind') ?? '';
  const list = texts
    .slice(p.skip)
    .map(parseTransform)
    .filter(x => x !== null);
  const { value, busy } = useSteps(() => transform(p.tree, list, kind), [p.tree, texts.join('\n'), kind], p.tree.table.n > large && (list.length > 0 || kind !== ''));
  return (
    <>
      {busy && <Waiting />}
      {value && <Views {...p} shown={value} texts={texts} kind={kind} />}
    </>
  );
}

function Views({ tree, shown, texts, kind, chart, markers, tracks, menus = [], legend, downloads, title }: Props & { shown: Tree; texts: string[]; kind: string }) {
  const params = place.value.params;
  const views = viewNames.filter(v => (v !== 'stack-chart' || chart) && (v !== 'markers' || markers));
  const view = views.find(v => v === params.get('view')) ?? 'icicle';
  const query = params.get('q') ?? '';
  const upright = useMemo(() => new Upright(shown), [shown]);
  const many = shown.table.n > large;
  // Of a large tree the graph is drawn first; what is beside it follows.
  const listed = useSteps(() => functionRows(shown), [shown], many);
  const late = !listed.busy;
  const rows = late ? listed.value! : [];
  const found = useMemo(() => search(shown, query), [shown, query]);
  const functions = shown.table.functions;
  const selected = parseSelection(functions, params.get('sel'));
  const fn = selected?.fn ?? none;
  const inverted = useSteps(() => (view === 'inverted' ? Inverted.of(shown) : nothing()), [shown, view === 'inverted'], many);
  const nodes: Nodes = (!inverted.busy && inverted.value) || upright;
  const node = nodeOf(nodes, selected);
  const zoomed = params.get('zoom') ? nodeOf(upright, parseSelection(functions, params.get('zoom'))) : none;
  const kinds = useMemo(() => [...new Set(tree.table.functions.map(f => f.kind).filter(Boolean))].sort(), [tree]);
  const colours = useMemo(() => {
    const all = shown.table.functions;
    const list: [Colouring, string, boolean][] = [
      ['diff', 'change', shown.isDiff],
      ['category', params.has('modes') ? 'compile mode' : 'category', !!shown.table.category && shown.table.categories.length > 2],
      ['owner', 'own code, library, runtime', all.some(f => f.own) && !all.every(f => f.own)],
      ['package', 'package', true],
      ['thread', 'class of thread', severalThreads(shown)],
      ['kind', 'kind of function', kinds.length > 1],
    ];
    return list.filter(c => c[2]);
  }, [shown, kinds]);
  const colouring = (colours.find(c => c[0] === params.get('color')) ?? colours[0]!)[0];
  const order = params.get('order') === 'width' ? 'width' : 'name';
  const searchBox = useRef<HTMLInputElement>(null);
  const main = useRef<HTMLDivElement>(null);

  const select = (s: Selection | null) => update({ sel: s && formatSelection(functions, s) });
  const selectFunction = (f: number) => select({ fn: f, path: null, inverted: null });
  const selectNode = (n: number) => select(selectionOf(nodes, n));
  const zoom = (n: number) => update({ zoom: n === none ? null : formatSelection(functions, selectionOf(upright, n)) }, true);
  const show = (v: ViewName) => update({ view: v === 'icicle' ? null : v }, true);
  const setTransforms = (list: string[]) => update({ transform: list, zoom: null }, true);
  const name = (f: number) => formatPath([functions[f]!.name]);
  const pathNames = (n: number, v: Nodes) => formatPath(path(v, n).map(f => functions[f]!.name));
  const add = (kindOf: string, arg: string) => setTransforms([...texts, `${kindOf}:${arg}`]);
  const withFunction = (kindOf: string) => fn !== none && add(kindOf, name(fn));
  const undo = () => texts.length > 0 && setTransforms(texts.slice(0, -1));
  /** Copies a link, or writes dropped files as a page in one file: no link leads to them. */
  const share = () => {
    if (isOfFiles(params)) downloads[0]?.run?.();
    else void linkToShare().then(address => copy(address, 'link'));
  };
  const showSource = () => {
    details.value = true;
    const hottest = fn === none && rows[0] ? rows.reduce((a, b) => (b.self.at(-1)! > a.self.at(-1)! ? b : a)) : undefined;
    update({ tab: 'source', ...(hottest && { sel: formatSelection(functions, { fn: hottest.fn, path: null, inverted: null }) }) });
  };
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null);
  const openMenu = (x: number, y: number) => {
    showTip(0, 0, null); // it would cover the menu
    setMenu({ x, y });
  };

  const stepping = useRef(new AbortController());
  const step = async (by: number) => {
    if (!found || found.count === 0) return;
    if (view === 'functions') {
      const hits = rows.filter(r => found.functions[r.fn]);
      const at = hits.findIndex(r => r.fn === fn);
      selectFunction(hits[(at + by + hits.length) % hits.length]!.fn);
      return;
    }
    stepping.current.abort();
    stepping.current = new AbortController();
    const next = await inSteps(nextMatch(nodes, found.functions, node, by), stepping.current.signal).catch(() => none);
    if (next !== none) selectNode(next);
  };
  const back = () => {
    if (query) update({ q: null });
    else if (zoomed !== none) update({ zoom: null }, true);
    else if (texts.length > 0) undo();
    else if (selected) update({ sel: null });
    else return false;
  };

  const transforms: { key: string; label: string; help: string; run: () => unknown }[] = [
    {
      key: 'f',
      label: 'Focus on function',
      help: 'show only the selected function and what it calls',
      run: () => withFunction('focus-function'),
    },
    {
      key: 'F',
      label: 'Focus on call path',
      help: 'show only the selected call path and what is below it',
      run: () => node !== none && add(view === 'inverted' ? 'focus-subtree-inverted' : 'focus-subtree', pathNames(node, nodes)),
    },
    { key: 'm', label: 'Hide function', help: 'hide the selected function: its time counts for its callers', run: () => withFunction('merge-function') },
    { key: 'd', label: 'Drop samples with it', help: 'leave out all samples with the selected function', run: () => withFunction('drop-function') },
    {
      key: 'r',
      label: 'Collapse recursion',
      help: 'show calls of the selected function to itself as one call; without a selection, of every function',
      run: () => add('collapse-recursion', fn === none ? everyFunction : name(fn)),
    },
    {
      key: 'C',
      label: 'Collapse callees',
      help: 'count everything that the selected function calls as its own time',
      run: () => withFunction('collapse-function'),
    },
    {
      key: 'R',
      label: 'Collapse module',
      help: 'show consecutive frames of its module as one',
      run: () => fn !== none && functions[fn]!.module && add('collapse-resource', formatPath([functions[fn]!.module])),
    },
    { key: 'x', label: 'Callers and callees', help: 'callers above, callees below the selected function (sandwich)', run: () => fn !== none && show('sandwich') },
  ];
  const keys: Key[] = [
    { keys: '/', help: 'search', run: () => searchBox.current?.select() },
    { keys: 'n', help: 'next match', run: () => step(1) },
    { keys: 'N', help: 'previous match', run: () => step(-1) },
    { keys: 'ArrowUp ArrowDown ArrowLeft ArrowRight', help: 'walk the tree', run: () => focusView(main.current) },
    { keys: 'Enter', help: 'zoom into the selected box', run: () => node !== none && zoom(nodeOf(upright, selected)) },
    { keys: 'Escape', help: 'one step back: search, zoom, transform', run: back },
    { keys: '0', help: 'show everything', run: () => update({ zoom: null, transform: null, q: null, kind: null }, true) },
    ...views.map((v, i) => ({ keys: String(i + 1), help: titles[v], run: () => show(v) })),
    { keys: 'i', help: 'bottom-up and back', run: () => show(view === 'inverted' ? 'tree' : 'inverted') },
    ...(!inStore() ? [] : [{ keys: 'l', help: 'lines of the selected function; without a selection, of the hottest', run: showSource }]),
    { keys: 's', help: 'details of the selection', run: () => (details.value = !details.value) },
    ...transforms.map(x => ({ keys: x.key, help: x.help, run: x.run })),
    { keys: 'Ctrl+z', help: 'undo the last transform', run: undo },
    { keys: 'c', help: 'copy the name', run: () => fn !== none && copy(functions[fn]!.name, 'name') },
    { keys: 'p', help: 'copy the call path', run: () => node !== none && copy(pathNames(node, nodes), 'call path') },
    { keys: 'y', help: 'copy the link', run: share },
  ];
  useKeys(keys);
  // A view has the focus when it opens, unless someone is at work elsewhere.
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.id === 'main') focusView(main.current);
  }, [view, late]);

  const graph = (
    v: Nodes,
    flipped: boolean,
    label: string,
    options: { selected?: number; zoomed?: number; onSelect?: (n: number) => void; onZoom?: (n: number) => void; overview?: boolean } = {},
  ) => (
    <Graph
      key={label}
      label={label}
      nodes={v}
      order={v.inverted ? 'width' : order}
      flipped={flipped}
      colouring={colouring}
      found={found?.functions ?? null}
      selected={options.selected ?? none}
      zoomed={options.zoomed ?? none}
      onSelect={options.onSelect ?? (n => selectFunction(v.fn(n)))}
      onZoom={options.onZoom ?? (n => n !== none && selectFunction(v.fn(n)))}
      onMenu={(n, x, y) => {
        (options.onSelect ?? (k => selectFunction(v.fn(k))))(n);
        openMenu(x, y);
      }}
      overview={options.overview ?? false}
    />
  );
  const list = (narrow: boolean) => late && (
    <FunctionTable
      key={String(shown.isDiff)}
      t={shown}
      rows={rows}
      found={found?.functions ?? null}
      selected={fn}
      onSelect={selectFunction}
      onOpen={f => {
        selectFunction(f);
        show('sandwich');
      }}
      onMenu={(f, x, y) => {
        selectFunction(f);
        openMenu(x, y);
      }}
      narrow={narrow}
    />
  );
  let content: ComponentChildren;
  switch (view) {
    case 'icicle':
    case 'flame':
      content = (
        <>
          <Panel width={sideWidth} at="left" label="Width of the list" class="side">{list(true)}</Panel>
          {graph(upright, view === 'flame', view === 'flame' ? 'Flame graph' : 'Icicle graph', {
            selected: node,
            zoomed,
            onSelect: selectNode,
            onZoom: zoom,
            overview: true,
          })}
        </>
      );
      break;
    case 'tree':
    case 'inverted':
      content = nodes.inverted !== (view === 'inverted') ? (
        <Waiting />
      ) : (
        <TreeTable
          key={view}
          label={view === 'tree' ? 'call tree' : 'bottom-up tree'}
          nodes={nodes}
          found={found?.functions ?? null}
          selected={node}
          onSelect={selectNode}
          onMenu={(n, x, y) => {
            selectNode(n);
            openMenu(x, y);
          }}
          onOpen={n => {
            if (view === 'inverted') return;
            update({ zoom: formatSelection(functions, selectionOf(upright, n)), view: null }, true);
          }}
        />
      );
      break;
    case 'functions':
      content = list(false);
      break;
    case 'sandwich':
      content = fn === none ? (
        <div class="list">
          <p class="note">Select a function to see its callers above and its callees below.</p>
          {list(false)}
        </div>
      ) : (
        <>
          <Panel width={sideWidth} at="left" label="Width of the list" class="side">{list(true)}</Panel>
          <Sandwich t={shown} fn={fn} graph={graph} />
        </>
      );
      break;
    case 'stack-chart':
      content = <Shown.Provider value={colouring}>{chart?.()}</Shown.Provider>;
      break;
    case 'markers':
      content = markers?.();
  }
  const against = params.get('against-range');
  const filters = (
    [
      ['thread', 'thread'],
      ['range', 'time'],
      ['search', 'stacks with'],
      ['kind', 'kind'],
      ...Object.entries(labelFilters),
    ] as const
  ).flatMap(([name, label]) => params.getAll(name).map(v => [name, label, v] as const));
  return (
    <div class="workspace">
      <Toolbar
        {...(source.value.offline ? {} : { share })}
        views={views.map(v => ({ name: v, title: titles[v], shown: v === view, show: () => show(v) }))}
        menus={[
          ...menus,
          ...(kinds.length > 1
            ? [
                {
                  label: kind || 'All kinds',
                  title: 'kind of functions',
                  items: [
                    { label: 'All kinds', checked: !kind, run: () => update({ kind: null }, true) },
                    ...kinds.map(k => ({ label: k, checked: k === kind, run: () => update({ kind: k }, true) })),
                  ],
                },
              ]
            : []),
          {
            label: 'Display',
            title: 'colours and order',
            items: [
              ...colours.map(([c, label]) => ({ label: `colour by ${label}`, checked: c === colouring, run: () => update({ color: c }) })),
              ...(kinds.includes('java') && !shown.isDiff && !source.value.offline && !params.has('modes')
                ? [{ label: 'colour by compile mode', hint: 'interpreted, c1, jit, inlined', checked: false, run: () => update({ modes: true, color: 'category' }, true) }]
                : []),
              { label: 'callees by name', hint: 'graphs of other runs look alike', checked: order === 'name', run: () => update({ order: null }) },
              { label: 'widest callee first', checked: order === 'width', run: () => update({ order: 'width' }) },
              { label: `${details.value ? 'hide' : 'show'} details of the selection`, hint: 's', run: () => (details.value = !details.value) },
              ...(tracks ? [{ label: `${tracksShown.value ? 'hide' : 'show'} threads over time`, run: () => (tracksShown.value = !tracksShown.value) }] : []),
            ],
          },
          { label: 'Export', items: [...downloads, ...tableItems(shown, rows, nodes, view, title), ...pictureItems(main.current, nodes, colouring, view, title, order)] },
        ]}
      >
        <div class="find" role="search">
          <input
            ref={searchBox}
            type="search"
            aria-label="Search functions"
            placeholder="Search: regular expression ( / )"
            spellcheck={false}
            autocomplete="off"
            value={query}
            onInput={e => update({ q: e.currentTarget.value })}
            onKeyDown={e => {
              if (e.key === 'Enter') step(e.shiftKey ? -1 : 1);
              else if (e.key === 'Escape') {
                update({ q: null });
                e.currentTarget.blur();
              } else return;
              e.preventDefault();
              e.stopPropagation();
            }}
          />
          {found && (
            <>
              <button type="button" aria-label="previous match" title="previous match (N)" onClick={() => step(-1)}>
                ‹
              </button>
              <button type="button" aria-label="next match" title="next match (n)" onClick={() => step(1)}>
                ›
              </button>
              <button
                type="button"
                title="keep only stacks with a match, as a transform"
                disabled={found.count === 0 || found.count > 200}
                onClick={() => {
                  setTransforms([
                    ...texts,
                    `filter:function-include:${formatPath([...new Set(functions.filter((_, i) => found.functions[i]).map(f => f.name))])}`,
                  ]);
                }}
              >
                Keep
              </button>
              <output class="dim" title={found.literal ? 'not a regular expression: searched as it is' : undefined}>
                {counted(found.count, 'function')}, {found.share.map(percent).join(' → ')}
                {found.literal && ' (as text)'}
              </output>
            </>
          )}
        </div>
      </Toolbar>
      <div class="under">
      {(texts.length > 0 || zoomed !== none || filters.length > 0 || against) && (
      <nav class="crumbs" aria-label="Transforms and zoom">
        <button
          type="button"
          onClick={() => update({ zoom: null, transform: null, kind: null, ...Object.fromEntries(filters.map(([name]) => [name, null])) }, true)}
        >
          all
        </button>
        {texts.map((x, i) => (
          <Chip key={i} label={`remove ${words(x)}`} remove={() => setTransforms(texts.filter((_, k) => k !== i))}>
            <button type="button" title="undo what came after" onClick={() => setTransforms(texts.slice(0, i + 1))}>
              {words(x)}
            </button>
          </Chip>
        ))}
        {filters.map(([name, label, value]) => (
          <Chip key={name + value} label={`remove ${label} ${visible(value)}`} remove={() => update({ [name]: params.getAll(name).filter(v => v !== value) }, true)}>
            <button type="button" disabled>
              {label}: {name === 'range' ? rangeTitle(value) : visible(value)}
            </button>
          </Chip>
        ))}
        {params.has('range') && !tree.isDiff && (
          <button type="button" onClick={() => update({ 'against-range': params.get('range'), range: null }, true)}>
            Compare with another time…
          </button>
        )}
        {against && (
          <Chip label="Cancel" role="status" remove={() => update({ 'against-range': null }, true)}>
            {`Base: ${rangeTitle(against)}. Drag over the time to compare with it.`}
          </Chip>
        )}
        {zoomed !== none &&
          path(upright, zoomed)
            .slice(-4)
            .map((f, i, all) => (
              <button
                key={i}
                type="button"
                aria-current={i === all.length - 1 ? 'true' : undefined}
                onClick={() => {
                  let n = zoomed;
                  for (let up = all.length - 1 - i; up > 0; up--) n = upright.parent(n);
                  zoom(n);
                }}
              >
                {visible(functions[f]!.name.slice(functions[f]!.name.lastIndexOf('/', functions[f]!.pkg) + 1))}
              </button>
            ))}
      </nav>
      )}
      {colouring === 'diff' ? view !== 'functions' && legend : (['icicle', 'flame'].includes(view) || (view === 'sandwich' && fn !== none) || (view === 'stack-chart' && functionBucket[colouring])) && <Legend t={shown} colouring={colouring} />}
      </div>
      {tracksShown.value && tracks}
      {menu && fn !== none && (
        <Popup
          label={visible(functions[fn]!.name)}
          x={menu.x}
          y={menu.y}
          close={() => setMenu(null)}
          items={[
            ...(node !== none && view !== 'inverted' ? [{ label: 'Zoom', hint: 'Enter', run: () => zoom(node) }] : []),
            ...transforms.map(t => ({ label: t.label, hint: t.key, title: t.help, run: () => void t.run() })),
            { label: 'Search for it', hint: '/', title: 'mark all boxes of this function', run: () => update({ q: functions[fn]!.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') }) },
            { label: 'Copy name', hint: 'c', run: () => copy(functions[fn]!.name, 'name') },
            ...(node !== none ? [{ label: 'Copy call path', hint: 'p', run: () => copy(pathNames(node, nodes), 'call path') }] : []),
            ...(!inStore()
              ? []
              : [
                  ...(historyOf(functions[fn]!.name) ? [{ label: 'History of this function', title: 'its share and cost over time', href: historyOf(functions[fn]!.name) }] : []),
                  { label: 'Show source', hint: 'l', title: 'its lines with self and total beside their text', run: showSource },
                ]),
          ]}
        />
      )}
      <div ref={main} class={`views ${view}`}>
        {content}
        {details.value && late && fn !== none && (
          <Panel width={detailsWidth} at="right" label="Width of the details" class="beside"><Sidebar
            t={shown}
            fn={fn}
            nodes={nodes}
            node={node}
            rows={rows}
            onSelect={selectFunction}
            onClose={() => (details.value = false)}
            actions={transforms.map(x => ({ label: x.label, key: x.key, title: x.help, run: () => void x.run() }))}
          /></Panel>
        )}
      </div>
    </div>
  );
}

function* nothing(): Steps<null> {
  return null;
}

/** Moves the focus into the view, so that its own keys work. */
function focusView(e: HTMLElement | null): boolean {
  const target = e?.querySelector<HTMLElement>('.flame') ?? e?.querySelector<HTMLElement>('.table');
  if (!target || target === document.activeElement) return false;
  target.focus({ preventScroll: true });
  return true;
}

function words(text: string): string {
  const x = parseTransform(text);
  if (!x) return visible(text);
  const last = x.args[x.args.length - 1]!.replace(/^\*$/, 'every function');
  return visible(
    `${x.kind.replace('filter:', '').replace(/-/g, ' ')}${x.only ? ` (${x.only})` : ''}: ${last.slice(last.lastIndexOf('/') + 1)}`,
  );
}

/** The next node that matches, in the order of display, which opens what is closed. */
function* nextMatch(v: Nodes, found: Uint8Array, from: number, by: number): Steps<number> {
  const limit = 200_000;
  const order: number[] = [];
  const pending = [...v.children(none)].reverse();
  while (pending.length > 0 && order.length < limit) {
    const n = pending.pop()!;
    order.push(n);
    if (order.length % 1024 === 0) yield;
    if (v.inverted && v.depth(n) > 3) continue;
    const list = v.children(n);
    for (let i = list.length - 1; i >= 0; i--) pending.push(list[i]!);
  }
  const at = order.indexOf(from);
  for (let i = 1; i <= order.length; i++) {
    const n = order[(((at + by * i) % order.length) + order.length) % order.length]!;
    if (found[v.fn(n)]) return n;
  }
  return none;
}

function Sandwich({ t, fn, graph }: { t: Tree; fn: number; graph: (v: Nodes, flipped: boolean, label: string) => ComponentChildren }) {
  const { value: both } = useSteps(
    function* () {
      const set = new Uint8Array(t.table.functions.length);
      set[fn] = 1;
      return { up: yield* callers(t, set), down: new Upright(yield* callees(t, set)) };
    },
    [t, fn],
    t.table.n > large,
  );
  return !both ? <Waiting /> : (
    <div class="sandwich-graphs">
      <section aria-label="Callers">
        <h2>Callers</h2>
        {graph(both.up, true, 'Callers')}
      </section>
      <section aria-label="Callees">
        <h2>Callees</h2>
        {graph(both.down, false, 'Callees')}
      </section>
    </div>
  );
}
