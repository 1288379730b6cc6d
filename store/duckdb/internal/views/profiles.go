// Package views has the views of profiles for users' SQL: what a column of the answer is
// made of. docs/schema describes them for their readers.
//
// The statements read the tables of package schema, and functions that decode trees
// (dendro_functions, dendro_self, dendro_nodes), which package profiles registers. They
// choose the metric of a profile as store.Profile.Measure does. Nothing is run here.
package views

import (
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// storedRows has the rows of functions that are in the file.
const storedRows = `SELECT p.uid, p.id AS profile, p.sum AS whole, s.fn, s.self * p.divisor AS self, (s.self + s.callees) * p.divisor AS total
	FROM fn_sample s JOIN profile p ON p.bench = s.bench AND p.slot = s.slot`

// functionSample is the SQL of view function_sample over rows of functions.
func functionSample(rows string) string {
	return `SELECT s.uid AS profile_key, s.profile, f.name AS function, s.self, s.total,
		s.self / nullif(s.whole, 0) AS self_share, s.total / nullif(s.whole, 0) AS total_share
	FROM (` + rows + `) s JOIN fn f ON f.id = s.fn`
}

// metricsOfRuns has for each benchmark and run its own primary metric and those that may
// judge a value type in its place, as store.Profile.Measure orders them.
const metricsOfRuns = `SELECT bench, run,
		first(m ORDER BY is_primary DESC, m.name) FILTER (m.name NOT IN ('` + testrun.CPUMetric + `', '` + testrun.OperationsMetric + `')) AS own,
		first(m) FILTER (m.name = '` + testrun.CPUTimeMetric + `') AS cpu,
		first(m) FILTER (m.name = '` + testrun.CPUMetric + `') AS sampled,
		first(m ORDER BY is_primary DESC, m.name) FILTER (m.unit = 'B/op') AS bytes,
		first(m ORDER BY is_primary DESC, m.name) FILTER (m.unit = 'allocs/op') AS allocations,
		max(m.mean) FILTER (m.name = '` + testrun.OperationsMetric + `' AND m.mean > 0) AS operations
	FROM (SELECT bench, run, is_primary, {name: name, mean: mean, unit: unit, better: better} AS m FROM metric) GROUP BY bench, run`

// judging is the metric that judges the value type of profile p, as store.Profile.Measure
// chooses it; that of CPU profiles whose operations are known is derived.
const judging = `CASE
		WHEN p.type IN ('` + profile.CPU + `', '` + profile.CPUSamples + `') THEN coalesce(m.cpu, ` + perOperation + `, m.sampled, m.own)
		WHEN p.type = '` + profile.Alloc + `' THEN coalesce(m.bytes, m.own)
		WHEN p.type = '` + profile.AllocSamples + `' THEN coalesce(m.allocations, m.own)
		ELSE m.own END`

// perOperation is the CPU time of profile p divided by its operations, NULL if either is
// unknown, as of sums, whose parts have operations each.
const perOperation = `CASE WHEN p.ns / m.operations > 0 AND p.parts = ''
		THEN {name: '` + testrun.CPUMetric + `', mean: p.ns / m.operations, unit: 'ns/op', better: '` + string(testrun.Lower) + `'} END`

// timed has the profiles and the time ns of all samples of each; NULL if the value of a
// sample is unknown.
const timed = `SELECT *, sum / pow(10, scale) * CASE WHEN unit = 'count' THEN period ELSE 1 END
		* CASE CASE WHEN unit = 'count' THEN period_unit ELSE unit END
			WHEN 'nanoseconds' THEN 1 WHEN 'microseconds' THEN 1e3 WHEN 'milliseconds' THEN 1e6 WHEN 'seconds' THEN 1e9 END AS ns
	FROM profile`

// Profiles are the views for users' SQL, each after those it is made of. Those
// that are not stored exist in a session only, because their decoders do.
var Profiles = []driver.View{
	{Name: "profiles", Stored: true, SQL: `SELECT p.uid AS key, p.id AS profile, b.grp, b.name AS benchmark, b.base AS base_name, b.params,
		r.key AS run, r.date, r.commit_id, r.branch, r.repository, r.machine, r.attributes,
		p.type, p.is_default, p.unit, p.scale, p.period, p.period_unit, p.metric.name AS metric, p.metric.mean AS metric_mean,
		p.metric.unit AS metric_unit, p.metric.better AS metric_better, p.profiler, p.version, p.duration, p.samples, p.sum, p.nodes, p.hash, p.file, p.slot >= 0 AS has_rows
	FROM (SELECT p.*, ` + judging + ` AS metric FROM (` + timed + `) p LEFT JOIN (` + metricsOfRuns + `) m ON m.bench = p.bench AND m.run = p.run) p
	JOIN benchmark b ON b.id = p.bench JOIN run r ON r.id = p.run`},

	{Name: "functions", Stored: true, SQL: `SELECT id, name, list_extract(['java', 'native', 'cpp', 'kernel', 'vm', 'stub', 'go', 'go-runtime', 'python', 'js',
		'ruby', 'dotnet', 'php', 'rust', 'class', 'label', 'js-label'], kind) AS kind, module, file, start_line, start_column, language, system_name FROM fn`},

	{Name: "function_sample", Stored: true, SQL: functionSample(storedRows + ` UNION ALL SELECT uid, profile, whole, n.fn, n.self, n.total
	FROM (SELECT p.uid, p.id AS profile, p.sum AS whole, unnest(dendro_functions(t.paths)) AS n FROM tree t JOIN profile p ON p.id = t.profile WHERE p.slot < 0)`),
		StoredSQL: functionSample(storedRows)},

	// A function's share of a benchmark counts profiles without it as 0. So the view needs the
	// rows of all profiles, and is not stored.
	{Name: "function_benchmark", SQL: `SELECT w.grp, w.benchmark, w.type, s.function, s.profiles, w.profiles AS "of", s.self, s.total,
		s.self / nullif(w.sum, 0) AS self_share, s.total / nullif(w.sum, 0) AS total_share, s.max_share, s.max_run
	FROM (SELECT p.grp, p.benchmark, p.type, p.unit, p.scale, s.function, count(*) AS profiles, sum(s.self)::BIGINT AS self, sum(s.total)::BIGINT AS total,
			max(s.total_share) AS max_share, arg_max(p.run, s.total_share) AS max_run
		FROM function_sample s JOIN profiles p ON p.key = s.profile_key GROUP BY ALL) s
	JOIN (SELECT b.grp, b.name AS benchmark, p.type, p.unit, p.scale, count(*) AS profiles, sum(p.sum) AS sum
		FROM profile p JOIN benchmark b ON b.id = p.bench GROUP BY ALL) w USING (grp, benchmark, type, unit, scale)`},

	{Name: "path", Stored: true, SQL: `SELECT c.id, nullif(c.parent, -1) AS parent, f.name AS function, c.depth, nullif(c.rec, -1) AS recursion, coalesce(c.depth - r.depth, 0) AS distance
	FROM call_path c JOIN fn f ON f.id = c.fn LEFT JOIN call_path r ON r.id = c.rec`},

	{Name: "sample", SQL: `SELECT uid AS profile_key, profile, n.path AS path, n.self AS self
	FROM (SELECT p.uid, t.profile, unnest(dendro_self(t.paths)) AS n FROM tree t JOIN profile p ON p.id = t.profile)`},

	{Name: "node", SQL: `SELECT uid AS profile_key, profile, n.path AS path, n.self AS self, n.total AS total, whole
	FROM (SELECT p.uid, p.sum AS whole, t.profile, unnest(dendro_nodes(t.paths)) AS n FROM tree t JOIN profile p ON p.id = t.profile)`},

	{Name: "function_node", SQL: `SELECT n.profile::BIGINT * 4294967296 + n.path AS key, n.profile_key, f.name AS code_path, c.depth,
		n.self AS base_samples, n.total AS total_samples, n.self / nullif(n.whole, 0) AS base, n.total / nullif(n.whole, 0) AS total,
		n.profile, n.path
	FROM node n JOIN call_path c ON c.id = n.path JOIN fn f ON f.id = c.fn`},

	{Name: "invokes", SQL: `SELECT n.profile::BIGINT * 4294967296 + c.parent AS caller, n.profile::BIGINT * 4294967296 + n.path AS callee, n.profile_key, n.profile
	FROM node n JOIN call_path c ON c.id = n.path WHERE c.parent >= 0`},

	{Name: "recurs", SQL: `SELECT n.profile::BIGINT * 4294967296 + c.rec AS u, n.profile::BIGINT * 4294967296 + n.path AS v, c.depth - r.depth AS distance, n.profile_key, n.profile
	FROM node n JOIN call_path c ON c.id = n.path JOIN call_path r ON r.id = c.rec`},
}
