// Values of metrics as package words of the Go program writes them.
import { amount, number, scaled, signed } from './format';

const seconds: Record<string, number> = { ns: 1e-9, nanoseconds: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, sec: 1, seconds: 1, min: 60 };

function scaleOf(v: number, unit: string): [by: number, unit: string] {
  if (unit === 'bytes') return scaled(v, unit);
  const [what = '', ...per] = unit.split('/');
  const one = seconds[what];
  if (one === undefined) return [1, unit];
  const rest = per.length > 0 ? `/${per.join('/')}` : '';
  for (const [name, s] of [
    ['s', 1],
    ['ms', 1e-3],
    ['µs', 1e-6],
  ] as const) {
    if (Math.abs(v) * one >= s) return [s / one, name + rest];
  }
  return [1e-9 / one, `ns${rest}`];
}

/** 6.6e6 ns/op is "6.60 ms/op". */
export function metric(v: number, unit: string): string {
  const [by, name] = scaleOf(v, unit);
  return `${number(v / by)} ${name}`;
}

/** "+1.94 ms/op". */
export const change = (v: number, unit: string): string => signed(v, x => metric(x, unit));

/** "1.49 … 2.39 ms/op", in the unit of v. */
export function interval(v: number, low: number, high: number, unit: string): string {
  const [by, name] = scaleOf(v, unit);
  return `${[low, high].map(x => signed(x / by, number).replace('+', '')).join(' … ')} ${name}`;
}

/** "shop/checkout". */
export const benchmarkName = (b: { group?: string; benchmark: string }): string => (b.group ? `${b.group}/${b.benchmark}` : b.benchmark);

/** What tells benchmarks apart. */
export const keyOf = (b: { group?: string; benchmark: string }): string => JSON.stringify([b.group ?? '', b.benchmark]);

/** The other benchmarks of a change, each once: a benchmark may have several findings of one cause. */
export const otherBenchmarks = (c: { group?: string; benchmark: string; also: readonly { group?: string; benchmark: string }[] }): string[] =>
  [...new Set(c.also.map(benchmarkName))].filter(name => name !== benchmarkName(c));

/** "3 days ago"; dates in the future are "now". */
export function ago(ms: number, now = Date.now()): string {
  const s = (now - ms) / 1000;
  for (const [name, size] of [
    ['day', 86400],
    ['hour', 3600],
    ['minute', 60],
  ] as const) {
    const n = Math.floor(s / size);
    if (n >= 1) return `${n} ${name}${n === 1 ? '' : 's'} ago`;
  }
  return 'now';
}

/** "5 min", "120 ms", "1.5 s". */
export const millis = (ms: number): string => (ms >= 60000 && ms % 60000 === 0 ? `${ms / 60000} min` : amount(ms, 'milliseconds'));

/** What GCC adds to the name of a clone: ".isra.0", ".part.1.cold". */
export const clone = /(\.(cold|constprop|isra|lto_priv|part)(\.\d+)?)+$/;

/** Splits a function's name after its package or class: what is drawn dim, and the rest; go: it is one of Go. */
export function splitName(name: string, go = false): [pkg: string, symbol: string] {
  // A constructor, "Pattern.<init>", says nothing without its class.
  const constructor = /\.<(cl)?init>/.exec(name);
  if (constructor) {
    const at = name.lastIndexOf('.', constructor.index - 1) + 1;
    return [name.slice(0, at), name.slice(at)];
  }
  const cut = name.search(/[<([]/);
  const method = name.indexOf('.(*');
  const end = method >= 0 ? method : cut > 0 ? cut : name.length;
  const head = name.slice(0, end).replace(clone, '');
  const from = head.lastIndexOf('/') + 1;
  const colons = head.lastIndexOf('::');
  const file = /\.(py|pyx|[cm]?[jt]sx?|rb|php|lua|p[lm]|exs?)(?=\.)/.exec(head.slice(from)); // of a script: its extension is no package
  const dot = file ? from + file.index + file[0].length : go || (head.includes('/') && !/\.[A-Z]\w*\.\w+$/.test(head)) ? head.indexOf('.', from) : head.lastIndexOf('.');
  const at = method >= 0 ? method + 1 : colons >= from ? colons + 2 : dot >= from ? dot + 1 : from;
  return [name.slice(0, at), name.slice(at)];
}

/** The name without folders, and of Java's without the package: "ParseCatalog$Checks.checkSku". */
export function shortName(name: string): string {
  const [pkg, symbol] = splitName(name);
  const rest = pkg.slice(pkg.lastIndexOf('/') + 1);
  if (symbol.endsWith('init>')) return symbol;
  if (pkg.includes('/') || symbol.startsWith('(')) return rest + symbol;
  return rest.slice(rest.slice(0, -1).lastIndexOf('.') + 1) + symbol;
}
