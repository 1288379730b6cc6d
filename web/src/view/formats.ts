/** Formats of files that the server writes, most wanted first. */
export const formats = [
  { name: 'pprof', label: 'pprof' },
  { name: 'speedscope', label: 'speedscope' },
  { name: 'firefox', label: 'Firefox Profiler' },
  { name: 'folded', label: 'folded stacks' },
  { name: 'otlp', label: 'OTLP profiles' },
];
