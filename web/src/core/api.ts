// The answers of the API, made from its description by TestTypes of app/internal/server/api: do not edit.

export interface ActivityResult { from: number; interval?: number; labels?: ContentsLabelValues[]; markers: number; notes: string[]; omitted: Omitted; profiles: number; rootTotal: number; rows: ActivityRow[]; to: number; type: string; types?: string[]; unit: string; zero?: number }
export interface ActivityRow { id: string; name: string; process: string; samples: number; use: number[] }
export interface Analysis { blocks: number; common?: number; detectable: Detectable; differ?: number; history: string[]; metric?: RegressionChange; noisy: number; program?: Estimate; shifted?: number; tested: string[]; threshold: number; uncounted?: number; unstable: Finding[] }
export interface AnalysisResult { cpu?: boolean; dumps?: Dump[]; found: number; notes: string[]; omitted: Omitted; rootTotal: number; rows: StackRow[]; segments: number; snapshots: number; unit: string }
export interface Attachment { body: unknown; path: string; query: string; title: string }
export interface BenchmarkOverview { benchmark: string; group: string; last: TestrunRun; metric: MetricNewest | null; outcome?: Outcome; profiles: number; runs: number; types: string[] }
export interface BottleneckRow { benchmarks: number; contexts?: Context[]; function: string; plots?: Plot[]; potential?: number[]; profiles: number; samples: number; score: number; section?: string; self: number; total: number }
export interface BottlenecksResult { benchmarks: number; expanded?: Expanded; functions: number; leftOut?: JudgeLeftOut[]; measure: string; negative?: BottleneckRow[]; profiles: number; rank: string; rows: BottleneckRow[]; type: ProfileValueType; value: number; warnings: string[]; zero?: number }
export interface BranchChoice { branch: string; date?: string; newest: string; runs: number }
export interface ChoicesResult { base?: string; branches: BranchChoice[]; first?: string; groups: string[]; last?: string; machines: string[]; metrics: string[]; noBranch?: number; types: string[] }
export interface Code { commits: CodeCommit[]; dependencies?: Dependency[]; from: string; lines: CodeLine[]; link?: string; moreCommits?: number; moreLines?: number; to: string }
export interface CodeCommit { author: string; commit: string; link?: string; subject: string }
export interface CodeLine { file: string; line: number; sign: string; text: string }
export interface ContentsLabelValues { key: string; more?: number; none: number; values: LabelValue[] }
export interface Context { path: string[]; share: number }
export interface Count { benchmarks: number; says: string; status: 'slower' | 'faster' | 'accepted' | 'unchanged' | 'machine' | 'not run at HEAD' | 'gone' | 'new' | 'too few runs' | 'unknown' }
export interface Counts { base: number; head: number }
export interface Coverage { covered: number; cpu?: boolean; expected: number; hole?: number; holeAt?: number; holes?: number; instance?: string; known: boolean; late?: number; lost: number; period?: number; received: number; segment?: string; share: number; slow?: boolean; span: number }
export interface Delta { base: number; gross: number; samples: number; share: number; time?: Estimate }
export interface Dependency { base?: string; file: string; head?: string; name: string }
export interface Detectable { changes: DetectableChange[]; fourTimesTheSamples: number; oneMoreRun: number; threeRuns: number; whole?: number }
export interface DetectableChange { change: number; share: number }
export interface DiffBenchmark { benchmark: string; by: string; change: TreesChange; function?: string; group: string; level: string; noise: number; profiles: Counts; total: TreesChange; type: string; unit: string }
export interface DiffBenchmarksResult { headline: string; notes: string[]; omitted: Omitted; rows: DiffBenchmark[]; type: string }
export interface Document { benchmarks: DocumentBenchmark[]; changes: DocumentChange[]; client?: DocumentClient; counts?: Count[]; headline: string; metrics: Table; notes: string[]; parameters: Parameter[]; schema: number; steady?: number; verdict?: Verdict }
export interface DocumentBenchmark { analyses: (Analysis | null)[]; bandWidth?: number; benchmark: string; candidates: EvidenceCandidate[]; fewSamples?: number; findings: number; group?: string; leftOut: HistoryLeftOut[]; metric?: EvidenceMetric; otherMetrics?: EvidenceMetric[]; outcome: Outcome; ranked: RegressionCandidate[]; reason?: string; runs: EvidenceRun[]; scale?: number; type: string; unit: string; verdict: boolean; warnings: string[] }
export interface DocumentChange { acknowledged?: Excuse; also: Finding[]; at?: string; benchmark: string; caller?: string; chance: number; change?: Lasting; code?: Code; delta: Delta; explained?: Explanation[]; fails: boolean; file?: string; function: string; group?: string; headline?: Headline; id: string; kind: 'regression' | 'leak' | 'widespread' | 'slowdown' | 'improvement' | 'moved' | 'environment'; line?: number; link?: string; note?: string; owners?: string[]; parts: Part[]; path: string[]; paths: Path[]; presence?: 'new' | 'vanished'; ruledOut: RuledOut[]; score: number; sides?: Sides; since: Since; status: 'confirmed' | 'suspect' | 'transient' | 'ended'; type: string }
export interface DocumentClient { attached?: Attachment[]; commits?: Record<string, string>; definitions?: Record<string, ProfileFunction>; findings: Finding[][]; module?: string; types: ProfileValueType[] }
export interface Dump { segment: string; sequence: number; time: number }
export interface Estimate { high: number; low: number; unit: string; value: number }
export interface EvidenceCandidate { absolute?: boolean; actual: number; band: Level[]; contexts?: Expansion; diff: number; expected: number; finding?: string; function: string; levels: number[]; method?: string; path?: string[]; requested?: boolean; score: number; self?: boolean; status: string }
export interface EvidenceMetric { band: Level[]; better?: string; name: string; unit: string; values: number[] }
export interface EvidenceRun { commit?: string; date?: string; run: string; tested?: boolean }
export interface Excuse { at?: string; by?: string; reason?: string; until?: string }
export interface Expanded { benchmark?: string; expansions: Expansion[]; selection: string; warnings: string[] }
export interface Expansion { children: Step[][]; function: string; parents: Step[][]; prospect: number; score: number; truncated?: boolean }
export interface Explanation { cause: string; evidence: string }
export interface FindSum { benchmark?: string; group?: string; maxRun: string; maxShare: number; name: string; of: number; profiles: number; self: number; share: number; total: number }
export interface FindSumsResult { by: string; notes: string[]; omitted: Omitted; profiles: number; rows: FindSum[]; type: string; unit: string }
export interface Finding { acknowledged?: Excuse; benchmark: string; caller?: string; chance: number; change?: Lasting; delta: Delta; explained?: Explanation[]; function: string; group?: string; headline?: Headline; id: string; kind: 'regression' | 'leak' | 'widespread' | 'slowdown' | 'improvement' | 'moved' | 'environment'; note?: string; parts: Part[]; path: string[]; paths: Path[]; presence?: 'new' | 'vanished'; ruledOut: RuledOut[]; score: number; sides?: Sides; since: Since; status: 'confirmed' | 'suspect' | 'transient' | 'ended'; type: string }
export interface FoundBenchmark { benchmark: string; group: string }
export interface FoundRun { benchmark: string; benchmarks: number; branch?: string; commit?: string; group: string; run: string }
export interface FoundService { pushes: boolean; service: string }
export interface FoundTask { endpoint?: string; id: string; service: string }
export interface FunctionLines { file: string; function: string; lines: LineRow[]; link?: string; module: string; self: number; total: number }
export interface Headline { call?: number; calls?: string; file?: string; function: string; line?: number; new?: boolean; own: boolean }
export interface HistoryLeftOut { reason: string; runs: number }
export interface HistoryResult { function: string; notes: string[]; omitted?: Omitted; self: boolean; series: HistorySeries[] }
export interface HistoryRun { attributes?: Record<string, string>; branch?: string; commit?: string; cost?: number; costDeviation?: number; costMean?: number; date?: string; deviation: number; machine?: string; mean: number; profiles: ProfileOfRun[]; repository?: string; run: string; share?: number; value: number | null }
export interface HistorySeries { benchmark: string; better?: string; changes: Finding[]; costBand?: boolean; costUnit?: string; group: string; leftOut: HistoryLeftOut[]; metric: string; outcome?: Outcome; runs: HistoryRun[]; type: string; unit: string }
export interface JudgeLeftOut { benchmarks: number; type: string }
export interface LabelValue { total: number; value: string }
export interface Lasting { branch?: string; end?: Moment; explains?: number; finding: string; lastGood?: Moment; machine?: string; onset: Moment; pair?: string; program?: Estimate; runs: number; seen: Moment; state: string }
export interface Level { deviation: number; mean: number }
export interface LineRow { line: number; self: number; source?: string; total: number }
export interface LinesResult { commit?: string; interval?: number; notes: string[]; omitted: Omitted; profiles: number; rootTotal: number; rows: FunctionLines[]; type: string; types?: string[]; unit: string }
export interface Log { event: string; instance: string; task: string; text?: string; time: number }
export interface MarkerField { key: string; number?: number; text?: string; unit?: string }
export interface MarkerRow { category: string; end: number; fields: MarkerField[]; name: string; start: number; thread: string }
export interface Mean { base: number; benchmarks: number; change: number; head: number; metric: string; unit: string }
export interface MetricNewest { better?: string; deviation: number; last: number; mean: number; name: string; unit: string; values: (number | null)[] }
export interface MetricsRow { base: Side; benchmark: string; better: string; change: number; fails: boolean; group?: string; head: Side; least: number; level: number; metric: string; needed?: number; p: number; reason?: string; significant: boolean; unit: string }
export interface Moment { commit?: string; date?: string; run: string }
export interface Omitted { rows: number; share?: number }
export interface Outcome { baseBranch?: string; baseRuns?: number; branch?: string; certainty?: 'confirmed' | 'suspect' | 'transient' | 'ended'; detectable?: number; finding?: string; more?: number; notAt?: string; reason?: string; says: string; share?: number; since?: Since; status: 'slower' | 'faster' | 'accepted' | 'unchanged' | 'machine' | 'not run at HEAD' | 'gone' | 'new' | 'too few runs' | 'unknown'; tested?: number; time?: Estimate; title?: string; type?: string }
export interface OverviewResult { benchmarks: BenchmarkOverview[]; omitted?: Omitted; profiles: number; pushed: PushedUse[]; releases: ReleaseOverview[]; running: number; runs: number; services: QueryService[] }
export interface Parameter { name: string; value: string }
export interface Part { caller?: string; delta: number; function: string; path: string[]; score: number }
export interface Path { delta: number; path: string[] }
export interface Plot { benchmark: string; cost?: number; costUnit?: string; group: string; intercept?: number; metric?: string; points: Point[]; score: number; slope?: number; x?: string; y: string }
export interface Point { date?: string; run: string; x: number; y: number }
export interface ProfileFunction { Column: number; File: string; Kind: number; Language: string; Module: string; Name: string; StartLine: number; SystemName: string }
export interface ProfileOfRun { id: string; type: string }
export interface ProfileValueType { name: string; original?: string; period?: number; periodName?: string; periodUnit?: string; scale?: number; unit: string }
export interface PushedLine { rates?: number[]; times: number[]; value: string; values: number[] }
export interface PushedSeriesResult { gauge: boolean; notes: string[]; rateUnit?: string; rows: PushedLine[]; since: number; step: number; type: string; unit: string; until: number }
export interface PushedService { first: string; gauge: boolean; labels: QueryLabelValues[]; last: string; series: number; service: string; type: string; unit: string }
export interface PushedUse { cores: number | null; function?: string; last: string; release?: string; service: string; share?: number; since?: string }
export interface QueryFunction { baseName?: string; column?: number; file: string; function: string; kind: string; language: string; line?: number; module: string; own?: boolean; runtime?: boolean }
export interface QueryLabelValues { more?: number; name: string; values: string[] }
export interface QueryService { instances: number; lastSeen: number; service: string }
export interface Reason { distance: string; measure: string; weight: number }
export interface RegressionCandidate { delta: number; function: string; score: number; share: number }
export interface RegressionChange { base: number; found: number; head: number; score: number; unit: string }
export interface ReleaseOverview { benchmark: string; last: TestrunRun; outcome: Outcome; releases: number; service: string; type: string }
export interface RuledOut { cause: string; evidence: string }
export interface Run { attributes?: Record<string, string>; branch?: string; commit?: string; date?: string; machine?: string; repository?: string; run: string }
export interface SearchResult { benchmarks: FoundBenchmark[]; functions: string[]; omitted?: Record<string, number>; runs: FoundRun[]; services: FoundService[]; tasks: FoundTask[] }
export interface Side { high: number | null; low: number | null; median: number; runs: number; values: number }
export interface Sides { against?: string; base: string[]; head: string[]; label?: string; pair?: string; pushed?: string; service?: string }
export interface Since { commit?: string; lastGood?: string; run: string }
export interface Snapshot { segment: string; sequence: number; stack: string[]; task: string; time: number }
export interface Span { end: number; error?: boolean; id: number; kind: string; layer?: string; operation: string; parent: number; peer?: string; start: number }
export interface StackRow { count: number; depth: number; dumps?: number[]; function: string; own?: boolean; self: number; total: number }
export interface Step { candidateDiff: number; candidateScore: number; diff: number; function: string; status: string; weight?: number; why?: Reason[] }
export interface Table { level: number; means: Mean[]; others?: number; rows: MetricsRow[] }
export interface Task { arguments?: string; created: number; duration: number; end: number; endpoint?: string; events?: string[]; id: string; instances?: string[]; kind: string; maxSegments?: number; minDuration?: number; period?: number; service: string; serviceId: string; start: number; state: string; stopped?: number }
export interface TaskCoverage { covered: number; cpu?: boolean; expected: number; hole?: number; holeAt?: number; holes?: number; instance?: string; known: boolean; late?: number; lost: number; period?: number; received: number; requests: number; segment?: string; segments: Coverage[]; share: number; slow?: boolean; span: number }
export interface TaskResult { arguments?: string; causes: TraceprofCause[]; coverage?: TaskCoverage; created: number; duration: number; end: number; endpoint?: string; events?: string[]; id: string; instances?: string[]; kind: string; maxSegments?: number; minDuration?: number; period?: number; service: string; serviceId: string; start: number; state: string; stopped?: number }
export interface TaskSegment { covered: number; cpu?: boolean; endpoint: string; expected: number; hole?: number; holeAt?: number; holes?: number; instance?: string; known: boolean; late?: number; latency: number; lost: number; period?: number; received: number; segment?: string; share: number; slow?: boolean; span: number; start: number; trace: string }
export interface TasksSegment { end: number; endpoint: string; error?: boolean; id: string; instance: string; latency: number; operation: string; raw?: number[]; received?: number; service: string; spans?: Span[]; start: number; trace: string }
export interface TestrunRun { attributes?: Record<string, string>; branch?: string; commit?: string; date?: string; machine?: string; repository?: string; run: string }
export interface TraceprofCause { code: string; instances?: string[]; names?: string[]; requests?: number; slowest?: number; text: string }
export interface TreesChange { base: number; delta: number; head: number; relative: number | null }
export interface Unjudged { benchmark: string; group?: string; reason: string; type: string }
export interface Verdict { acknowledged: number; baseRuns: number[]; failOnMetric?: number; failed: boolean; failing: number; failingMetrics: number; fewValues?: string; headRuns: number[]; judged: number; newHistory?: boolean; noMetricCanFail?: boolean; notHead?: string; policy: string; tested: boolean; unjudged: Unjudged[]; warning: number; why?: string }
