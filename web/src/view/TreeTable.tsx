// The call tree as rows that open and close, upright or inverted, of a tree or a diff.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Nodes } from '../core/nodes';
import { none } from '../core/table';
import { useKeys } from '../ui/Keys';
import { type Column, Node, Table } from '../ui/Table';
import { valueColumns } from './columns';
import { Name } from './describe';

interface Props {
  label: string;
  nodes: Nodes;
  found: Uint8Array | null;
  selected: number;
  onSelect: (node: number) => void;
  onOpen: (node: number) => void;
  /** The right button or the menu key, at a point of the window. */
  onMenu: (node: number, x: number, y: number) => void;
}

const mostAtOnce = 10_000;

export function TreeTable({ label, nodes, found, selected, onSelect, onOpen, onMenu }: Props) {
  const t = nodes.tree;
  const [open, setOpen] = useState(() => likely(nodes));
  const [of, setOf] = useState(nodes);
  if (of !== nodes) {
    setOf(nodes);
    setOpen(likely(nodes));
  }
  useEffect(() => {
    // What is selected elsewhere is shown here.
    const missing: number[] = [];
    for (let p = selected === none ? none : nodes.parent(selected); p !== none; p = nodes.parent(p)) if (!open.has(p)) missing.push(p);
    if (missing.length > 0) setOpen(new Set([...open, ...missing]));
  }, [selected, nodes]);
  const rows = useMemo(() => {
    const list: number[] = [];
    const pending = [...nodes.children(none)].reverse();
    while (pending.length > 0) {
      const n = pending.pop()!;
      list.push(n);
      if (open.has(n)) for (const c of [...nodes.children(n)].reverse()) pending.push(c);
    }
    return list;
  }, [nodes, open]);
  const expanded = (i: number) => (nodes.hasChildren(rows[i]!) ? open.has(rows[i]!) : undefined);
  const toggle = (i: number, wanted: boolean) => {
    const n = rows[i]!;
    if (!nodes.hasChildren(n) || open.has(n) === wanted) return false;
    const next = new Set(open);
    if (wanted) next.add(n);
    else next.delete(n);
    setOpen(next);
    return true;
  };
  useKeys([
    {
      keys: '*',
      help: 'open everything below the selected row',
      run: () => {
        const next = new Set(open);
        const pending = selected === none ? [...nodes.children(none)] : [selected];
        for (let count = 0; pending.length > 0 && count < mostAtOnce; count++) {
          const n = pending.pop()!;
          if (!nodes.hasChildren(n)) continue;
          next.add(n);
          pending.push(...nodes.children(n));
        }
        setOpen(next);
      },
    },
  ]);
  const category = t.table.categories;
  const name: Column = {
    id: 'name',
    title: nodes.inverted ? 'Function / callers' : 'Function',
    cell: i => {
      const n = rows[i]!;
      return (
        <Node depth={nodes.depth(n)} open={expanded(i)} toggle={() => toggle(i, !open.has(n))}>
          <Name f={t.table.functions[nodes.fn(n)]!} />
        </Node>
      );
    },
  };
  const changed = (n: number) => t.change(nodes.total(n, 0), nodes.total(n, 1), nodes.outside(n));
  const ofCategory: Column = {
    id: 'category',
    title: 'Category',
    width: 110,
    optional: 3,
    cell: i => <span class="dim">{category[nodes.category(rows[i]!)]?.name}</span>,
  };
  const sides = t.self.map((_, side) => side);
  const values = valueColumns(t, i => {
    const n = rows[i]!;
    return { f: t.table.functions[nodes.fn(n)]!, self: sides.map(s => nodes.self(n, s)), total: sides.map(s => nodes.total(n, s)), outside: nodes.outside(n) };
  });
  // Bottom-up only roots have a self value, which is their total.
  const columns = [name, ...(!t.isDiff && category.length > 0 ? [ofCategory] : []), ...(nodes.inverted && !t.isDiff ? values.slice(0, 2) : values)];
  return (
    <Table
      label={label}
      rows={rows.length}
      columns={columns}
      rowKey={i => rows[i]!}
      selected={selected === none ? none : rows.indexOf(selected)}
      onSelect={i => onSelect(rows[i]!)}
      onOpen={i => onOpen(rows[i]!)}
      onMenu={(i, x, y) => onMenu(rows[i]!, x, y)}
      rowClass={i =>
        found?.[nodes.fn(rows[i]!)] ? 'hit' : t.isDiff && changed(rows[i]!) === 0 ? 'quiet' : ''
      }
      tree={{
        depth: i => nodes.depth(rows[i]!),
        expanded,
        toggle,
        parent: i => rows.indexOf(nodes.parent(rows[i]!)),
      }}
      empty="No samples are left: undo a transform or widen the selection."
    />
  );
}

/** The nodes to open at first: what is large or, in a diff, the way to what changed most. */
function likely(nodes: Nodes): Set<number> {
  const t = nodes.tree;
  const open = new Set<number>();
  if (nodes.inverted) return open;
  const { n, parent } = t.table;
  const size = new Float64Array(n);
  for (let i = n - 1; i >= 0; i--) {
    const own = t.isDiff ? Math.abs(t.change(nodes.total(i, 0), nodes.total(i, 1), nodes.outside(i))) : nodes.width(i);
    size[i] = Math.max(size[i]!, own);
    if (parent[i] !== none) size[parent[i]!] = Math.max(size[parent[i]!]!, size[i]!);
  }
  const pending = [...nodes.children(none)];
  const least = pending.reduce((most, r) => Math.max(most, size[r]!), 0) * (t.isDiff ? 0.5 : 0.15);
  while (pending.length > 0 && open.size < 80) {
    const i = pending.shift()!;
    if (size[i] === 0 || size[i]! < least) continue;
    open.add(i);
    pending.push(...nodes.children(i));
  }
  return open;
}
