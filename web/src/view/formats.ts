import { source } from '../core/source';
import type { Item } from '../ui/Menu';
import { save } from './export';

/** Formats of files that the server writes, most wanted first. */
export const formats = [
  { name: 'pprof', label: 'pprof' },
  { name: 'speedscope', label: 'speedscope' },
  { name: 'firefox', label: 'Firefox Profiler' },
  { name: 'folded', label: 'folded stacks' },
  { name: 'otlp', label: 'OTLP profiles' },
];

const endings: Record<string, string> = { html: 'html', pprof: 'pb.gz', folded: 'folded', speedscope: 'speedscope.json', firefox: 'json.gz', otlp: 'otlp' };

/** An item that saves what the server writes of dropped files. */
export function savedItem(label: string, params: URLSearchParams, format: string, hint?: string): Item {
  const run = async () => {
    const q = new URLSearchParams(params);
    q.set('format', format);
    try {
      if (source.value.written) save(`profile.${endings[format]}`, 'application/octet-stream', await source.value.written(q));
    } catch (err) {
      alert(err instanceof Error ? err.message : err);
    }
  };
  return { label, run: () => void run(), ...(hint ? { hint } : {}) };
}
