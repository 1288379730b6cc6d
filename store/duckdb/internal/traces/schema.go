package traces

import "github.com/dendroprof/dendro/store/duckdb/internal/driver"

// Tables are the tables of this package.
var Tables = []driver.Table{
	{Name: "task", Columns: `id VARCHAR, kind VARCHAR, service VARCHAR, service_id VARCHAR, created BIGINT, start BIGINT, duration BIGINT,
		stopped BIGINT, endpoint VARCHAR, min_duration BIGINT, period BIGINT, max_segments BIGINT, instances VARCHAR, events VARCHAR, arguments VARCHAR`},
	{Name: "task_log", Columns: `task VARCHAR, instance VARCHAR, event VARCHAR, time BIGINT, text VARCHAR`},
	{Name: "instance", Columns: `service VARCHAR, name VARCHAR, layer VARCHAR, language VARCHAR, properties VARCHAR,
		first_seen BIGINT, last_seen BIGINT, polled BIGINT, skew BIGINT`},
	{Name: "segment", Columns: `seq BIGINT, key BIGINT, id VARCHAR, trace_key BIGINT, trace VARCHAR, service VARCHAR, instance VARCHAR, endpoint VARCHAR,
		operation VARCHAR, start BIGINT, latency BIGINT, failed BOOLEAN, size BIGINT, raw BLOB, arrived BIGINT`},
	{Name: "sampled_task", Columns: `id INTEGER, key BIGINT, name VARCHAR`},
	{Name: "stack_signature", Columns: `task INTEGER, id INTEGER, name VARCHAR`},
	{Name: "stack_path", Columns: `task INTEGER, id INTEGER, parent INTEGER, signature INTEGER`},
	{Name: "snapshot", Columns: `task INTEGER, seq BIGINT, key BIGINT, segment VARCHAR, language UTINYINT, n INTEGER, newest BIGINT, size BIGINT, data BLOB`},
}

// Views are the views for users' SQL over Tables, each after those it is made of. Those
// that are not stored exist in a session only, because their decoders do.
var Views = []driver.View{
	{Name: "sampled_segment", Stored: true, SQL: `SELECT t.name AS task, s.segment, min(s.seq) AS first_row, count(*) AS row_count, sum(s.n) AS received, max(s.newest) AS newest, sum(s.size) AS bytes
	FROM snapshot s JOIN sampled_task t ON t.id = s.task GROUP BY ALL`},

	{Name: "stack", Stored: true, SQL: `SELECT t.name AS task, p.task AS stacks, p.id AS path, nullif(p.parent, -1) AS parent, g.name AS signature
	FROM stack_path p JOIN sampled_task t ON t.id = p.task JOIN stack_signature g ON g.task = p.task AND g.id = p.signature`},

	{Name: "thread_snapshot", SQL: `SELECT task, segment, d.sequence AS sequence, d.time AS time, stacks, nullif(d.path, -1) AS path,
		CASE language WHEN 1 THEN d.count END AS count, CASE language WHEN 1 THEN d.nanos END AS nanos
	FROM (SELECT t.name AS task, s.segment, s.seq, s.task AS stacks, s.language, unnest(dendro_snapshots(s.data, s.n, s.language)) AS d
		FROM snapshot s JOIN sampled_task t ON t.id = s.task
		QUALIFY s.language = first(s.language) OVER (PARTITION BY t.name, s.segment ORDER BY s.seq))
	QUALIFY row_number() OVER (PARTITION BY task, segment, d.sequence ORDER BY seq, d.place) = 1`},
}
