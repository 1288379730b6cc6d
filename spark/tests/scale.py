"""Spark over a lake of many generated profiles. Every answer has to equal that of dendro on
one store, and what both needed is printed. The argument is a directory with the profiles in
profiles/ (test/bench/cmd/suite -manifest); store, lake and Spark's log are written beside
them. $DENDRO names the program, $JARS and $MASTER are as for test_spark.py."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))
import dendro_spark as lake  # noqa: E402

PROGRAM = os.environ["DENDRO"]
TYPE = "type = 'cpu-samples'"
MIB = 1 << 20


class Cost:
    """What processes of dendro needed."""

    def __init__(self) -> None:
        self.cpu = self.memory = self.wall = 0.0

    def run(self, *command: str) -> bytes:
        begin = time.monotonic()
        with subprocess.Popen([PROGRAM, *command, "--store", store], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
            answer = p.stdout.read()
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit status {p.returncode}")
        self.wall += time.monotonic() - begin
        self.cpu += used.ru_utime + used.ru_stime
        self.memory = max(self.memory, used.ru_maxrss / 1024)
        return answer

    def ask(self, *command: str) -> dict:
        return json.loads(self.run(*command, "-o", "json"))


def near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * max(1, abs(a), abs(b))


def same(name: str, got: list, want: list) -> None:
    """Ends the program if two lists of rows differ. Numbers with a fraction may differ by rounding."""
    got, want = sorted(map(tuple, got)), sorted(map(tuple, want))
    equal = len(got) == len(want) and all(
        x == y or isinstance(x, float) and near(x, y) for a, b in zip(got, want) for x, y in zip(a, b))
    if not want or not equal:
        raise SystemExit(f"FAIL: {name}: {len(got)} rows in Spark, {len(want)} of dendro; first differences: {sorted(set(got) ^ set(want))[:4]}")


def rows(frame: DataFrame) -> list[Row]:
    return frame.collect()


def top(cost: Cost) -> Callable:
    want = [(r["function"], r["self"], r["total"]) for r in cost.ask("top", "--rows", "0")["rows"]]
    return lambda: same("top", rows(lake.top(spark, TYPE).select("function", "self", "total")), want)


def over(cost: Cost) -> Callable:
    found = cost.ask("find", function, "--min-share", "0.1%", "--rows", "0")["rows"]
    want = [(r["group"], r["benchmark"], r["run"]) for r in found]
    return lambda: same("over", rows(lake.over(spark, TYPE, function, 0.001).select("grp", "benchmark", "run")), want)


def series(cost: Cost) -> Callable:
    found = cost.ask("find", function, "--rows", "0")["rows"]
    want = [(r["group"], r["benchmark"], r["run"], r["self"], r["total"], r["share"]) for r in found]
    return lambda: same("series", rows(lake.series(spark, TYPE, function).where("total <> 0").select("grp", "benchmark", "run", "self", "total", "share")), want)


def tree(cost: Cost) -> Callable:
    want = [(r["depth"], r["function"], r["self"], r["total"]) for r in cost.ask("tree", "--group", group, "--rows", "0")["rows"]]
    return lambda: same("tree", rows(lake.tree(spark, f"{TYPE} AND grp = '{group}'").select("depth", "function", "self", "total")), want)


def whole_tree(cost: Cost) -> Callable:
    want = [(cost.ask("tree", "--rows", "1")["rootTotal"],)]  # tree compares its nodes
    return lambda: same("whole tree", rows(lake.tree(spark, TYPE).selectExpr("sum(self)")), want)


def potentials(cost: Cost) -> Callable:
    answer = cost.ask("bottlenecks", "--by", "subtree", "--degree", "3", "--weight", "samples", "--group", group, "--rows", "0")
    want = [(r["function"], r["score"]) for r in answer["rows"] if r["score"] > 0]

    def compare() -> None:
        got = rows(lake.potentials(spark, f"{TYPE} AND grp = '{group}'", 3).where("potential > 0"))
        same("potentials", [(r.function, r.potential / answer["value"]) for r in got], want)
    return compare


def z_scores(cost: Cost) -> Callable:
    answer = cost.ask("regressions", "--method", "thesis", "--benchmark", benchmark, "--last", "1", "--window", "100000", "--rows", "0")
    want = [(r["function"], r["score"]) for r in answer["rows"] if r["score"] != 0]
    named = {name for name, _ in want}

    def compare() -> None:
        got = rows(lake.z_scores(spark, TYPE, answer["rows"][0]["run"]))
        same("z-scores", [(r.function, r.z) for r in got if r.benchmark == benchmark and r.function in named], want)
    return compare


def correlation(cost: Cost) -> Callable:
    answer = cost.ask("bottlenecks", "--by", "correlation", "--y", "raw", "--benchmark", benchmark, "--rows", "0")
    want = [(r["function"], r["score"]) for r in answer["rows"] + answer["negative"] if r["score"] != 0]
    named = {name for name, _ in want}

    def compare() -> None:
        got = rows(lake.correlation(spark, TYPE))
        same("correlation", [(r.function, r.correlation) for r in got if r.benchmark == benchmark and r.function in named], want)
    return compare


def regressions(cost: Cost) -> Callable:
    want = [(json.dumps(f, sort_keys=True),) for f in cost.ask("regressions", "--rows", "0")["findings"]]
    return lambda: same("regressions", rows(lake.regressions(spark, place, PROGRAM).select("finding")), want)


QUESTIONS = (top, over, series, tree, whole_tree, potentials, z_scores, correlation, regressions)


def spent() -> dict[str, dict[str, float]]:
    """What the tasks of each question needed, of Spark's event log."""
    question_of: dict[int, str] = {}
    totals = {q.__name__: dict.fromkeys(("run", "cpu", "read", "shuffled", "memory"), 0.0) for q in QUESTIONS}
    (log,) = logs.glob("*")
    for line in log.read_text().splitlines():
        event = json.loads(line)
        name = event["Event"]
        if name == "SparkListenerJobStart" and (question := event["Properties"].get("question")):
            question_of |= dict.fromkeys(event["Stage IDs"], question)
        elif name == "SparkListenerTaskEnd" and event["Stage ID"] in question_of and (m := event.get("Task Metrics")):
            total = totals[question_of[event["Stage ID"]]]
            total["run"] += m["Executor Run Time"] / 1e3
            total["cpu"] += m["Executor CPU Time"] / 1e9
            total["read"] += m["Input Metrics"]["Bytes Read"] / MIB
            total["shuffled"] += m["Shuffle Write Metrics"]["Shuffle Bytes Written"] / MIB
        elif name == "SparkListenerStageExecutorMetrics" and event["Stage ID"] in question_of and event["Executor ID"] != "driver":
            m, total = event["Executor Metrics"], totals[question_of[event["Stage ID"]]]
            resident = sum(m[f"ProcessTree{kind}RSSMemory"] for kind in ("JVM", "Python", "Other"))
            total["memory"] = max(total["memory"], resident / MIB)
    return totals


