-- Schema 1. FORMAT.md describes the tables.
CREATE TABLE meta(key VARCHAR, value VARCHAR);

CREATE TABLE fn(id INTEGER, name VARCHAR, kind UTINYINT, module VARCHAR, file VARCHAR, start_line INTEGER, start_column INTEGER,
	language VARCHAR, system_name VARCHAR);
CREATE TABLE benchmark(id INTEGER, grp VARCHAR, name VARCHAR, base VARCHAR, params MAP(VARCHAR, VARCHAR));
CREATE TABLE run(id INTEGER, key VARCHAR, date TIMESTAMP_NS, commit_id VARCHAR, branch VARCHAR, repository VARCHAR, machine VARCHAR,
	attributes MAP(VARCHAR, VARCHAR));
CREATE TABLE metric(bench INTEGER, run INTEGER, name VARCHAR, mean DOUBLE, unit VARCHAR, better VARCHAR, n BIGINT, is_primary BOOLEAN,
	samples VARCHAR, error DOUBLE);
CREATE TABLE profile(id INTEGER, uid VARCHAR, bench INTEGER, run INTEGER, type VARCHAR, unit VARCHAR, scale INTEGER, period BIGINT,
	period_unit VARCHAR, period_name VARCHAR, original VARCHAR, profiler VARCHAR, version VARCHAR, duration BIGINT, samples BIGINT,
	sum BIGINT, nodes INTEGER, hash VARCHAR, file VARCHAR, source INTEGER, parts VARCHAR, is_default BOOLEAN, slot INTEGER, divisor BIGINT);
CREATE TABLE call_path(id INTEGER, parent INTEGER, fn INTEGER, depth INTEGER, rec INTEGER);
CREATE TABLE tree(profile INTEGER, paths BLOB);
CREATE TABLE tree_mode(profile INTEGER, mode UTINYINT, paths BLOB);
CREATE TABLE fn_sample(bench INTEGER, slot INTEGER, fn INTEGER, self BIGINT, callees BIGINT);
CREATE TABLE raw_name(grp VARCHAR, fn INTEGER, name VARCHAR);
CREATE TABLE source(id INTEGER, data BLOB);
CREATE TABLE verdict(bench INTEGER, key VARCHAR, stamp VARCHAR, document BLOB);
CREATE TABLE accepted(finding VARCHAR, benchmark VARCHAR, by_whom VARCHAR, accepted_at BIGINT, until BIGINT, up_to DOUBLE, reason VARCHAR);

CREATE TABLE task(id VARCHAR, kind VARCHAR, service VARCHAR, service_id VARCHAR, created BIGINT, start BIGINT, duration BIGINT,
	stopped BIGINT, endpoint VARCHAR, min_duration BIGINT, period BIGINT, max_segments BIGINT, instances VARCHAR, events VARCHAR,
	arguments VARCHAR);
CREATE TABLE task_log(task VARCHAR, instance VARCHAR, event VARCHAR, time BIGINT, text VARCHAR);
CREATE TABLE instance(service VARCHAR, name VARCHAR, layer VARCHAR, language VARCHAR, properties VARCHAR, first_seen BIGINT,
	last_seen BIGINT, polled BIGINT, skew BIGINT);
CREATE TABLE segment(seq BIGINT, key BIGINT, id VARCHAR, trace_key BIGINT, trace VARCHAR, service VARCHAR, instance VARCHAR,
	endpoint VARCHAR, operation VARCHAR, start BIGINT, latency BIGINT, failed BOOLEAN, size BIGINT, raw BLOB, arrived BIGINT);
CREATE TABLE sampled_task(id INTEGER, key BIGINT, name VARCHAR);
CREATE TABLE stack_signature(task INTEGER, id INTEGER, name VARCHAR);
CREATE TABLE stack_path(task INTEGER, id INTEGER, parent INTEGER, signature INTEGER);
CREATE TABLE snapshot(task INTEGER, seq BIGINT, key BIGINT, segment VARCHAR, language UTINYINT, n INTEGER, newest BIGINT, size BIGINT,
	data BLOB);

CREATE TABLE series(id INTEGER, service VARCHAR, name VARCHAR, sample_type VARCHAR, sample_unit VARCHAR, period_type VARCHAR,
	period_unit VARCHAR, labels MAP(VARCHAR, VARCHAR), facts MAP(VARCHAR, VARCHAR), value_type VARCHAR, unit VARCHAR, scale INTEGER,
	period BIGINT, value_period_unit VARCHAR, period_name VARCHAR, original VARCHAR, first_start BIGINT, last_end BIGINT,
	newest_start BIGINT, summed MAP(VARCHAR, VARCHAR));
CREATE TABLE raw_window(series INTEGER, start BIGINT, length BIGINT, seq BIGINT, sum BIGINT, hash BIGINT, bytes INTEGER, paths BLOB);
CREATE TABLE hour_window(series INTEGER, start BIGINT, parts BIGINT, covered BIGINT, sum BIGINT, instances BIGINT, bytes INTEGER, paths BLOB);
CREATE TABLE day_window(series INTEGER, start BIGINT, parts BIGINT, covered BIGINT, sum BIGINT, instances BIGINT, bytes INTEGER, paths BLOB);
CREATE TABLE line_profile(service VARCHAR, name VARCHAR, sample_type VARCHAR, sample_unit VARCHAR, period_type VARCHAR, period_unit VARCHAR,
	label VARCHAR, version VARCHAR, day BIGINT, windows BIGINT, covered BIGINT, bytes INTEGER, profile BLOB);
