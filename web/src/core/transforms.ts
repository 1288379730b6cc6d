// Transforms of call trees, by the rules of package calltree: a node is a stack with a
// self value, a transform gives stacks new parents and says where their samples go.
import { gather, type Tree } from './profile';
import type { Steps } from './steps';
import { type Func, gone, named, none, type Rows } from './table';

/** The kinds that work on a tree; the others need samples and are left to the server. */
export const treeKinds = [
  'merge-function',
  'merge-node',
  'drop-function',
  'focus-function',
  'focus-subtree',
  'focus-subtree-inverted',
  'focus-self',
  'collapse-function',
  'collapse-direct-recursion',
  'collapse-recursion',
  'collapse-resource',
  'filter:stack-prefix',
  'filter:stack-suffix',
  'filter:function-include',
] as const;
/** The argument of collapse-recursion that stands for each function. */
export const everyFunction = '*';

export type TreeKind = (typeof treeKinds)[number];

export interface Transform {
  kind: TreeKind;
  /** A kind of function: frames of others do not count. */
  only: string;
  /** Names of functions: one, a path, or several; else a category or module. */
  args: string[];
}

const paths: readonly string[] = [
  'merge-node',
  'focus-subtree',
  'focus-subtree-inverted',
  'filter:stack-prefix',
  'filter:function-include',
];

/** Reads KIND:ARGUMENT or KIND@FILTER:ARGUMENT; null if it is not a transform of trees. */
export function parseTransform(text: string): Transform | null {
  const m = /^((?:filter:)?[a-z-]+)(?:@([a-z-]+))?:(.+)$/s.exec(text);
  if (!m || !(treeKinds as readonly string[]).includes(m[1]!)) return null;
  const kind = m[1] as TreeKind;
  const names = splitPath(m[3]!);
  if (paths.includes(kind) && names.includes('')) return null;
  return { kind, only: m[2] === 'combined' ? '' : (m[2] ?? ''), args: paths.includes(kind) ? names : [names.join(';')] };
}

export function formatTransform(t: Transform): string {
  return `${t.kind}${t.only ? `@${t.only}` : ''}:${formatPath(t.args)}`;
}

export const formatPath = (names: readonly string[]) => names.map(n => n.replace(/[\\;]/g, '\\$&')).join(';');

export function splitPath(text: string): string[] {
  const names = [''];
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === ';') names.push('');
    else {
      if (c === '\\' && (text[i + 1] === ';' || text[i + 1] === '\\')) i++;
      names[names.length - 1] += text[i]!;
    }
  }
  return names;
}

/** Whether a function passes a kind filter. */
export function selects(kind: string, f: Func): boolean {
  switch (kind) {
    case '':
      return true;
    case 'js':
      return f.kind === 'js' || f.kind === 'js-label';
    case 'cpp':
      return !managed.has(f.kind) && (f.module !== '' || !f.name.startsWith('0x'));
  }
  return f.kind === kind;
}
const managed = new Set(['js', 'java', 'go', 'go-runtime', 'python', 'ruby', 'dotnet', 'php', 'class']);

interface Stacks extends Rows {
  /** Which row gets the samples of each row; none: nobody. */
  to: Int32Array;
}

function stacksOf(t: Tree): Stacks {
  const to = new Int32Array(t.table.n);
  for (let i = 0; i < to.length; i++) to[i] = i;
  return { ...t.table, to };
}

/** Applies transforms in order, then a kind filter. */
export function* transform(t: Tree, list: readonly Transform[], kind = ''): Steps<Tree> {
  if (list.length === 0 && !kind) return t;
  let s = stacksOf(t);
  for (const x of list) {
    s = apply(s, x);
    yield;
  }
  if (kind) s = restrict(s, x => selects(kind, s.functions[s.fn[x]!]!));
  yield;
  return yield* gather(s, t.self, s.to, t.unit, t.noisePerValue);
}

/** Follows the samples: row i of before was where they were, next says where they go. */
function moved(s: Stacks, parent: Int32Array, next: (row: number) => number): Stacks {
  return { ...s, parent, to: s.to.map(st => (st === none ? none : next(st))) };
}

