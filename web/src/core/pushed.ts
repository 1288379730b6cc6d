// Profiles that services push: what selects them, as addresses hold it.
import type { PushedSeries, PushedService } from './answers';
import { amount, number } from './format';

/** Whether an address selects pushed profiles. */
export const isPushed = (params: URLSearchParams): boolean => params.has('service') || params.has('labels');

/** Writes values of labels as a selector; empty if there are none. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  const name = (text: string) => (/^[A-Za-z_][A-Za-z0-9_.]*$/.test(text) ? text : JSON.stringify(text));
  const list = Object.keys(labels)
    .filter(n => labels[n] !== '')
    .sort()
    .map(n => `${name(n)}=${JSON.stringify(labels[n])}`);
  return list.length > 0 ? `{${list.join(',')}}` : '';
}

/** Writes a selector of one of some values of a label. */
export function selectorOfAny(name: string, values: readonly string[]): string {
  if (values.length === 1) return selectorOf({ [name]: values[0]! });
  return selectorOf({ [name]: values.map(v => v.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|') }).replace('=', '=~');
}

/** Reads a selector of equal values, as selectorOf writes it; null if it has other conditions. */
export function labelsOf(selector: string | null): Record<string, string> | null {
  const text = (selector ?? '').trim();
  if (text === '' || /^\{\s*\}$/.test(text)) return {};
  const part = /^\s*([A-Za-z_][A-Za-z0-9_.]*|"(?:[^"\\]|\\.)*")\s*=\s*("(?:[^"\\]|\\.)*")\s*/;
  const labels: Record<string, string> = {};
  let rest = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : 'none';
  while (rest) {
    const found = part.exec(rest);
    if (!found) return null;
    try {
      const name = found[1]!.startsWith('"') ? (JSON.parse(found[1]!) as string) : found[1]!;
      labels[name] = JSON.parse(found[2]!) as string;
    } catch {
      return null; // an escape that JSON does not have
    }
    rest = rest.slice(found[0].length);
    if (rest && !rest.startsWith(',')) return null;
    rest = rest.slice(1);
  }
  return labels;
}

/** What a chart shows of lines, on one grid of times: null where there is no data. Rates, where there are some. */
export function gridOf(s: PushedSeries): { times: number[]; lines: { name: string; values: (number | null)[] }[] } {
  const count = s.step > 0 ? Math.max(1, Math.floor((s.until - s.since) / s.step) + 1) : 1;
  const lines = s.rows.map(line => {
    const values: (number | null)[] = Array.from({ length: count }, () => null);
    line.times.forEach((at, i) => (values[Math.round((at - s.since) / s.step)] = (line.rates ?? line.values)[i]!));
    return { name: line.value, values };
  });
  return { times: Array.from({ length: count }, (_, i) => s.since + i * s.step), lines };
}

/** "1.28 cores", "3.1 MiB/s", of a gauge "3.1 MiB": a value of a grid. */
export function rateText(v: number, s: PushedSeries): string {
  if (!s.rateUnit) return amount(v, s.unit);
  return s.rateUnit.endsWith('/s') ? `${amount(v, s.rateUnit === 's/s' ? 's' : s.unit)}/s` : `${number(v)} ${s.rateUnit}`;
}

/** What the points of a series are sums of, in milliseconds: windows, hours or days. */
const unit = (s: PushedSeries) => [86_400_000, 3_600_000].find(ms => s.step >= ms) ?? 1;

/** The time of points as parameters of a request: what begins after the point before the first. */
export function timeOf(s: PushedSeries, from: number, to: number): { since: string; until: string } {
  const text = (ms: number) => new Date(ms).toISOString();
  return { since: text(from - s.step + unit(s)), until: text(to + unit(s)) };
}

/** The reverse of timeOf. */
export const pointsOf = (s: PushedSeries, since: string, until: string): [number, number] => [Date.parse(since) + s.step - unit(s), Date.parse(until) - unit(s)];

/** The type that a page shows without a choice: processor time, else the first. */
export const mainType = (rows: readonly PushedService[]): PushedService => rows.find(r => r.type.split(':')[1] === 'cpu') ?? rows[0]!;

/** The type in words: "cpu", "cpu samples", "inuse_space (memory)". */
export function typeName(id: string): string {
  const [profile = '', sample = ''] = id.split(':');
  const name = profile.replace(/^process_cpu$/, 'cpu');
  if (name.endsWith(sample) || sample === '') return name;
  return sample === 'samples' ? `${name} ${sample}` : `${sample} (${name})`;
}

/** The types in words, without those that only count the samples of another one. */
export const typesText = (rows: readonly PushedService[]): string =>
  [...new Set(rows.map(r => typeName(r.type)))].filter((t, _, all) => !all.includes(t.replace(/ samples$/, '')) || !t.endsWith(' samples')).join(', ');

/** The label whose values are releases, of those that there are. */
export function releases(s: PushedService): { name: string; values: string[] } | undefined {
  const label = ['service_version', 'version', 'service_git_ref'].map(n => s.labels.find(l => l.name === n)).find(l => l && l.values.length > 1);
  return label && { name: label.name, values: [...label.values].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })) };
}

/** An age as parameters know it, in hours; 0 if it is none. */
export function hoursOf(age: string): number {
  const found = /^(\d+)([hd])$/.exec(age);
  return found ? Number(found[1]) * (found[2] === 'd' ? 24 : 1) : 0;
}
