// The answers of the API, made from its description by TestTypes of app/internal/server/api: do not edit.

export interface AnalysisResult {
  cpu?: boolean;
  dumps?: Dump[];
  found: number;
  notes: string[];
  omitted: Omitted;
  rootTotal: number;
  rows: StackRow[];
  segments: number;
  snapshots: number;
  unit: string;
}

export interface Coverage {
  covered: number;
  cpu?: boolean;
  expected: number;
  hole?: number;
  holeAt?: number;
  holes?: number;
  instance?: string;
  known: boolean;
  late?: number;
  lost: number;
  period?: number;
  received: number;
  segment?: string;
  share: number;
  slow?: boolean;
  span: number;
}

export interface Dump {
  segment: string;
  sequence: number;
  time: number;
}

export interface Log {
  event: string;
  instance: string;
  task: string;
  text?: string;
  time: number;
}

export interface Moment {
  commit?: string;
  date?: string;
  run: string;
}

export interface Omitted {
  rows: number;
  share?: number;
}

export interface QueryService {
  instances: number;
  lastSeen: number;
  service: string;
}

export interface Reason {
  distance: string;
  measure: string;
  weight: number;
}

export interface Run {
  attributes?: Record<string, string>;
  branch?: string;
  commit?: string;
  date?: string;
  machine?: string;
  repository?: string;
  run: string;
}

export interface Sides {
  against?: string;
  base: string[];
  head: string[];
  label?: string;
  pushed?: string;
  service?: string;
}

export interface Span {
  end: number;
  error?: boolean;
  id: number;
  kind: string;
  layer?: string;
  operation: string;
  parent: number;
  peer?: string;
  start: number;
}

export interface StackRow {
  count: number;
  depth: number;
  dumps?: number[];
  function: string;
  own?: boolean;
  self: number;
  total: number;
}

export interface Step {
  candidateDiff: number;
  candidateScore: number;
  diff: number;
  function: string;
  status: string;
  weight?: number;
  why?: Reason[];
}

export interface Task {
  arguments?: string;
  created: number;
  duration: number;
  end: number;
  endpoint?: string;
  events?: string[];
  id: string;
  instances?: string[];
  kind: string;
  maxSegments?: number;
  minDuration?: number;
  period?: number;
  service: string;
  serviceId: string;
  start: number;
  state: string;
  stopped?: number;
}

export interface TaskCoverage {
  covered: number;
  cpu?: boolean;
  expected: number;
  hole?: number;
  holeAt?: number;
  holes?: number;
  instance?: string;
  known: boolean;
  late?: number;
  lost: number;
  period?: number;
  received: number;
  requests: number;
  segment?: string;
  segments: Coverage[];
  share: number;
  slow?: boolean;
  span: number;
}

export interface TaskResult {
  arguments?: string;
  causes: TraceprofCause[];
  coverage?: TaskCoverage | null;
  created: number;
  duration: number;
  end: number;
  endpoint?: string;
  events?: string[];
  id: string;
  instances?: string[];
  kind: string;
  maxSegments?: number;
  minDuration?: number;
  period?: number;
  service: string;
  serviceId: string;
  start: number;
  state: string;
  stopped?: number;
}

export interface TraceprofCause {
  code: string;
  instances?: string[];
  names?: string[];
  requests?: number;
  slowest?: number;
  text: string;
}
