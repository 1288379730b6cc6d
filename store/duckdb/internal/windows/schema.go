package windows

import (
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

const (
	seriesColumns = `id INTEGER, service VARCHAR, name VARCHAR, sample_type VARCHAR, sample_unit VARCHAR, period_type VARCHAR, period_unit VARCHAR,
		labels MAP(VARCHAR, VARCHAR), facts MAP(VARCHAR, VARCHAR), value_type VARCHAR, unit VARCHAR, scale INTEGER, period BIGINT,
		value_period_unit VARCHAR, period_name VARCHAR, original VARCHAR, first_start BIGINT, last_end BIGINT, newest_start BIGINT`
	rawColumns = `series INTEGER, start BIGINT, length BIGINT, seq BIGINT, sum BIGINT, hash BIGINT, bytes INTEGER, paths BLOB`
	sumColumns = `series INTEGER, start BIGINT, parts BIGINT, covered BIGINT, sum BIGINT, bytes INTEGER, paths BLOB`
)

// Tables are the tables of this package.
var Tables = []driver.Table{
	{Name: "series", Columns: seriesColumns},
	{Name: "raw_window", Columns: rawColumns},
	{Name: "hour_window", Columns: sumColumns},
	{Name: "day_window", Columns: sumColumns},
}

// Create is the SQL that creates the tables in a store of schema 8.
const Create = `CREATE TABLE series(` + seriesColumns + `); CREATE TABLE raw_window(` + rawColumns + `);
	CREATE TABLE hour_window(` + sumColumns + `); CREATE TABLE day_window(` + sumColumns + `)`

// levelTables are the tables of the levels.
var levelTables = [...]string{continuous.Raw: "raw_window", continuous.Hour: "hour_window", continuous.Day: "day_window"}

// chosenTable creates the tables with the series, or series and times, that a statement
// joins. They are filled inside a transaction, and emptied after use.
const chosenTable = `CREATE TEMP TABLE chosen(series INTEGER, start BIGINT); CREATE TEMP TABLE seen(series INTEGER, first BIGINT, last BIGINT, newest BIGINT)`

// Views are the views for users' SQL over Tables. That which is not stored exists in a
// session only, because its decoder does.
var Views = []driver.View{
	{Name: "windows", Stored: true, SQL: `SELECT s.service, s.name || ':' || s.sample_type || ':' || s.sample_unit || ':' || s.period_type || ':' || s.period_unit AS type,
		s.labels, w.level, make_timestamp_ms(w.start) AS start, w.length, w.parts, w.covered, w.sum, s.id AS series
	FROM (SELECT series, 'raw' AS level, start, length, 1::BIGINT AS parts, length AS covered, sum FROM raw_window
		UNION ALL SELECT series, 'hour', start, 3600000, parts, covered, sum FROM hour_window
		UNION ALL SELECT series, 'day', start, 86400000, parts, covered, sum FROM day_window) w JOIN series s ON s.id = w.series`},

	{Name: "window_sample", SQL: `SELECT series, level, start, n.path AS path, n.self AS self
	FROM (SELECT series, level, make_timestamp_ms(start) AS start, unnest(dendro_self(paths)) AS n
		FROM (SELECT series, 'raw' AS level, start, paths FROM raw_window
			UNION ALL SELECT series, 'hour', start, paths FROM hour_window
			UNION ALL SELECT series, 'day', start, paths FROM day_window))`},
}
