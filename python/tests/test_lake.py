"""Other programs read what Dendro writes, as docs/lake.md and duckdb.md say.
$DENDRO names the program."""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile
import unittest

import duckdb
import pyarrow.ipc
import pyarrow.parquet

PROGRAM = os.environ.get("DENDRO", "dendro")
DOCS = pathlib.Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


class Lake(unittest.TestCase):
    """The queries of lake.md, each compared with Dendro's own answer."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.TemporaryDirectory()
        cls.store = os.path.join(cls.dir.name, "demo.duckdb")
        lake = os.path.join(cls.dir.name, "lake")
        subprocess.run([PROGRAM, "demo", "--store", cls.store], check=True, capture_output=True)
        subprocess.run([PROGRAM, "export", "--store", cls.store, "--format", "parquet", "-o", lake], check=True, capture_output=True)
        cls.back = os.getcwd()
        os.chdir(lake)

    @classmethod
    def tearDownClass(cls) -> None:
        os.chdir(cls.back)
        cls.dir.cleanup()

    def ask(self, *command: str) -> list[dict]:
        done = subprocess.run([PROGRAM, *command, "--store", self.store, "-o", "json"], check=True, capture_output=True)
        return json.loads(done.stdout)["rows"]

    def top(self) -> list[tuple]:
        return [(r["function"], r["self"], r["total"]) for r in self.ask("top", "--benchmark", "checkout", "--type", "cpu", "--rows", "0", "--sort", "total")]

    def test_duckdb(self) -> None:
        query, benchmarks = blocks("lake.md", "sql")
        got = duckdb.sql(query).fetchall()
        self.assertEqual(sorted(row[:3] for row in got), sorted(self.top()))
        self.assertAlmostEqual(got[0][3], 1, delta=0.05)  # a root

        want = [(r["name"], r["profiles"], r["of"], r["share"]) for r in self.ask("find", "regexp.Compile", "--type", "cpu", "--min-share", "1%", "--by", "benchmark")]
        self.assertEqual([(f"{row[0]}/{row[1]}", *row[2:]) for row in duckdb.sql(benchmarks).fetchall()], want)

    def test_pandas(self) -> None:
        (block,) = [b for b in blocks("lake.md", "python") if "pandas" in b]
        names: dict = {}
        exec(block, names)
        got = [(r.name, r.self, r.total) for r in names["top"].itertuples(index=False)]
        self.assertEqual(sorted(got), sorted(self.top()))
        self.assertEqual(names["pd"].read_parquet("profiles")["date"].dt.tz.key, "UTC")

    def test_polars(self) -> None:
        (block,) = [b for b in blocks("lake.md", "python") if "polars" in b]
        names: dict = {}
        exec(block, names)
        want = [(r["benchmark"], r["run"]) for r in self.ask("find", "regexp.Compile", "--type", "cpu", "--min-share", "5%")]
        self.assertEqual(sorted(names["found"].select("benchmark", "run").rows()), sorted(want))

    def test_results(self) -> None:
        """Results of `dendro sql` as Parquet and Arrow."""
        query = "SELECT benchmark, date, sum, is_default, metric_mean, params FROM profiles ORDER BY key"
        want = [(r["benchmark"], r["sum"], r["is_default"], r["metric_mean"]) for r in self.ask("sql", query)]
        with open("result.parquet", "wb") as out:
            subprocess.run([PROGRAM, "sql", "--store", self.store, "-o", "parquet", query], check=True, stdout=out)
        got = duckdb.sql("SELECT benchmark, sum, is_default, metric_mean FROM 'result.parquet'").fetchall()
        self.assertEqual(got, want)
        arrow = subprocess.run([PROGRAM, "sql", "--store", self.store, "-o", "arrow", query], check=True, capture_output=True).stdout
        table = pyarrow.ipc.open_stream(arrow).read_all()
        self.assertEqual(list(zip(*(table[c].to_pylist() for c in ("benchmark", "sum", "is_default", "metric_mean")))), want)
        self.assertEqual(str(table.schema.field("date").type), "timestamp[us, tz=UTC]")
        self.assertEqual(table["date"], pyarrow.parquet.read_table("result.parquet")["date"])

    def test_terminal(self) -> None:
        """A terminal gets no binary data."""
        outer, inner = pty.openpty()
        done = subprocess.run([PROGRAM, "sql", "--store", self.store, "-o", "arrow", "SELECT 1"], stdout=inner, stderr=subprocess.PIPE, text=True)
        os.close(inner)
        os.close(outer)
        self.assertEqual(done.returncode, 2)
        self.assertIn("arrow is not for a terminal: give -o FILE.arrow, or redirect the output", done.stderr)

    def test_values(self) -> None:
        """The tables have what the views of `dendro sql` have."""
        columns = ("grp, benchmark, base_name, run, left(date::VARCHAR, 19) AS date, commit_id, branch, repository, machine, attributes::VARCHAR AS attributes, type, "
                   "is_default, unit, scale, period, period_unit, metric, metric_mean, metric_unit, metric_better, duration, samples, sum, nodes, hash, file")
        duckdb.sql("SET timezone = 'UTC'")
        got = duckdb.sql(f"SELECT profile, {columns} FROM 'profiles/*/*.parquet' ORDER BY 1").fetchall()
        want = self.ask("sql", f"SELECT key, {columns} FROM profiles ORDER BY 1")
        self.assertEqual(got, [tuple(row.values()) for row in want])

        got = duckdb.sql("SELECT profile, name, self, total FROM 'function_samples/*/*.parquet' JOIN 'functions/*.parquet' USING (function) ORDER BY ALL").fetchall()
        want = self.ask("sql", "--rows", "0", "SELECT profile_key, function, self, total FROM function_sample ORDER BY ALL")
        self.assertEqual(got, [tuple(row.values()) for row in want])

        got = duckdb.sql("""
            SELECT s.profile, f.name, p.depth, p.distance, s.self, s.total
            FROM 'path_samples/*/*.parquet' s JOIN 'paths/*.parquet' p USING (path) JOIN 'functions/*.parquet' f USING (function)
            ORDER BY ALL""").fetchall()
        want = self.ask("sql", "--rows", "0", """
            SELECT n.profile_key, p.function, p.depth, p.distance, n.self, n.total
            FROM node n JOIN path p ON p.id = n.path ORDER BY ALL""")
        self.assertEqual(got, [tuple(row.values()) for row in want])


class File(unittest.TestCase):
    """The store itself, read by DuckDB."""

    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.store = os.path.join(self.dir.name, "demo.duckdb")
        subprocess.run([PROGRAM, "demo", "--store", self.store], check=True, capture_output=True)

    query = "SELECT p.run, s.function, s.total_share FROM function_sample s JOIN profiles p ON p.key = s.profile_key WHERE s.function = 'regexp.Compile' ORDER BY ALL"

    def rows(self, file: str) -> list[tuple]:
        with duckdb.connect(file, read_only=True) as db:
            return db.sql(self.query).fetchall()

    def test_views(self) -> None:
        """Other programs find the rows of functions after `dendro compact`; until then `has_rows` says that there are none."""
        with duckdb.connect(self.store, read_only=True) as db:
            self.assertEqual(db.sql("SELECT DISTINCT has_rows FROM profiles").fetchall(), [(False,)])
        self.assertEqual(self.rows(self.store), [])
        subprocess.run([PROGRAM, "compact", "--store", self.store], check=True, capture_output=True)
        with duckdb.connect(self.store, read_only=True) as db:
            self.assertEqual(db.sql("SELECT DISTINCT has_rows FROM profiles").fetchall(), [(True,)])
        want = json.loads(subprocess.run([PROGRAM, "sql", "--store", self.store, "-o", "json", self.query], check=True, capture_output=True).stdout)["rows"]
        self.assertEqual(self.rows(self.store), [tuple(row.values()) for row in want])
        with duckdb.connect(self.store, read_only=True) as db:
            names = {row[0] for row in db.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
            self.assertEqual(db.sql("SELECT count(*) > 0 FROM path JOIN functions f ON f.name = path.function").fetchone(), (True,))
        self.assertEqual(names, {"profiles", "functions", "function_sample", "path", "sampled_segment", "stack", "windows"})

    def test_served(self) -> None:
        """While a server has the file, a copy of it is read."""
        subprocess.run([PROGRAM, "compact", "--store", self.store], check=True, capture_output=True)
        want = self.rows(self.store)
        self.assertEqual(len(want), 4)
        server = subprocess.Popen([PROGRAM, "serve", "--store", self.store, "--http-listen", "127.0.0.1:0", "--grpc-listen", ""], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        try:
            address = re.search(r"http://[0-9.:]+", server.stdout.readline())[0]
            with self.assertRaises(duckdb.IOException):
                self.rows(self.store)
            snapshot = os.path.join(self.dir.name, "snapshot.duckdb")
            subprocess.run([PROGRAM, "copy", "--from", address, "--to", snapshot], check=True, capture_output=True)
            self.assertEqual(self.rows(snapshot), want)
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


if __name__ == "__main__":
    unittest.main()
