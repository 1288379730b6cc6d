// The files that the server writes of what is shown.
import { dataParams, shownParams } from '../core/request';
import { isOfFiles } from '../core/share';
import { source } from '../core/source';
import type { Item } from '../ui/Menu';
import { save } from './export';

/** Formats of files, most wanted first. */
const formats: [name: string, label: string, ending: string][] = [
  ['pprof', 'pprof', 'pb.gz'],
  ['speedscope', 'speedscope', 'speedscope.json'],
  ['firefox', 'Firefox Profiler', 'json.gz'],
  ['folded', 'folded stacks', 'folded'],
  ['otlp', 'OTLP profiles', 'otlp'],
];

/** The items that download a view of a tree or diff; nobody writes files for a report. */
export function downloads(of: 'tree' | 'diff', params: URLSearchParams): Item[] {
  if (source.value.offline) return [];
  const item = (label: string, path: string, q: URLSearchParams, format: string, ending: string, hint = ''): Item =>
    isOfFiles(params) ? { label, hint, run: () => void written(q, format, ending) } : { label, hint, href: source.value.file(path, q) };
  const page = item('offline page', `page/${of}`, dataParams(params), 'html', 'html', 'one file, for a mail');
  return [page, ...(of === 'tree' ? formats.map(([name, label, ending]) => item(label, 'export', shownParams(params, { format: name }), name, ending)) : [])];
}

/** Saves what the server writes of dropped files. */
async function written(params: URLSearchParams, format: string, ending: string): Promise<void> {
  const q = new URLSearchParams(params);
  q.set('format', format);
  try {
    if (source.value.written) save(`profile.${ending}`, 'application/octet-stream', await source.value.written(q));
  } catch (err) {
    alert(err instanceof Error ? err.message : err);
  }
}
