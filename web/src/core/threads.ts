// Classes of threads: what a thread is for, by the functions it begins with or by its name, where
// a profile has threads as roots.
import type { Tree } from './profile';
import { none } from './table';

const classes: [name: string, what: RegExp][] = [
  ['compiler', /^C[12] Compiler|^(C[12]Compiler|Compile|Compilation)::|CompileBroker::|compiler_thread_loop|CompilerThread|turboshaft|OptimizingCompile/],
  ['garbage collector', /^(GC Thread|G1 |ZWorker|ZDriver|Shenandoah|Reference Handler|Finalizer)|^(GangWorker|WorkerThread|G1\w*Thread|ConcurrentGCThread|GCTaskThread|ZWorker)::|^runtime\.(gcBgMarkWorker|bgsweep|bgscavenge)|^v8::internal::.*(Scaveng|Sweeper|MarkCompact)/],
  ['scheduler', /^runtime\.(mcall|mstart|mstart1|sysmon|systemstack)$/],
  ['virtual machine', /^(VM Thread|VM Periodic|Signal Dispatcher|Service Thread|Monitor Deflati|Sweeper thread)|^(VMThread|WatcherThread|ServiceThread|MonitorDeflationThread|StringDedup\w*)::/],
];
/** Names of the classes, in the order of their numbers. */
export const threadClasses: readonly string[] = ['application', ...classes.map(c => c[0])];

/** The class of a thread by its name. */
export const classOf = (name: string): number => classes.findIndex(c => c[1].test(name)) + 1;

/** Whether threads of several classes are in a tree. It reads only the nodes with which threads begin. */
export function severalThreads({ table: { n, fn, end, functions } }: Tree): boolean {
  const classOfFn: number[] = [];
  const seen = new Set<number>();
  for (let i = 0; i < n; ) {
    const c = (classOfFn[fn[i]!] ??= classOf(functions[fn[i]!]!.name));
    const goesOn = c === 0 && functions[fn[i]!]!.runtime && end[i]! > i + 1;
    if (!goesOn) seen.add(c);
    i = goesOn ? i + 1 : end[i]!;
  }
  return seen.size > 1;
}

const known = new WeakMap<object, Int8Array>();

/** Of each call node the class of its threads; -1: of several. */
export function threadsOf(t: Tree): Int8Array {
  const { n, parent, fn, functions } = t.table;
  let of = known.get(t.table);
  if (of) return of;
  known.set(t.table, (of = new Int8Array(n)));
  const byName: number[] = []; // of the functions with which threads begin
  const below = new Uint8Array(n); // the classes of a node and those below, as bits
  const inCode = new Uint8Array(n); // below code that no runtime calls to start a thread
  for (let i = 0; i < n; i++) {
    const p = parent[i]!;
    inCode[i] = (p !== none && inCode[p]!) || (functions[fn[i]!]!.runtime ? 0 : 1);
    of[i] = (p !== none && of[p]) || (p !== none && inCode[p] ? 0 : (byName[fn[i]!] ??= classOf(functions[fn[i]!]!.name)));
  }
  for (let i = n - 1; i >= 0; i--) {
    if (below[i] === 0 || of[i]! > 0) below[i]! |= 1 << of[i]!;
    const p = parent[i]!;
    if (p !== none) below[p]! |= below[i]!;
  }
  for (let i = 0; i < n; i++) {
    const bits = below[i]!;
    of[i] = bits & (bits - 1) ? -1 : 31 - Math.clz32(bits);
  }
  return of;
}