function apply(s: Stacks, x: Transform): Stacks {
  const ok = x.only ? s.functions.map(f => selects(x.only, f)) : null;
  const set = () => named(s.functions, x.args[0]!);
  const path = () => x.args.map(a => named(s.functions, a));
  switch (x.kind) {
    case 'merge-function': {
      const f = set();
      return restrict(s, st => !f[s.fn[st]!]);
    }
    case 'merge-node':
      return mergeNode(s, path(), ok);
    case 'drop-function': {
      const has = containing(s, set());
      return only(s, st => !has[st]);
    }
    case 'filter:function-include': {
      const any = new Uint8Array(s.functions.length);
      for (const p of path()) for (let i = 0; i < any.length; i++) any[i]! |= p[i]!;
      const has = containing(s, any);
      return only(s, st => !!has[st]);
    }
    case 'filter:stack-prefix': {
      const p = path();
      const at = walk(s, p, null, p.length);
      return only(s, st => at[st] === p.length);
    }
    case 'filter:stack-suffix': {
      const f = set();
      return only(s, st => !!f[s.fn[st]!]);
    }
    case 'focus-function':
      return focusFunctions(s, set());
    case 'focus-subtree': {
      const p = path();
      const at = walk(s, p, ok, p.length);
      return focus(s, (st, inside) => (at[st] !== p.length ? 'outside' : inside ? 'below' : 'top'));
    }
    case 'focus-self': {
      const f = set();
      return focus(s, (st, inside) => (f[s.fn[st]!] ? 'top' : inside && ok && !ok[s.fn[st]!] ? 'below' : 'outside'));
    }
    case 'focus-subtree-inverted':
      return focusInverted(s, path(), ok);
    case 'collapse-function': {
      const f = set();
      const to = new Int32Array(s.parent.length);
      const inside = new Uint8Array(s.parent.length);
      s.parent.forEach((p, st) => {
        if (p === gone) to[st] = none;
        else if (p >= 0 && inside[p]) {
          to[st] = to[p]!;
          inside[st] = 1;
        } else {
          to[st] = st;
          inside[st] = f[s.fn[st]!]!;
        }
      });
      return moved(s, s.parent, st => to[st]!);
    }
    case 'collapse-recursion':
      if (x.args[0] === everyFunction) return collapseAll(s);
      return collapse(s, set(), false, null);
    case 'collapse-direct-recursion':
      return collapse(s, set(), true, ok);
    case 'collapse-resource': {
      const module = x.args[0]!;
      const one = s.functions.length;
      if (!s.functions.some(f => f.module === module)) return s;
      const renamed: Func = { name: module, file: '', line: 0, column: 0, module: '', language: '', kind: '', pkg: 0 };
      const functions = [...s.functions, renamed];
      const fn = new Int32Array(s.fn).map(f => (s.functions[f]!.module === module ? one : f));
      const f = new Uint8Array(functions.length);
      f[one] = 1;
      return collapse({ ...s, functions, fn }, f, true, ok && [...ok, selects(x.only, renamed)]);
    }
  }
}

/** Removes the rows that do not pass: their samples go to the nearest caller that does. */
function restrict(s: Stacks, keep: (row: number) => boolean): Stacks {
  const parent = new Int32Array(s.parent.length);
  const to = new Int32Array(s.parent.length);
  s.parent.forEach((p, st) => {
    if (p === gone) {
      parent[st] = gone;
      to[st] = none;
      return;
    }
    const up = p >= 0 ? to[p]! : p;
    if (keep(st)) {
      parent[st] = up;
      to[st] = st;
    } else {
      parent[st] = gone;
      to[st] = up;
    }
  });
  return moved(s, parent, st => to[st]!);
}

const elsewhere = -1;

/** How many steps of a path every row has matched, or elsewhere. Rows below its end get the value below. */
function walk(s: Stacks, path: Uint8Array[], ok: boolean[] | null, below: number): Int32Array {
  const at = new Int32Array(s.parent.length);
  s.parent.forEach((p, st) => {
    let state = p >= 0 ? at[p]! : 0;
    if (p === gone || state === elsewhere) {
      at[st] = elsewhere;
      return;
    }
    const f = s.fn[st]!;
    if (state === path.length) state = below;
    else if (path[state]![f]) state++;
    else if (!ok || ok[f]) state = elsewhere;
    at[st] = state;
  });
  return at;
}

