"""Profiles of a Dendro lake in Spark: every function returns a DataFrame.

    spark = session("/data/lake")                       # or its catalog: postgres://user@host/database
    top(spark, "benchmark = 'checkout' AND type = 'cpu'").show()

`where` is a condition of SQL on the columns of table profiles; docs/lake.md
describes them. Select one type.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow
from pyspark.sql import DataFrame, SparkSession

# Of Maven Central. Spark downloads them, or --jars names the files. The last is for files
# in S3.
PACKAGES = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.9.2,org.xerial:sqlite-jdbc:3.50.3.0,org.postgresql:postgresql:42.7.7,org.apache.iceberg:iceberg-aws-bundle:1.9.2"


def session(lake: str, builder: SparkSession.Builder | None = None) -> SparkSession:
    """Returns a session with the tables of a lake as lake.dendro.*, and the views of views.sql.

    The lake is a directory, or the URL of its catalog in PostgreSQL, whose password
    is in PGPASSWORD. For files in S3 the session uses the credentials of the AWS SDK."""
    builder = builder or SparkSession.builder.config("spark.jars.packages", PACKAGES)
    catalog = "spark.sql.catalog.lake"
    options = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{lake}/catalog.db",
        f"{catalog}.warehouse": lake,
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.cache-enabled": "false",  # what others publish is there at once
        # Its check for its tables leaves a read of SQLite open, in which later reads see the old state.
        f"{catalog}.jdbc.init-catalog-tables": "false",
        f"{catalog}.io-impl": "org.apache.iceberg.io.ResolvingFileIO",
        "spark.sql.session.timeZone": "UTC",
    }
    if lake.startswith(("postgres://", "postgresql://")):
        url = urlsplit(lake)
        options[f"{catalog}.uri"] = f"jdbc:postgresql://{url.netloc.rpartition('@')[2]}{url.path}" + (f"?{url.query}" if url.query else "")
        options[f"{catalog}.jdbc.user"] = unquote(url.username or "")
        options[f"{catalog}.jdbc.password"] = unquote(url.password or os.environ.get("PGPASSWORD", ""))
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    views = (Path(__file__).parent / "views.sql").read_text()
    for statement in views.split(";"):
        if statement.strip():
            spark.sql(statement)
    return spark


def top(spark: SparkSession, where: str) -> DataFrame:
    """The functions of the selected profiles: function, self, total, share of the whole, profiles."""
    return spark.sql(f"""
        WITH p AS (SELECT profile, sum FROM profiles WHERE {where})
        SELECT f.name AS function, sum(s.self) AS self, sum(s.total) AS total,
               sum(s.total) / (SELECT sum(sum) FROM p) AS share, count(*) AS profiles
        FROM samples s JOIN p USING (profile) JOIN functions f USING (function)
        GROUP BY f.name ORDER BY total DESC, function""")


def over(spark: SparkSession, where: str, function: str, share: float) -> DataFrame:
    """The profiles in which a function has more than a share: benchmark, run, date, share."""
    return series(spark, where, function).where(f"share > {share}")


def series(spark: SparkSession, where: str, function: str) -> DataFrame:
    """A function over the runs of each benchmark, in order of date: self, total, share."""
    return spark.sql(f"""
        WITH p AS (SELECT profile, sum, run, metric_mean, grp, benchmark, date FROM profiles WHERE {where})
        SELECT p.grp, p.benchmark, p.run, p.date, p.metric_mean AS metric, s.self, s.total, s.total / p.sum AS share
        FROM samples s JOIN p USING (profile) JOIN functions f USING (function)
        WHERE f.name = {quoted(function)} ORDER BY date, benchmark""")


def tree(spark: SparkSession, where: str) -> DataFrame:
    """The merged call tree: path, parent, depth, function, self, total."""
    return spark.sql(f"""
        WITH p AS (SELECT profile FROM profiles WHERE {where}),
             s AS (SELECT path, sum(self) AS self, sum(total) AS total FROM lake.dendro.path_samples JOIN p USING (profile) GROUP BY path)
        SELECT path, parent, depth, name AS function, self, total
        FROM s JOIN paths USING (path) JOIN functions USING (function)""")


def potentials(spark: SparkSession, where: str, degree: int) -> DataFrame:
    """The subtree potential of degree n of each function: samples of the call nodes that have
    it among themselves and their n nearest ancestors. Degree 0 is the function's self."""
    steps = " UNION ALL ".join(
        f"SELECT s.path, s.self, p0.function FROM s {chain(n)}".replace("p0.function", f"p{n}.function") for n in range(degree + 1))
    return spark.sql(f"""
        WITH p AS (SELECT profile FROM profiles WHERE {where}),
             s AS (SELECT path, sum(self) AS self FROM lake.dendro.path_samples JOIN p USING (profile) WHERE self <> 0 GROUP BY path),
             credit AS (SELECT DISTINCT path, self, function FROM ({steps}))
        SELECT f.name AS function, sum(self) AS potential
        FROM credit JOIN functions f USING (function) GROUP BY f.name ORDER BY potential DESC, function""")


def chain(n: int) -> str:
    """The joins from a sample to its path and that path's n nearest ancestors."""
    joins = ["JOIN paths p0 ON p0.path = s.path"]
    joins += [f"JOIN paths p{i} ON p{i}.path = p{i - 1}.parent" for i in range(1, n + 1)]
    return " ".join(joins)


