package duckdb

// views are what users' SQL sees beside the tables, in the order in which they
// build on each other. They exist in a session only, because their decoders do:
// other programs that open the file find tables they can read.
var views = []struct{ name, sql string }{
	{"profiles", `SELECT p.uid AS key, p.id AS profile, b.grp, b.name AS benchmark, b.base AS base_name, b.params,
		r.key AS run, r.date, r.commit_id, r.branch, r.repository, r.machine, r.attributes,
		p.type, p.unit, p.scale, p.period, p.period_unit, m.name AS metric, m.mean AS metric_mean, m.unit AS metric_unit,
		m.better AS metric_better, p.profiler, p.version, p.duration, p.samples, p.sum, p.nodes, p.hash, p.file
	FROM profile p JOIN benchmark b ON b.id = p.bench JOIN run r ON r.id = p.run
	LEFT JOIN (FROM metric QUALIFY row_number() OVER (PARTITION BY bench, run ORDER BY is_primary DESC, name) = 1) m
		ON m.bench = p.bench AND m.run = p.run`},

	{"functions", `SELECT id, name, list_extract(['java', 'native', 'cpp', 'kernel', 'vm', 'stub', 'go', 'go-runtime', 'python', 'js',
		'ruby', 'dotnet', 'php', 'rust', 'class'], kind) AS kind, module, file, start_line, start_column, language, system_name FROM fn`},

	{"function_sample", `SELECT p.uid AS profile_key, s.profile, f.name AS function, s.self, s.total,
		s.self / nullif(p.sum, 0) AS self_share, s.total / nullif(p.sum, 0) AS total_share
	FROM fn_sample s JOIN profile p ON p.id = s.profile JOIN fn f ON f.id = s.fn`},

	{"path", `SELECT c.id, nullif(c.parent, -1) AS parent, f.name AS function, c.depth, nullif(c.rec, -1) AS recursion, c.recd AS distance
	FROM call_path c JOIN fn f ON f.id = c.fn`},

	{"sample", `SELECT uid AS profile_key, profile, n.path AS path, n.self AS self
	FROM (SELECT p.uid, t.profile, unnest(dendro_self(t.paths)) AS n FROM tree t JOIN profile p ON p.id = t.profile)`},

	{"node", `SELECT uid AS profile_key, profile, n.path AS path, n.self AS self, n.total AS total, whole
	FROM (SELECT p.uid, p.sum AS whole, t.profile, unnest(dendro_nodes(t.paths)) AS n FROM tree t JOIN profile p ON p.id = t.profile)`},

	{"function_node", `SELECT n.profile::BIGINT * 4294967296 + n.path AS key, n.profile_key, f.name AS code_path, c.depth,
		n.self AS base_samples, n.total AS total_samples, n.self / nullif(n.whole, 0) AS base, n.total / nullif(n.whole, 0) AS total,
		n.profile, n.path
	FROM node n JOIN call_path c ON c.id = n.path JOIN fn f ON f.id = c.fn`},

	{"invokes", `SELECT n.profile::BIGINT * 4294967296 + c.parent AS caller, n.profile::BIGINT * 4294967296 + n.path AS callee, n.profile_key, n.profile
	FROM node n JOIN call_path c ON c.id = n.path WHERE c.parent >= 0`},

	{"recurs", `SELECT n.profile::BIGINT * 4294967296 + c.rec AS u, n.profile::BIGINT * 4294967296 + n.path AS v, c.recd AS distance, n.profile_key, n.profile
	FROM node n JOIN call_path c ON c.id = n.path WHERE c.rec >= 0`},

	{"sampled_segment", `SELECT t.name AS task, s.segment, min(s.seq) AS first_row, count(*) AS row_count, sum(s.n) AS received, max(s.newest) AS newest, sum(s.size) AS bytes
	FROM snapshot s JOIN sampled_task t ON t.id = s.task GROUP BY ALL`},

	{"stack", `SELECT t.name AS task, p.task AS stacks, p.id AS path, nullif(p.parent, -1) AS parent, g.name AS signature
	FROM stack_path p JOIN sampled_task t ON t.id = p.task JOIN stack_signature g ON g.task = p.task AND g.id = p.signature`},

	{"thread_snapshot", `SELECT task, segment, d.sequence AS sequence, d.time AS time, stacks, nullif(d.path, -1) AS path,
		CASE language WHEN 1 THEN d.count END AS count, CASE language WHEN 1 THEN d.nanos END AS nanos
	FROM (SELECT t.name AS task, s.segment, s.seq, s.task AS stacks, s.language, unnest(dendro_snapshots(s.data, s.n, s.language)) AS d
		FROM snapshot s JOIN sampled_task t ON t.id = s.task
		QUALIFY s.language = first(s.language) OVER (PARTITION BY t.name, s.segment ORDER BY s.seq))
	QUALIFY row_number() OVER (PARTITION BY task, segment, d.sequence ORDER BY seq, d.place) = 1`},
}