folder = Path(sys.argv[1])
store, place, logs = f"{folder}/all.duckdb", f"{folder}/lake", folder / "events"
logs.mkdir()
costs = {"import": Cost(), "publish": Cost()}
costs["import"].run("import", "--manifest", f"{folder}/profiles/manifest.json")
costs["publish"].run("publish", "--to", place)
builder = SparkSession.builder.master(os.environ.get("MASTER", "local[2]"))
for key, value in {
    "spark.jars": os.environ["JARS"], "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g", "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": logs.as_uri(), "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.executor.processTreeMetrics.enabled": "true", "spark.executor.metrics.pollingInterval": "500ms",
}.items():
    builder = builder.config(key, value)
spark = lake.session(place, builder)
spark.sparkContext.setLogLevel("ERROR")
try:
    counts = spark.sql("SELECT count(*) AS profiles, sum(nodes) AS nodes FROM profiles").first()
    group, benchmark = spark.sql("SELECT grp, benchmark FROM profiles ORDER BY grp, benchmark").first()
    function = spark.sql("SELECT min(name) FROM samples JOIN functions USING (function) WHERE function = (SELECT mode(function) FROM samples)").first()[0]
    walls = {}
    print(f"group {group}, benchmark {benchmark}, function {function}")
    for question in QUESTIONS:
        name = question.__name__
        compare = question(costs.setdefault(name, Cost()))
        spark.sparkContext.setLocalProperty("question", name)
        begin = time.monotonic()
        compare()
        walls[name] = time.monotonic() - begin
        spark.sparkContext.setLocalProperty("question", None)
        print(f"{name}: equal", flush=True)
finally:
    spark.stop()

files = [f.stat().st_size for f in Path(place).rglob("*.parquet")]
print(f"\n{counts.profiles} profiles, {counts.nodes} call nodes, {len(files)} files, {sum(files) / MIB:.0f} MiB\n")
print(f"{'':12} {'dendro':>8} {'':8} {'':8}    {os.environ.get('MASTER', 'local[2]')}")
print(f"{'':12} {'s':>8} {'s CPU':>8} {'MiB':>8}    {'s':>8} {'s tasks':>8} {'s CPU':>8} {'MiB read':>9} {'shuffled':>9} {'MiB of an executor':>19}")
tasks = spent()
for name, cost in costs.items():
    line = f"{name:12} {cost.wall:8.1f} {cost.cpu:8.1f} {cost.memory:8.0f}"
    if of := tasks.get(name):
        line += f"    {walls[name]:8.1f} {of['run']:8.1f} {of['cpu']:8.1f} {of['read']:9.1f} {of['shuffled']:9.2f} {of['memory']:19.0f}"
    print(line)