def z_scores(spark: SparkSession, where: str, run: str) -> DataFrame:
    """The paper's score of each function of a run: its total minus the mean of the other
    selected runs of the benchmark, in standard deviations of these (0 where a run lacks it)."""
    return spark.sql(f"""
        WITH p AS (SELECT profile, grp, benchmark, run FROM profiles WHERE {where}),
             n AS (SELECT grp, benchmark, count_if(run <> {quoted(run)}) AS n FROM p GROUP BY grp, benchmark),
             x AS (SELECT p.grp, p.benchmark, s.function, sum(if(run = {quoted(run)}, total, 0)) AS now,
                          sum(if(run <> {quoted(run)}, total, 0)) AS s1, sum(if(run <> {quoted(run)}, double(total) * total, 0)) AS s2
                   FROM samples s JOIN p USING (profile) GROUP BY p.grp, p.benchmark, s.function),
             m AS (SELECT x.*, s1 / n AS mean, sqrt(greatest((s2 - double(s1) * s1 / n) / (n - 1), 0)) AS deviation FROM x JOIN n USING (grp, benchmark) WHERE n > 1)
        SELECT grp, benchmark, f.name AS function, now, mean, deviation, (now - mean) / deviation AS z
        FROM m JOIN functions f USING (function) WHERE deviation > 0 ORDER BY z DESC, function""")


def correlation(spark: SparkSession, where: str) -> DataFrame:
    """Pearson's correlation of each function's own share with the metric, for each benchmark."""
    return spark.sql(f"""
        WITH p AS (SELECT profile, sum, grp, benchmark, metric_mean FROM profiles WHERE metric_mean IS NOT NULL AND ({where}))
        SELECT p.grp, p.benchmark, f.name AS function, corr(s.self / p.sum, p.metric_mean) AS correlation, count(*) AS runs
        FROM samples s JOIN p USING (profile) JOIN functions f USING (function)
        GROUP BY p.grp, p.benchmark, f.name HAVING runs > 1 ORDER BY correlation DESC, function""")


def slower(spark: SparkSession, where: str, base: str, head: str) -> DataFrame:
    """The functions of all services that push profiles, on two days: service, function, total of both in
    the unit of the profiles a second of a series, as `dendro diff --service` has it, and their difference.

    `where` is a condition on the columns of table series_hours, which selects one type."""
    days = " OR ".join(f"hour >= TIMESTAMP '{day}' AND hour < TIMESTAMP '{day}' + INTERVAL 1 DAY" for day in (base, head))
    on_head = f"hour >= TIMESTAMP '{head}' AND hour < TIMESTAMP '{head}' + INTERVAL 1 DAY"
    return spark.sql(f"""
        WITH h AS (SELECT series, service, partition, hour, max(windows) AS windows, max_by(covered, windows) AS covered
                   FROM lake.dendro.series_hours WHERE ({days}) AND ({where}) GROUP BY series, service, partition, hour),
             t AS (SELECT service, sum(if({on_head}, 0, covered)) / 1000 AS base_time, sum(if({on_head}, covered, 0)) / 1000 AS head_time
                   FROM h GROUP BY service),
             s AS (SELECT service, function, sum(if({on_head}, 0, total)) AS base_total, sum(if({on_head}, total, 0)) AS head_total
                   FROM (SELECT * FROM lake.dendro.series_functions WHERE {days}) JOIN h USING (series, service, partition, hour, windows)
                   GROUP BY service, function),
             n AS (SELECT function, min(name) AS name FROM lake.dendro.window_functions WHERE {days} GROUP BY function)
        SELECT service, name AS function, base_total / base_time AS base, head_total / head_time AS head,
               head_total / head_time - base_total / base_time AS delta
        FROM s JOIN t USING (service) JOIN n USING (function) ORDER BY delta DESC, service, function""")


def regressions(spark: SparkSession, lake: str, program: str = "dendro", where: str = "true", options: tuple[str, ...] = ()) -> DataFrame:
    """The findings of `dendro regressions` over all benchmarks: one row each, finding is its
    JSON (docs/schema/findings.md).

    Each task runs the program on the benchmarks of its partition, which are those of a
    bucket, so that it reads the files of that bucket. A benchmark is judged by its own
    runs only: findings are those of one machine. The program and a lake in a directory must
    have the same path on every executor."""
    benchmarks = spark.sql(f"SELECT DISTINCT benchmark FROM profiles WHERE {where}")
    partitions = max(1, min(benchmarks.count(), spark.sparkContext.defaultParallelism))

    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        names = [name for batch in batches for name in batch.column(0).to_pylist()]
        if not names:
            return
        command = [program, "regressions", "--store", f"lake:{lake}", "--rows", "0", "-o", "json", *options]
        done = subprocess.run(command + [part for name in names for part in ("--benchmark", name)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        found = json.loads(done.stdout)["findings"]
        columns = {name: [finding.get(key) for finding in found] for name, key in FINDING.items()}
        columns = {name: pyarrow.array(values, TYPES[name]) for name, values in columns.items()}
        columns["finding"] = pyarrow.array([json.dumps(finding, sort_keys=True) for finding in found], pyarrow.string())
        yield pyarrow.RecordBatch.from_pydict(columns)

    schema = "grp string, benchmark string, type string, function string, score double, finding string"
    return benchmarks.repartition(partitions, "benchmark").mapInArrow(judge, schema).orderBy("score", ascending=False)


FINDING = {"grp": "group", "benchmark": "benchmark", "type": "type", "function": "function", "score": "score"}
TYPES = {"grp": pyarrow.string(), "benchmark": pyarrow.string(), "type": pyarrow.string(), "function": pyarrow.string(), "score": pyarrow.float64()}


def quoted(text: str) -> str:
    """A literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
