// The flame graph as a component: canvas, overview, keys, and words for screen readers.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Boxes, boxOf, flameBoxes, nodeOf, type Order } from '../core/boxes';
import { amount, counted, percent, relative, scaled, visible } from '../core/format';
import type { Nodes } from '../core/nodes';
import { large } from '../core/steps';
import { dark, paper } from '../core/settings';
import { type Func, none } from '../core/table';
import { Icicle, paintOverview, type Scene } from '../flame/icicle';
import { threadsOf } from '../core/threads';
import { type Colouring, diffBucket, functionBucket, palette } from '../flame/palette';
import { Axis } from '../ui/Axis';
import { useSteps, Waiting } from '../ui/Load';
import { showTip } from '../ui/Tip';
import { Name, Numbers, placeOf } from './describe';
import { useWidth } from '../ui/width';

interface Props {
  label: string;
  nodes: Nodes;
  order: Order;
  flipped: boolean;
  colouring: Colouring;
  found: Uint8Array | null;
  selected: number;
  zoomed: number;
  onSelect: (node: number) => void;
  onZoom: (node: number) => void;
  onMenu?: (node: number, x: number, y: number) => void;
  overview?: boolean;
}

/** Of an inverted tree nodes below this share are not made. */
const least = 1 / 16384;

const nothing = { n: 0, fn: new Uint8Array(0), node: null } as unknown as Boxes;

export function Graph(p: Props) {
  const { nodes } = p;
  const t = nodes.tree;
  const made = useSteps(
    function* () {
      return { nodes, boxes: yield* flameBoxes(nodes, { order: p.order, least: nodes.inverted ? least : 0 }) };
    },
    [nodes, p.order],
    t.table.n > large && (nodes.inverted || p.order === 'width'),
  );
  const boxes = made.value?.nodes === nodes ? made.value.boxes : nothing;
  const bucket = useMemo(() => bucketsOf(nodes, boxes, p.colouring), [nodes, boxes, p.colouring]);
  if (boxes === nothing) return <Waiting />;
  const tip = (box: number) => {
    return <NodeTip nodes={nodes} node={nodeOf(boxes, box)} />;
  };
  const text = (box: number) => describe(nodes, nodeOf(boxes, box));
  return (
    <>
      <Canvas
        {...p}
        functions={t.table.functions}
        boxes={boxes}
        of={nodes}
        bucket={bucket}
        colours={t.table.categories.map(c => c.color)}
        selected={boxOf(boxes, p.selected)}
        zoomed={boxOf(boxes, p.zoomed)}
        onSelect={b => p.onSelect(nodeOf(boxes, b))}
        onZoom={b => p.onZoom(b === none ? none : nodeOf(boxes, b))}
        {...(p.onMenu ? { onMenu: (b: number, x: number, y: number) => p.onMenu!(nodeOf(boxes, b), x, y) } : {})}
        tip={tip}
        text={text}
        {...(p.overview && !t.isDiff ? { axis: { whole: t.root[0]!, unit: t.unit } } : {})}
      />
      {nodes.inverted && boxes.omitted > 0 && <p class="note">{counted(boxes.omitted, 'subtree')} below 0.006% of the width not drawn</p>}
    </>
  );
}

/** The colour of each box. */
export function bucketsOf(nodes: Nodes, boxes: Boxes, colouring: Colouring): (box: number) => number {
  const { functions } = nodes.tree.table;
  if (colouring === 'category') return i => nodes.category(nodeOf(boxes, i)) + 1;
  if (colouring === 'thread') {
    const of = nodes.inverted ? null : threadsOf(nodes.tree);
    return i => (of?.[nodeOf(boxes, i)] ?? none) + 1;
  }
  if (colouring === 'diff') {
    const t = nodes.tree;
    return i => {
      const n = nodeOf(boxes, i);
      const [base, now] = [nodes.total(n, 0), nodes.total(n, 1)];
      return diffBucket(t.change(base, now, nodes.outside(n)) / (Math.max(Math.abs(base), Math.abs(now)) || 1));
    };
  }
  const bucket = functionBucket[colouring]!;
  const of: (number | undefined)[] = []; // of the functions that were drawn
  return i => {
    const f = boxes.fn[i]!;
    return (of[f] ??= bucket(functions[f]!));
  };
}

export function NodeTip({ nodes, node }: { nodes: Nodes; node: number }) {
  const t = nodes.tree;
  const f = t.table.functions[nodes.fn(node)]!;
  const sides = t.self.map((_, s) => s);
  const category = t.table.categories[nodes.category(node)]?.name;
  return (
    <>
      <b>
        <Name f={f} short={false} />
      </b>
      <small>{[placeOf(f), category].filter(Boolean).join(' · ')}</small>
      <Numbers t={t} self={sides.map(s => nodes.self(node, s))} total={sides.map(s => nodes.total(node, s))} outside={nodes.outside(node)} />
    </>
  );
}

/** A node in words, for screen readers. */
function describe(nodes: Nodes, node: number): string {
  const t = nodes.tree;
  const f = t.table.functions[nodes.fn(node)]!;
  const last = t.sides - 1;
  const total = nodes.total(node, last);
  const words = [
    visible(f.name),
    `${percent(t.root[last] ? total / t.root[last]! : 0)} total`,
    `${amount(nodes.self(node, last), t.unit)} self`,
  ];
  if (t.isDiff) words.push(relative(nodes.total(node, 0), total) || 'unchanged');
  return `${words.join(', ')}, depth ${nodes.depth(node) + 1}`;
}