function mergeNode(s: Stacks, path: Uint8Array[], ok: boolean[] | null): Stacks {
  const at = walk(s, path, ok, elsewhere);
  const parent = new Int32Array(s.parent.length);
  s.parent.forEach((p, st) => {
    parent[st] = p >= 0 && at[p] === path.length ? parent[p]! : p;
  });
  return moved(s, parent, st => (at[st] === path.length ? parent[st]! : st));
}

/** Keeps the samples of the rows that pass. */
function only(s: Stacks, keep: (row: number) => boolean): Stacks {
  return moved(s, s.parent, st => (s.parent[st] !== gone && keep(st) ? st : none));
}

/** Which rows have one of the functions on their path. */
function containing(s: Stacks, f: Uint8Array): Uint8Array {
  const found = new Uint8Array(s.parent.length);
  s.parent.forEach((p, st) => {
    if (p !== gone) found[st] = f[s.fn[st]!] || (p >= 0 && found[p]) ? 1 : 0;
  });
  return found;
}

/** Keeps parts of the table: a top becomes a root, what is below stays under its caller. */
function focus(s: Stacks, where: (row: number, inside: boolean) => 'outside' | 'top' | 'below'): Stacks {
  const parent = new Int32Array(s.parent.length).fill(gone);
  s.parent.forEach((p, st) => {
    if (p === gone) return;
    const place = where(st, p >= 0 && parent[p] !== gone);
    if (place !== 'outside') parent[st] = place === 'top' ? none : p;
  });
  return moved(s, parent, st => (parent[st] === gone ? none : st));
}

const focusFunctions = (s: Stacks, f: Uint8Array): Stacks => focus(s, (st, inside) => (inside ? 'below' : f[s.fn[st]!] ? 'top' : 'outside'));

function focusInverted(s: Stacks, path: Uint8Array[], ok: boolean[] | null): Stacks {
  return moved(s, s.parent, st => {
    if (s.parent[st] === gone) return none;
    let matched = 0;
    for (let n = st; n >= 0; n = s.parent[n]!) {
      if (path[matched]![s.fn[n]!]) {
        if (++matched === path.length) return n;
      } else if (!ok || ok[s.fn[n]!]) return none;
    }
    return none;
  });
}

/** Moves recursive calls to the caller of the first one. With direct, an ok frame of another function ends a run. */
function collapse(s: Stacks, f: Uint8Array, direct: boolean, ok: boolean[] | null): Stacks {
  const noRun = -3;
  const parent = s.parent.slice();
  const caller = new Int32Array(parent.length); // of the first call of the run that a row is in
  s.parent.forEach((p, st) => {
    if (p === gone) {
      caller[st] = noRun;
      return;
    }
    let run = p >= 0 ? caller[p]! : noRun;
    const fn = s.fn[st]!;
    const passes = !direct || !ok || ok[fn]!;
    if (run === noRun && f[fn]) run = p;
    else if (run !== noRun && f[fn] && passes) parent[st] = run;
    else if (direct && passes) run = noRun;
    caller[st] = run;
  });
  return moved(s, parent, st => st);
}

/** Moves every call of a function that is on its stack already to the caller of that call. */
function collapseAll(s: Stacks): Stacks {
  const parent = s.parent.slice();
  s.parent.forEach((p, st) => {
    for (let up = p; up >= 0; up = parent[up]!)
      if (s.fn[up] === s.fn[st]) {
        parent[st] = parent[up]!;
        break;
      }
  });
  return moved(s, parent, st => st);
}

/** The callees of functions: the subtrees of their outermost calls, merged. */
export function* callees(t: Tree, chosen: Uint8Array): Steps<Tree> {
  const s = focusFunctions(stacksOf(t), chosen);
  yield;
  return yield* gather(s, t.self, s.to, t.unit, t.noisePerValue);
}
