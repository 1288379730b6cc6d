// Days as one says them: "Monday", "yesterday". Addresses hold dates, so that a link still means
// the same day next week. Days are those of UTC, as in all dates of the pages.
const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** The date of the day so many days before now: "2026-11-21". */
const before = (now: Date, days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10);

/** Reads a date or the name of a day, the newest one, or if ahead the next one, today included; empty: none; undefined: it is neither. */
export function day(text: string, now: Date, ahead = false): string | undefined {
  const name = text.toLowerCase();
  if (name === '') return '';
  const near = ['yesterday', 'today', 'tomorrow'].indexOf(name);
  if (near >= 0) return before(now, 1 - near);
  const at = names.indexOf(name);
  if (at >= 0) return before(now, ahead ? -((at + 7 - now.getUTCDay()) % 7) : (now.getUTCDay() + 7 - at) % 7);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

/**
 * Reads a day, an hour, or both: "2026-11-20 14:00", "Monday 9:00", "14:00" (of today), and what other programs write,
 * "2026-11-20T14:00:00Z"; empty: none; undefined: it is none of them, or if ahead before now.
 */
export function moment(typed: string, now: Date, ahead = false): string | undefined {
  const text = typed.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:00(\.0+)?)?Z?$/, '$1 $2');
  const [hour = ''] = /\d?\d:\d\d$/.exec(text) ?? [];
  const date = day(text.slice(0, text.length - hour.length).trim() || (hour && 'today'), now, ahead);
  if (!date) return date;
  const found = hour ? `${date} ${hour.padStart(5, '0')}` : date;
  const at = Date.parse(stamp(found));
  return Number.isNaN(at) || (ahead && at < now.getTime() - 60_000) ? undefined : found; // this minute is not over
}

/** A moment as requests have it: "2026-11-20T14:00:00Z"; empty: none. */
export const stamp = (moment: string): string => moment && `${moment.slice(0, 10)}T${moment.slice(11) || '00:00'}:00Z`;

/** The days that are a click: yesterday, Monday, a week ago. */
export const daysNamed = (now: Date): [name: string, date: string][] => [
  ['yesterday', before(now, 1)],
  ['Monday', day('monday', now)!],
  ['a week', before(now, 7)],
];

/** Times until now, as requests have them. */
export const spans: [age: string, label: string][] = [
  ['', 'All time'],
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['365d', 'Last year'],
];
