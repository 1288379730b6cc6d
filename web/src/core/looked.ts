// Which changes somebody has seen: the list marks those that are new since the look before. It is
// remembered by the browser, by id: a change that was imported late is new too, whatever its date.
import { remembered } from './settings';

export interface Look {
  at: number; // the last moment of the look, in milliseconds
  ids: string[]; // changes that were listed, by whatever selection
}

export interface Looks {
  before?: Look;
  now?: Look;
}

/** A look ends when the list was not loaded for so long. */
const pause = 30 * 60_000;
const most = 5000; // ids, of the newest

/** The looks after a list was shown. */
export function look({ before, now }: Looks, ids: readonly string[], at: number): Looks {
  const ended = now !== undefined && at - now.at > pause;
  const seen = new Set(now?.ids ?? []);
  for (const id of ids) {
    seen.delete(id); // to the end
    seen.add(id);
  }
  const last = ended ? now : before;
  return { ...(last && { before: last }), now: { at, ids: [...seen].slice(-most) } };
}

/** The looks at the list of this server. */
export const looks = remembered<Looks>('looks', {});

/** Whether a change was not listed at the looks before this one; never at the first look. */
export const unseen = ({ before }: Looks, id: string): boolean => before !== undefined && !before.ids.includes(id);
