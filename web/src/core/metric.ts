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

/** Kinds of functions whose names may have slashes that are of no path. */
export const scripts = ['js', 'js-label', 'label'];

/**
 * Splits a function's name behind its package in Go, or else behind its class or namespace, as Function.Package of package profile
 * does: what is drawn dim, and the rest. A constructor, "Pattern.<init>", says nothing without its class.
 */
export function splitName(name: string, kind?: string): [pkg: string, symbol: string] {
  const constructor = /[^./]+\.<(cl)?init>/.exec(name);
  const text = constructor ? name.slice(0, constructor.index) : name.replace(clone, '');
  if (kind && scripts.includes(kind) && text.includes('/')) return ['', name];
  // A name alone with folders is one of Go, unless it has a class or the extension of a script.
  const go = kind?.startsWith('go') || text.includes('(*') || (kind === undefined && text.includes('/') && !/\.([A-Z]\w*|py|[cm]?[jt]sx?|rb|php|lua)\.(?!func\d)\w+$/.test(text));
  let [end, depth, dotted, scoped] = [0, 0, false, false];
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if ('(<[{'.includes(c)) depth++; // arguments have packages of their own
    else if (')>]}'.includes(c)) depth = Math.max(0, depth - 1);
    else if (depth > 0) continue;
    else if (c === '/') [end, dotted, scoped] = [i + 1, false, false];
    else if (c === ':' && text[i + 1] === ':') [end, scoped] = [i + 2, true];
    else if (c === '.' && !scoped && !(go && dotted)) [end, dotted] = [i + 1, true];
  }
  return [name.slice(0, end), name.slice(end)];
}

/** The name without the folders or packages that hold it, as words.ShortName of Go writes it: "ParseCatalog$Checks.checkSku". */
export function shortName(name: string): string {
  const [file, open] = [name.indexOf(' ('), name.search(/[[(]/)];
  const folders = name.lastIndexOf('/', (file > 0 ? file : open > 0 && name[open - 1] !== '.' ? open : name.length) - 1);
  return folders >= 0 ? name.slice(folders + 1) : name.replace(/^(?:[^.(<[: ]*\.)*?(?=[A-Z][^.(<[: ]*\.)/, '');
}
