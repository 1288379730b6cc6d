package traces

import "github.com/dendroprof/dendro/store/duckdb/internal/driver"

// Views are the views for users' SQL, each after those it is made of. Those
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