interface CanvasProps {
  label: string;
  boxes: Boxes;
  of: object;
  functions: readonly Func[];
  bucket: (box: number) => number;
  colours?: string[];
  flipped: boolean;
  colouring: Colouring;
  found: Uint8Array | null;
  selected: number;
  zoomed: number;
  overview?: boolean;
  onSelect: (box: number) => void;
  onZoom: (box: number) => void;
  onMenu?: (box: number, x: number, y: number) => void;
  onRange?: (from: number, to: number) => void;
  onMoved?: (from: number, to: number) => void;
  tip: (box: number) => preact.ComponentChildren;
  text: (box: number) => string;
  /** The value of the whole width, for an axis. */
  axis?: { whole: number; unit: string };
}

const sheetWidth = 718; // px, of A4 between its margins

/** Boxes on a canvas. */
export function Canvas(p: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  const graph = useRef<Icicle | null>(null);
  const props = useRef(p);
  props.current = p;
  const [view, setView] = useState<[number, number]>([0, 1]);
  const [narrow, setNarrow] = useState(0);
  const [isDark, onPaper] = [dark.value, paper.value];
  const scene = useMemo(
    (): Scene => ({
      boxes: p.boxes,
      of: p.of,
      functions: p.functions,
      palette: palette(p.colouring, isDark, p.colours, onPaper),
      bucket: p.bucket,
      found: p.found,
      flipped: p.flipped,
    }),
    [p.boxes, p.of, p.functions, p.colouring, isDark, onPaper, p.bucket, p.found, p.flipped],
  );
  useLayoutEffect(() => {
    const g = new Icicle(host.current!, {
      hover: (box, x, y) => showTip(x, y, box === none ? null : props.current.tip(box)),
      select: box => props.current.onSelect(box),
      zoom: box => props.current.onZoom(box),
      menu: (box, x, y) => props.current.onMenu?.(box, x, y),
      narrow: setNarrow,
      moved: (from, to) => {
        setView(v => (v[0] === from && v[1] === to ? v : [from, to]));
        props.current.onMoved?.(from, to);
      },
      ...(p.onRange ? { range: (from: number, to: number) => props.current.onRange?.(from, to) } : {}),
    });
    graph.current = g;
    return () => {
      g.destroy();
      showTip(0, 0, null);
    };
  }, []);
  const drawn = useRef<Scene | null>(null);
  useLayoutEffect(() => {
    const before = drawn.current;
    drawn.current = scene;
    graph.current!.show(scene);
    if (before?.of !== scene.of || (p.zoomed !== none && before.boxes !== scene.boxes)) graph.current!.zoom(p.zoomed, false);
    graph.current!.select(p.selected, true);
    if (!before) graph.current!.flush();
  }, [scene]);
  useLayoutEffect(() => {
    if (!onPaper) return;
    const sheet = graph.current!.sheet(sheetWidth);
    host.current!.after(sheet);
    return () => sheet.remove();
  }, [scene]);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (first.current) first.current = false;
    else graph.current!.zoom(p.zoomed);
  }, [p.zoomed]);
  useLayoutEffect(() => graph.current!.select(p.selected), [p.selected, scene]);
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (/^Arrow(Up|Down|Left|Right)$/.test(e.key)) {
      const next = graph.current!.neighbour(p.selected, e.key);
      if (next !== none) p.onSelect(next);
    } else if (e.key === 'Enter' && p.selected !== none) p.onZoom(p.selected);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="graph">
      {p.overview && <Overview scene={scene} view={view} onMove={(from, to) => graph.current!.window(from, to)} />}
      {p.axis && (
        <Axis
          from={view[0] * p.axis.whole}
          to={view[1] * p.axis.whole}
          format={v => amount(v, p.axis!.unit === 'count' ? 'samples' : p.axis!.unit)}
          scale={scaled((view[1] - view[0]) * p.axis.whole, p.axis.unit)[0]}
        />
      )}
      <div
        ref={host}
        class="flame"
        role="application"
        aria-roledescription="flame graph"
        aria-label={`${p.label}. Arrow keys walk, Enter zooms, the menu key lists what else can be done.`}
        tabIndex={0}
        onKeyDown={key}
      />
      <span class="hidden" role="status">
        {p.selected !== none && p.selected < p.boxes.n ? p.text(p.selected) : ''}
      </span>
      {narrow > 0 && <p class="narrow" title="Zoom in to see them.">{`grey: calls narrower than a pixel, ${percent(narrow)} of the width`}</p>}
      {p.boxes.n === 0 && <p class="empty">No samples are left: undo a transform or widen the selection.</p>}
    </div>
  );
}

/** The whole graph small, with the part that is shown. */
function Overview({ scene, view, onMove }: { scene: Scene; view: [number, number]; onMove: (from: number, to: number) => void }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const width = useWidth(ref);
  const height = 56;
  useLayoutEffect(() => {
    const c = ref.current!;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = height * ratio;
    paintOverview(c.getContext('2d')!, scene, c.width, c.height, 6 * ratio);
  }, [scene, width]);
  const move = (e: PointerEvent) => {
    if (e.buttons !== 1) return;
    const size = view[1] - view[0];
    const at = e.offsetX / width - size / 2;
    const from = Math.max(0, Math.min(1 - size, at));
    onMove(from, from + size);
  };
  const all = view[0] <= 0 && view[1] >= 1;
  return (
    <div class="overview" aria-hidden="true">
      <canvas ref={ref} onPointerDown={move} onPointerMove={move} />
      {!all && (
        <>
          <i style={{ left: 0, width: `${view[0] * 100}%` }} />
          <i style={{ left: `${view[1] * 100}%`, right: 0 }} />
        </>
      )}
    </div>
  );
}
