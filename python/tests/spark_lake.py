"""The Spark example of docs/lake.md, compared with `dendro tree`. $DENDRO names the program."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

from pyspark.sql import SparkSession

PROGRAM = os.environ.get("DENDRO", "dendro")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "schema" / "lake.md"

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([PROGRAM, "demo", "--store", "demo.duckdb"], check=True, capture_output=True)
    subprocess.run([PROGRAM, "export", "--store", "demo.duckdb", "--format", "parquet", "-o", "lake"], check=True, capture_output=True)
    answer = subprocess.run([PROGRAM, "tree", "--store", "demo.duckdb", "--benchmark", "checkout", "--type", "cpu", "--rows", "0", "-o", "json"],
                            check=True, capture_output=True)
    want = sorted((r["depth"], r["function"], r["self"], r["total"]) for r in json.loads(answer.stdout)["rows"])

    os.chdir("lake")
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    (block,) = re.findall(r"^```python spark\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict = {"spark": spark}
    exec(block, names)
    got = sorted((r["depth"], r["name"], r["self"], r["total"]) for r in names["tree"].collect())
    dates = {row[0] for row in spark.read.parquet("profiles").selectExpr("date_format(date, 'yyyy-MM') = month").collect()}
    spark.stop()

if got != want:
    raise SystemExit(f"FAIL: {len(got)} call nodes in Spark, {len(want)} in dendro tree; first differences: {sorted(set(got) ^ set(want))[:5]}")
if dates != {True}:
    raise SystemExit("FAIL: dates in Spark are not in the month of their partition")
print(f"spark: {len(got)} call nodes; 1 passed, 0 failed")
