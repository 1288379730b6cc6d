"""Compares what Dendro says with what other readers find in its files."""

import json
import pathlib
import re
import sys

import duckdb
import pyarrow.parquet as parquet

work = pathlib.Path(sys.argv[1])
profiles = json.loads((work / "profiles.json").read_text())["rows"]
passed = 0


def check(what, got, want):
    global passed
    if got != want:
        sys.exit(f"FAIL {what}: got {got!r}, want {want!r}")
    passed += 1


# Another DuckDB client opens the store itself and reads the compact tables.
db = duckdb.connect(str(work / "demo.duckdb"), read_only=True)
check("profiles in the file", db.sql("SELECT count(*) FROM profile").fetchone()[0], len(profiles))
check("functions have rows", db.sql("SELECT count(*) > 0 FROM fn_sample").fetchone()[0], True)
orphans = db.sql("SELECT count(*) FROM call_path WHERE parent >= id").fetchone()[0]
check("parents come first", orphans, 0)
selfs = dict(db.sql("SELECT p.uid, sum(s.self * p.divisor)::BIGINT FROM fn_sample s JOIN profile p ON p.bench = s.bench AND p.slot = s.slot GROUP BY ALL").fetchall())
for p in profiles:
    check(f"self of {p['id']}", selfs.get(p["id"], 0), p["sum"])
db.close()

# Arrow reads the Parquet tables, without DuckDB.
nodes = parquet.read_table(work / "parquet" / "path_samples")
check("samples in Parquet", sum(nodes["self"].to_pylist()), sum(p["sum"] for p in profiles))
check("call nodes in Parquet", nodes.num_rows, sum(p["nodes"] for p in profiles))

# go tool pprof reads the merged profile and finds the same functions. It prints
# rounded times, so compare to its precision.
units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "mins": 60e9, "": 1}
seen = {}
for line in (work / "pprof.txt").read_text().splitlines():
    m = re.match(r"\s*([\d.]+)(\w*)\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)(\w*)\s+[\d.]+%\s+(.*)", line)
    if m:
        seen[m[5].replace(" (inline)", "").replace(" (partial-inline)", "")] = (float(m[1]) * units[m[2]], float(m[3]) * units[m[4]])
rows = json.loads((work / "top.json").read_text())["rows"]
compared = 0
for r in rows:
    if r["function"] in seen:
        self, total = seen[r["function"]]
        if abs(self - r["self"]) > 0.01 * max(self, 1e7) or abs(total - r["total"]) > 0.01 * max(total, 1e7):
            sys.exit(f"FAIL {r['function']}: pprof {self}, {total}; dendro {r['self']}, {r['total']}")
        compared += 1
check("most functions are in both", compared > 0.9 * len(rows), True)
print(f"test-real: {passed} passed, 0 failed")
