"""A lake in Spark, compared with dendro on one store. $DENDRO names the program, $JARS the
files of Iceberg's runtime and of the databases' drivers, separated by commas. The lake is
a directory, or in $DENDRO_TEST_POSTGRES and the bucket "dendro" at $AWS_ENDPOINT_URL.
$HAND_OVER names the program of test/lake."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))
import dendro_spark as lake  # noqa: E402

PROGRAM = os.environ["DENDRO"]
WHERE = "benchmark = 'checkout' AND type = 'cpu'"


POSTGRES = os.environ.get("DENDRO_TEST_POSTGRES")


def dendro(*command: str) -> bytes:
    return subprocess.run([PROGRAM, *command], check=True, stdout=subprocess.PIPE).stdout


def setUpModule() -> None:
    """Two machines publish overlapping halves of a store to a lake."""
    global folder, store, place, spark
    folder = tempfile.TemporaryDirectory()
    store, place = f"{folder.name}/all.duckdb", POSTGRES or f"{folder.name}/lake"
    dendro("demo", "--store", store)
    halves = {"one": ("--until", "2026-11-21T12:20:00Z"), "two": ("--since", "2026-11-21T12:16:00Z")}
    for name, half in halves.items():
        dendro("copy", "--from", store, "--to", f"{folder.name}/{name}", *half)
    where = ["--warehouse", "s3://dendro/spark"] if POSTGRES else []
    publishers = [subprocess.Popen([PROGRAM, "publish", "--store", f"{folder.name}/{name}", "--to", place, *where]) for name in halves]
    if any([p.wait() for p in publishers]):
        raise RuntimeError("publish failed")
    builder = (SparkSession.builder.master(os.environ.get("MASTER", "local[2]")).config("spark.jars", os.environ["JARS"])
               .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
               .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[1])))
    if POSTGRES:
        for key, variable in (("s3.endpoint", "AWS_ENDPOINT_URL"), ("s3.access-key-id", "AWS_ACCESS_KEY_ID"),
                              ("s3.secret-access-key", "AWS_SECRET_ACCESS_KEY"), ("client.region", "AWS_REGION")):
            builder = builder.config(f"spark.sql.catalog.lake.{key}", os.environ[variable]).config(f"spark.executorEnv.{variable}", os.environ[variable])
        builder = builder.config("spark.sql.catalog.lake.s3.path-style-access", "true")
    spark = lake.session(place, builder)
    spark.sparkContext.setLogLevel("ERROR")


def tearDownModule() -> None:
    spark.stop()
    folder.cleanup()


def ask(*command: str) -> dict:
    selected = [] if command[0] == "regressions" else ["--benchmark", "checkout", "--type", "cpu"]
    return json.loads(dendro(*command, *selected, "--store", store, "--rows", "0", "-o", "json"))


class Lake(unittest.TestCase):
    """The answers of Spark are those of dendro."""

    def same(self, got: DataFrame, want: list[tuple]) -> None:
        self.assertEqual(sorted(map(tuple, got.collect())), sorted(want))

    def test_top(self) -> None:
        want = [(r["function"], r["self"], r["total"]) for r in ask("top")["rows"]]
        self.assertGreater(len(want), 500)
        self.same(lake.top(spark, WHERE).select("function", "self", "total"), want)

    def test_tree(self) -> None:
        want = [(r["depth"], r["function"], r["self"], r["total"]) for r in ask("tree")["rows"]]
        self.same(lake.tree(spark, WHERE).select("depth", "function", "self", "total"), want)

    def test_share_over(self) -> None:
        found = ask("find", "regexp.Compile", "--min-share", "5%")["rows"]
        got = lake.over(spark, WHERE, "regexp.Compile", 0.05).select("benchmark", "run").collect()
        self.assertEqual(sorted(map(tuple, got)), sorted((r["benchmark"], r["run"]) for r in found))
        self.assertGreater(len(found), 0)

    def test_potentials(self) -> None:
        for degree, by in ((0, ["--by", "self"]), (3, ["--by", "subtree", "--degree", "3"])):
            rows = ask("bottlenecks", *by, "--weight", "samples")["rows"]
            want = {r["function"]: r["score"] for r in rows if r["score"] > 0}
            got = lake.potentials(spark, WHERE, degree).collect()
            whole = spark.sql(f"SELECT sum(sum) FROM profiles WHERE {WHERE}").first()[0]
            self.assertEqual({r.function for r in got if r.potential}, set(want))
            for r in got:
                self.assertAlmostEqual(r.potential / whole, want[r.function], places=9, msg=r.function)

    def test_correlation(self) -> None:
        rows = ask("bottlenecks", "--by", "correlation", "--y", "raw")["rows"]
        want = {r["function"]: r["score"] for r in rows if r["score"] != 0}
        got = {r.function: r.correlation for r in lake.correlation(spark, WHERE).collect()}
        self.assertGreater(len(want), 100)
        for function, value in want.items():
            self.assertAlmostEqual(got[function], value, places=6, msg=function)

    def test_z_scores(self) -> None:
        rows = ask("regressions", "--method", "thesis", "--benchmark", "checkout", "--type", "cpu", "--last", "1", "--window", "100")["rows"]
        want = {r["function"]: r for r in rows if r["score"] != 0}  # 0: no deviation
        runs = [r.run for r in spark.sql(f"SELECT DISTINCT run, date FROM profiles WHERE {WHERE} ORDER BY date").collect()]
        got = {r.function: r for r in lake.z_scores(spark, WHERE, runs[-1]).collect()}
        self.assertGreater(len(want), 50)
        for function, row in want.items():
            self.assertAlmostEqual(got[function].z, row["score"], places=6, msg=function)

    def test_regressions(self) -> None:
        want = ask("regressions")["findings"]
        got = [json.loads(r.finding) for r in lake.regressions(spark, place, PROGRAM).collect()]
        self.assertGreater(len(want), 0)
        for f in want:  # a lake has no original files, and so no lines of calls
            f.get("headline", {}).pop("call", None)
        self.assertEqual(sorted(got, key=lambda f: f["id"]), sorted(want, key=lambda f: f["id"]))

    @unittest.skipIf(POSTGRES, "of the directory")
    def test_bounds(self) -> None:
        """pyiceberg reads the lake, and skips files of the month by the bounds of their dates."""
        profiles = SqlCatalog("lake", uri=f"sqlite:///{place}/catalog.db", warehouse=place).load_table("dendro.profiles")
        self.assertEqual(profiles.scan().to_arrow().num_rows, spark.sql("SELECT * FROM profiles").count())
        last = spark.sql("SELECT max(date) FROM profiles").first()[0].isoformat()
        files = lambda **scan: len(list(profiles.scan(**scan).plan_files()))
        self.assertEqual(files(row_filter=f"date > '{last}+00:00'"), 0)
        self.assertLess(0, files(row_filter=f"date = '{last}+00:00'"))
        self.assertLess(files(row_filter=f"date = '{last}+00:00'"), files())


class Many(unittest.TestCase):
    """A job over 50 benchmarks, a third of which became slower, published while the session runs."""

    def test_regressions(self) -> None:
        source = f"{folder.name}/many.duckdb"
        noise = random.Random(1)
        for run in range(12):
            with tempfile.TemporaryDirectory() as profiles:
                for benchmark in range(50):
                    slower = 1.5 if run >= 10 and benchmark % 3 == 0 else 1
                    lines = [f"main;work{i};{'inner' if i else f'step{benchmark}'} {round(weight * noise.gauss(1, 0.02))}"
                             for i, weight in enumerate((3000 * slower, 5000, 2000, 800))]
                    Path(profiles, f"case{benchmark:02}.folded").write_text("\n".join(lines) + "\n")
                dendro("import", "--store", source, "--group", "many", "--operations", "1000", "--run", f"r{run:02}", "--date", f"2026-10-{run + 1:02}T00:00:00Z", profiles)
        dendro("publish", "--store", source, "--to", place)
        want = json.loads(dendro("regressions", "--store", source, "--rows", "0", "-o", "json"))["findings"]
        got = [json.loads(r.finding) for r in lake.regressions(spark, place, PROGRAM, "grp = 'many'", ("--group", "many")).collect()]
        self.assertGreaterEqual(len({f["benchmark"] for f in want}), 15)
        self.assertEqual(sorted(got, key=lambda f: f["id"]), sorted(want, key=lambda f: f["id"]))


class Services(unittest.TestCase):
    """Hours of pushed profiles of three simulated services, a day and two hours of the next. Compacts the lake: its name comes last."""

    def hand_over(self, hours: int) -> list[str]:
        return subprocess.run([os.environ["HAND_OVER"], "-hours", str(hours), place], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def ask(self, *command: str) -> dict:
        return json.loads(dendro(*command, "--store", f"lake:{place}", "-o", "json"))

    def answers(self) -> list[dict]:
        """What a reader says of the hours that were handed over first."""
        one, until, all_rows = ("--service", "service-00001"), ("--until", "2026-10-02T02:00:00Z"), ("--rows", "0")
        over = ("services", "--over-time", "--step", "1h", *until, *all_rows)
        return [self.ask("tree", *one, *until, *all_rows), self.ask("top", *one, *until, *all_rows, "--labels", '{zone="z2"}'),
                self.ask("tree", *one, "--since", "2026-10-01T05:00:00Z", "--until", "2026-10-01T06:00:00Z", *all_rows),
                self.ask(*over, *one, "--function", "com.example.service1.Handler7.method"), self.ask(*over, "--by", "zone"),
                self.difference("service-00000")]

    def difference(self, service: str) -> dict:
        return self.ask("diff", "--service", service, "--view", "functions", "--rows", "0", "--base-since", "2026-10-01T00:00:00Z",
                        "--base-until", "2026-10-02T00:00:00Z", "--head-since", "2026-10-02T00:00:00Z", "--head-until", "2026-10-02T02:00:00Z")

    def test_hours(self) -> None:
        self.assertEqual(self.hand_over(26), ["handed over: 15"] * 26)
        slower = lake.slower(spark, "sample_type = 'cpu'", "2026-10-01", "2026-10-02").collect()
        self.assertEqual([r.delta for r in slower], sorted((r.delta for r in slower), reverse=True))
        got = {(r.service, r.function): (r.base, r.head, r.delta) for r in slower}
        want = {(service, r["function"]): tuple(r["total"][side] for side in ("base", "head", "delta"))
                for service in ("service-00000", "service-00001", "service-00002") for r in self.difference(service)["rows"]}
        self.assertEqual(got.keys(), want.keys())
        self.assertGreater(len(want), 200)
        for key, values in want.items():
            for a, b in zip(got[key], values):
                self.assertAlmostEqual(a, b, delta=1e-3, msg=key)
        before = self.answers()
        for table in ("series_hours", "series_samples", "series_functions", "window_functions", "window_paths"):
            rewritten = spark.sql(f"CALL lake.system.rewrite_data_files(table => 'dendro.{table}', options => map('min-input-files', '2'))").first()
            self.assertGreater(rewritten.rewritten_data_files_count, rewritten.added_data_files_count, table)
        self.assertEqual(self.answers(), before)
        self.assertEqual(self.hand_over(27)[-2:], ["handed over: 0", "handed over: 15"])  # a worker goes on
        dendro("compact", "--store", f"lake:{place}")
        self.assertEqual(self.answers(), before)


class Rewritten(Lake):
    """The files that prune and compact write."""

    @classmethod
    def setUpClass(cls) -> None:
        for place_of in (store, f"lake:{place}"):
            dendro("prune", "--store", place_of, "--keep", "15")
            dendro("compact", "--store", place_of)

    test_bounds = None  # one file
    test_z_scores = test_correlation = test_potentials = test_regressions = None


if __name__ == "__main__":
    unittest.main()
