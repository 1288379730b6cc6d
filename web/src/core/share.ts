// The link to what is shown, to send to somebody.
import { mayChange } from './session';
import { source } from './source';
import { format, link, place } from './url';

/** Addresses that a mail program does not break are links as they are. */
const long = 80;

/** The link to this view: a short one, if its address is long and the store keeps links. */
export async function linkToShare(): Promise<string> {
  const address = format(place.value);
  if (address.length > long && !source.value.offline && mayChange())
    try {
      const { id } = await source.value.send<{ id: string }>('POST', 'links', { address });
      return `${location.origin}/s/${id}`;
    } catch {
      // a store that is not written to, or is full: the whole address leads to the same view
    }
  return link();
}

/** Whether a view is of dropped files, which only this page has: no link leads to them. */
export const isOfFiles = (params: URLSearchParams): boolean => ['file', 'base-file', 'head-file'].some(name => params.has(name));
