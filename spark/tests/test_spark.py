"""A lake in Spark, compared with dendro on one store. $DENDRO names the program, $JARS the
files of Iceberg's runtime and of SQLite's driver, separated by commas."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))
import dendro_spark as lake  # noqa: E402

PROGRAM = os.environ["DENDRO"]
WHERE = "benchmark = 'checkout' AND type = 'cpu'"


class Lake(unittest.TestCase):
    """Two machines publish overlapping halves of a store to a lake."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.TemporaryDirectory()
        cls.store, cls.lake = f"{cls.dir.name}/all.duckdb", f"{cls.dir.name}/lake"
        run = lambda *command: subprocess.run([PROGRAM, *command], check=True, capture_output=True)
        run("demo", "--store", cls.store)
        halves = {"one": ("--until", "2026-11-21T12:20:00Z"), "two": ("--since", "2026-11-21T12:16:00Z")}
        for name, half in halves.items():
            run("copy", "--from", cls.store, "--to", f"{cls.dir.name}/{name}", *half)
        publishers = [subprocess.Popen([PROGRAM, "publish", "--store", f"{cls.dir.name}/{name}", "--to", cls.lake]) for name in halves]
        if any(p.wait() for p in publishers):
            raise RuntimeError("publish failed")
        builder = (SparkSession.builder.master(os.environ.get("MASTER", "local[2]")).config("spark.jars", os.environ["JARS"])
                   .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
                   .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[1])))
        cls.spark = lake.session(cls.lake, builder)
        cls.spark.sparkContext.setLogLevel("ERROR")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.spark.stop()
        cls.dir.cleanup()

    def ask(self, *command: str) -> dict:
        selected = [] if command[0] == "regressions" else ["--benchmark", "checkout", "--type", "cpu"]
        done = subprocess.run([PROGRAM, *command, *selected, "--store", self.store, "--rows", "0", "-o", "json"], check=True, capture_output=True)
        return json.loads(done.stdout)

    def same(self, got: DataFrame, want: list[tuple]) -> None:
        self.assertEqual(sorted(map(tuple, got.collect())), sorted(want))

    def test_top(self) -> None:
        want = [(r["function"], r["self"], r["total"]) for r in self.ask("top")["rows"]]
        self.assertGreater(len(want), 500)
        self.same(lake.top(self.spark, WHERE).select("function", "self", "total"), want)

    def test_tree(self) -> None:
        want = [(r["depth"], r["function"], r["self"], r["total"]) for r in self.ask("tree")["rows"]]
        self.same(lake.tree(self.spark, WHERE).select("depth", "function", "self", "total"), want)

    def test_share_over(self) -> None:
        found = self.ask("find", "regexp.Compile", "--min-share", "5%")["rows"]
        got = lake.over(self.spark, WHERE, "regexp.Compile", 0.05).select("benchmark", "run").collect()
        self.assertEqual(sorted(map(tuple, got)), sorted((r["benchmark"], r["run"]) for r in found))
        self.assertGreater(len(found), 0)

    def test_potentials(self) -> None:
        for degree, by in ((0, ["--by", "self"]), (3, ["--by", "subtree", "--degree", "3"])):
            rows = self.ask("bottlenecks", *by, "--weight", "samples")["rows"]
            want = {r["function"]: r["score"] for r in rows if r["score"] > 0}
            got = lake.potentials(self.spark, WHERE, degree).collect()
            whole = self.spark.sql(f"SELECT sum(sum) FROM profiles WHERE {WHERE}").first()[0]
            self.assertEqual({r.function for r in got if r.potential}, set(want))
            for r in got:
                self.assertAlmostEqual(r.potential / whole, want[r.function], places=9, msg=r.function)

    def test_correlation(self) -> None:
        rows = self.ask("bottlenecks", "--by", "correlation", "--y", "raw")["rows"]
        want = {r["function"]: r["score"] for r in rows if r["score"] != 0}
        got = {r.function: r.correlation for r in lake.correlation(self.spark, WHERE).collect()}
        self.assertGreater(len(want), 100)
        for function, value in want.items():
            self.assertAlmostEqual(got[function], value, places=6, msg=function)

    def test_z_scores(self) -> None:
        rows = self.ask("regressions", "--method", "thesis", "--benchmark", "checkout", "--type", "cpu", "--last", "1", "--window", "100")["rows"]
        want = {r["function"]: r for r in rows if r["score"] != 0}  # 0: no deviation
        runs = [r.run for r in self.spark.sql(f"SELECT DISTINCT run, date FROM profiles WHERE {WHERE} ORDER BY date").collect()]
        got = {r.function: r for r in lake.z_scores(self.spark, WHERE, runs[-1]).collect()}
        self.assertGreater(len(want), 50)
        for function, row in want.items():
            self.assertAlmostEqual(got[function].z, row["score"], places=6, msg=function)

    def test_regressions(self) -> None:
        want = self.ask("regressions")["findings"]
        got = [json.loads(r.finding) for r in lake.regressions(self.spark, self.lake, PROGRAM).collect()]
        self.assertGreater(len(want), 0)
        self.assertEqual(sorted(got, key=lambda f: f["id"]), sorted(want, key=lambda f: f["id"]))


if __name__ == "__main__":
    unittest.main()
