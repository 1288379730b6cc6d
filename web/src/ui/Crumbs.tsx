// The way from a profile, a diff or a function back to its benchmark or service.
import { visible } from '../core/format';
import { carried } from '../core/scope';
import { source } from '../core/source';
import { type Changes, href } from '../core/url';

/** Whether the way back names the benchmark or service: the heading beside it need not. */
export const namedByCrumbs = (of: URLSearchParams): boolean =>
  !source.value.offline && !of.has('file') && ['benchmark', 'service'].some(name => of.getAll(name).length === 1);

/** The way to all services. */
export const ToServices = ({ range = {} }: { range?: Changes }) => (
  <nav class="way" aria-label="Breadcrumb">
    <a href={href('services', range)}>Services</a>
  </nav>
);

export function Crumbs({ of }: { of: URLSearchParams }) {
  const [group = '', benchmark = '', service = ''] = ['group', 'benchmark', 'service'].map(name => (of.getAll(name).length === 1 ? of.get(name)! : ''));
  if (source.value.offline || of.has('file')) return null;
  return (
    <nav class="way" aria-label="Breadcrumb">
      {service ? <a href={href('services')}>Services</a> : <a href={href('benchmarks', carried())}>Benchmarks</a>}
      {group && !service && (
        <>
          {' / '}
          <a href={href('benchmarks', { ...carried(), group })}>{visible(group)}</a>
        </>
      )}
      {(benchmark || service) && (
        <>
          {' / '}
          {service ? <a href={href('services', { service })}>{visible(service)}</a> : <a href={href('benchmark', { ...carried(), group, benchmark })}>{visible(benchmark)}</a>}
        </>
      )}
    </nav>
  );
}
