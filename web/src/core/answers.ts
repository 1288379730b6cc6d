// The answers of the API that the pages read; docs/schema describes them.

import type * as api from './api';

export type Run = api.Run;

export type Status = 'slower' | 'faster' | 'accepted' | 'unchanged' | 'machine' | 'too few runs' | 'new' | 'not run at HEAD' | 'gone' | 'unknown';

export interface BenchmarkOverview {
  group: string;
  benchmark: string;
  runs: number;
  profiles: number;
  types: string[];
  last: Run;
  metric: {
    name: string;
    unit: string;
    better?: 'lower' | 'higher';
    values: (number | null)[];
    last: number;
    mean: number;
    deviation: number;
  } | null;
  outcome?: Outcome;
}

/** What a report says of a benchmark: one status, one size, one onset. */
export interface Outcome {
  status: Status;
  says: string;
  reason?: string;
  /** The commit or run that has no run of the benchmark. */
  notAt?: string;
  finding?: string;
  type?: string;
  certainty?: 'confirmed' | 'suspect';
  title?: string;
  share?: number;
  time?: { value: number; low: number; high: number; unit: string };
  since?: { run: string; commit?: string; lastGood?: string };
  more?: number;
  branch?: string;
  tested?: number;
  baseRuns?: number;
}

export interface Overview {
  runs: number;
  profiles: number;
  benchmarks: BenchmarkOverview[];
  omitted?: { rows: number };
  services: Service[];
  /** What services push of each type, with the newest release. */
  releases: { service: string; benchmark: string; type: string; releases: number; last: Run; outcome: Outcome }[];
  running: number;
}

export type Service = api.QueryService;

export interface HistoryRun extends Run {
  profiles: { id: string; type: string }[];
  value: number | null;
  mean: number;
  deviation: number;
  cost?: number;
  costMean?: number;
  costDeviation?: number;
}

export interface HistorySeries {
  group: string;
  benchmark: string;
  type: string;
  metric: string;
  unit: string;
  costUnit?: string;
  /** The costs of all runs compare. */
  costBand?: boolean;
  better?: string;
  outcome?: Outcome;
  leftOut: { reason: string; runs: number }[];
  runs: HistoryRun[];
  /** Those of the list, newest onset first. */
  changes: Finding[];
}

export interface History {
  function: string;
  self: boolean;
  notes: string[];
  series: HistorySeries[];
}

export interface Finding {
  id: string;
  kind: 'regression' | 'leak' | 'widespread' | 'slowdown' | 'improvement' | 'moved' | 'environment';
  presence?: 'new' | 'vanished';
  group?: string;
  benchmark: string;
  type: string;
  function?: string;
  caller?: string;
  path?: string[];
  /** The change in the user's own code; absent if the finding has no place. */
  headline?: { function: string; calls?: string; file?: string; line?: number; call?: number; new?: boolean; own: boolean };
  parts?: { function: string; caller?: string; path: string[]; delta: number; score: number }[];
  delta: { samples: number; share: number; base: number; time?: { value: number; low: number; high: number; unit: string } };
  score: number;
  status: 'confirmed' | 'suspect' | 'transient' | 'ended';
  /** The life of a change; absent of a comparison of two sides. */
  change?: {
    finding: string;
    state: string;
    onset: Moment;
    lastGood?: Moment;
    end?: Moment;
    seen: Moment;
    runs: number;
    /** The change of the whole program since the onset, and the part of it that this change is. */
    program?: { value: number };
    explains?: number;
  };
  since: { run: string; commit?: string; lastGood?: string };
  explained?: { cause: string; evidence: string }[];
  ruledOut?: { cause: string; evidence: string }[];
  acknowledged?: { reason?: string; until?: string; by?: string; at?: string };
  note?: string;
  /** The runs whose difference the finding is, and against what a diff of them shows it. */
  sides?: Sides;
}

/** Runs, or releases of a service: values of a label. */
export type Sides = api.Sides;

export interface Change extends Finding {
  at?: string;
  file?: string;
  line?: number;
  owners?: string[];
  link?: string;
  code?: {
    link?: string;
    commits: { commit: string; author: string; subject: string; link?: string }[];
    moreCommits?: number;
    lines: { file: string; line: number; sign: string; text: string }[];
    moreLines?: number;
    dependencies?: { name: string; base?: string; head?: string; file: string }[];
  };
  fails: boolean;
  also: Finding[];
}

