// Days as one says them: "Monday", "yesterday". Addresses hold dates, so that a link still means
// the same day next week. Days are those of UTC, as in all dates of the pages.
const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** The date of the day so many days before now: "2026-11-21". */
const before = (now: Date, days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10);

/** Reads a date or the name of a day, the newest one, today included; empty: none; undefined: it is neither. */
export function day(text: string, now: Date): string | undefined {
  const name = text.toLowerCase();
  if (name === '') return '';
  if (name === 'today' || name === 'yesterday') return before(now, name === 'today' ? 0 : 1);
  const at = names.indexOf(name);
  if (at >= 0) return before(now, (now.getUTCDay() + 7 - at) % 7);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

/** The days that are a click: yesterday, Monday, a week ago. */
export const daysNamed = (now: Date): [name: string, date: string][] => [
  ['yesterday', before(now, 1)],
  ['Monday', day('monday', now)!],
  ['a week', before(now, 7)],
];
