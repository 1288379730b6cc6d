// What a benchmark has: its runs, where the time goes in them, and its functions over them.
import { carried } from '../core/scope';
import { source } from '../core/source';
import { href, place } from '../core/url';

export function Tabs() {
  const { page, params } = place.value;
  const [group, benchmark] = [params.get('group'), params.get('benchmark')];
  if (!benchmark || source.value.offline) return null;
  const tab = (to: 'benchmark' | 'bottlenecks' | 'functions', title: string) => (
    <a class="button" href={href(to, { ...carried(), group, benchmark })} aria-current={page === to ? 'page' : undefined}>
      {title}
    </a>
  );
  return (
    <nav class="actions" aria-label="Benchmark">
      {tab('benchmark', 'Runs')}
      {tab('bottlenecks', 'Where the time goes')}
      {tab('functions', 'Functions over time')}
    </nav>
  );
}