export type Moment = api.Moment;

export interface Level {
  mean: number;
  deviation: number;
}

export type ContextStep = api.Step;

/** The paths in which a function changed: steps from the function to its callees, or to its callers. */
export interface ContextPaths {
  children: ContextStep[][];
  parents: ContextStep[][];
}

export interface Candidate {
  function: string;
  path?: string[];
  finding?: string;
  self?: boolean;
  absolute?: boolean;
  method?: 'thesis' | 'correlation' | 'hotelling';
  requested?: boolean;
  expected: number;
  actual: number;
  diff: number;
  score: number;
  status: string;
  levels: number[];
  band: Level[];
  contexts?: ContextPaths;
}

export interface JudgedBenchmark {
  group?: string;
  benchmark: string;
  type: string;
  unit: string;
  scale?: number;
  verdict: boolean;
  reason?: string;
  outcome: Outcome;
  findings: number;
  leftOut: { reason: string; runs: number }[];
  warnings: string[];
  analyses: { history: string[]; tested: string[] }[];
  runs: (Run & { tested?: boolean })[];
  bandWidth?: number;
  metric?: { name: string; unit: string; better?: string; values: number[]; band: Level[] };
  candidates: Candidate[];
}

export interface MetricSide {
  runs: number;
  values: number;
  median: number;
  low: number | null;
  high: number | null;
}

export interface MetricRow {
  group?: string;
  benchmark: string;
  metric: string;
  unit: string;
  better: string;
  base: MetricSide;
  head: MetricSide;
  change: number;
  p: number;
  significant: boolean;
  reason?: string;
  fails: boolean;
}

export interface MetricMean {
  metric: string;
  unit: string;
  benchmarks: number;
  base: number;
  head: number;
  change: number;
}

/** A number of benchmarks; says is the status, and where they were not run. */
export interface Count {
  status: Status;
  says: string;
  benchmarks: number;
}

export interface ReportDocument {
  headline: string;
  parameters: { name: string; value: string }[];
  verdict?: { policy: string; failed: boolean };
  notes: string[];
  changes: Change[];
  metrics: { rows: MetricRow[]; means: MetricMean[]; level: number };
  benchmarks: JudgedBenchmark[];
  /** All benchmarks by status, also those that are not listed. */
  counts?: Count[];
}

export type TaskInfo = api.Task;

export type Coverage = api.Coverage;

export type Cause = api.TraceprofCause;

export type TaskDescription = api.TaskResult;

export type TaskLogLine = api.Log;

export interface TaskSegment extends Coverage {
  segment: string;
  trace: string;
  endpoint: string;
  start: number;
  latency: number;
}

export type Span = api.Span;

export interface SegmentDescription {
  id: string;
  trace: string;
  instance: string;
  endpoint: string;
  start: number;
  end: number;
  latency: number;
  error?: boolean;
  spans?: Span[];
}

export interface Snapshot {
  segment: string;
  sequence: number;
  time: number;
  stack: string[];
}

export type Analysis = api.AnalysisResult;

export interface BottleneckPlot {
  group: string;
  benchmark: string;
  score: number;
  x?: string;
  y: string;
  metric?: string;
  cost?: number;
  costUnit?: string;
  slope?: number;
  intercept?: number;
  points: { run: string; date?: string; x: number; y: number }[];
}

export interface BottleneckRow {
  function: string;
  section?: 'own' | 'library' | 'runtime';
  score: number;
  self: number;
  total: number;
  profiles: number;
  benchmarks: number;
  contexts?: { path: string[]; share: number }[];
  plots?: BottleneckPlot[];
}

export interface Bottlenecks {
  measure: string;
  rank: 'own' | 'self' | 'subtree' | 'correlation';
  type: { name: string; unit: string; scale?: number };
  profiles: number;
  benchmarks: number;
  /** Benchmarks without the type, by their own. */
  leftOut?: { type: string; benchmarks: number }[];
  rows: BottleneckRow[];
  negative?: BottleneckRow[];
  warnings: string[];
  expanded?: { selection: string; expansions: (ContextPaths & { function: string; prospect: number })[]; warnings: string[] };
}
