package windows

import (
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// levelTables are the tables of the levels.
var levelTables = [...]string{continuous.Raw: "raw_window", continuous.Hour: "hour_window", continuous.Day: "day_window"}

// chosenTable creates the tables with the series, or series and times, that a statement
// joins, and with the series whose sums are those of another. They are filled inside a transaction, and emptied after use.
const chosenTable = `CREATE TEMP TABLE chosen(series INTEGER, start BIGINT); CREATE TEMP TABLE seen(series INTEGER, first BIGINT, last BIGINT, newest BIGINT);
	CREATE TEMP TABLE other(series INTEGER, sum INTEGER)`

// Views are the views for users' SQL. That which is not stored exists in a
// session only, because its decoder does.
var Views = []driver.View{
	{Name: "windows", Stored: true, SQL: `SELECT s.service, s.name || ':' || s.sample_type || ':' || s.sample_unit || ':' || s.period_type || ':' || s.period_unit AS type,
		s.labels, w.level, make_timestamp_ms(w.start) AS start, w.length, w.parts, w.covered, w.sum, w.instances, s.id AS series
	FROM (SELECT series, 'raw' AS level, start, length, 1::BIGINT AS parts, length AS covered, sum, 1::BIGINT AS instances FROM raw_window
		UNION ALL SELECT series, 'hour', start, 3600000, parts, covered, sum, instances FROM hour_window
		UNION ALL SELECT series, 'day', start, 86400000, parts, covered, sum, instances FROM day_window) w JOIN series s ON s.id = w.series`},

	{Name: "window_sample", SQL: `SELECT series, level, start, n.path AS path, n.self AS self
	FROM (SELECT series, level, make_timestamp_ms(start) AS start, unnest(dendro_self(paths)) AS n
		FROM (SELECT series, 'raw' AS level, start, paths FROM raw_window
			UNION ALL SELECT series, 'hour', start, paths FROM hour_window
			UNION ALL SELECT series, 'day', start, paths FROM day_window))`},
}
