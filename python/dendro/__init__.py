"""Profiles, call trees, diffs and findings of a Dendro store as pandas DataFrames.

    import dendro
    store = dendro.open("dendro.duckdb")            # or http://host:12800
    share = store.find("regexp.*", by="run")        # one row per run
    tree = store.tree(benchmark="checkout", last=1)

A file is read by the program `dendro`, which must be on the PATH; a server is asked over
HTTP. Both return the same documents (docs/schema/json.md of Dendro), so results are equal.

Parameters have the names of the flags of the commands, with _ for -: min_percent=1,
base_run="run-016". A list repeats a parameter, a dict is key=value, True is a switch.
Values are in the unit of the value type (nanoseconds, bytes, samples), shares are
fractions, and dates are UTC timestamps. DataFrame.attrs has the rest of a document: unit,
type, rootTotal, notes, omitted.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping

import pandas as pd

__all__ = ["Error", "Store", "open"]


class Error(Exception):
    """A query that Dendro refuses, or a store that cannot be read. Its text says why."""


def open(store: str | os.PathLike[str] = "dendro.duckdb", token: str | None = None, binary: str = "dendro") -> Store:
    """Return a store: a file, or the address of `dendro serve`.

    token is that of the server (default: $DENDRO_TOKEN); binary is the program that reads
    files. Nothing is read before the first query.
    """
    address = os.fspath(store)
    if address.startswith(("http://", "https://")):
        return Store(_Server(address.rstrip("/"), token or os.environ.get("DENDRO_TOKEN")))
    return Store(_File(address, binary))


class Store:
    """Queries of a store. Each method runs one command of Dendro, named in its text."""

    def __init__(self, backend: _File | _Server) -> None:
        self._backend = backend

    def query(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Return the document of a query (top, tree, diff, …) as Dendro writes it."""
        return self._backend.query(name, parameters)

    def overview(self, **parameters: Any) -> pd.DataFrame:
        """`dendro overview`: benchmarks with their newest run and metric; attrs["pushed"] has what services use."""
        doc = self.query("overview", **parameters)
        return _frame(doc["benchmarks"], {k: v for k, v in doc.items() if k != "benchmarks"})

    def services(self, **parameters: Any) -> pd.DataFrame:
        """`dendro services`: a row per service and type of profiles that it pushes."""
        return _rows(self.query("services", **parameters))

    def runs(self, **parameters: Any) -> pd.DataFrame:
        """`dendro runs`: a row per test run."""
        return _rows(self.query("runs", **parameters), _RUN)

    def profiles(self, **parameters: Any) -> pd.DataFrame:
        """`dendro runs --profiles`: a row per profile; run_run is the key of its run."""
        return _rows(self.query("profiles", **parameters))

    def top(self, **parameters: Any) -> pd.DataFrame:
        """`dendro top`: a row per function, with self and total."""
        return _rows(self.query("top", **parameters))

    functions = top  # its earlier name

    def tree(self, **parameters: Any) -> pd.DataFrame:
        """`dendro tree`: a row per call node, depth first.

        parent is the index of the caller's row, -1 for outermost nodes.
        """
        return _columns(self.query("tree", columns=True, **parameters))

    def diff(self, **parameters: Any) -> pd.DataFrame:
        """`dendro diff`: a row per call node, or with view="functions" per function.

        Sides are base= and head=, or parameters that begin with base_ and head_, or last=n. Columns are
        base_total, head_total, base_self, head_self, delta_total, delta_self, and noise: the
        delta of total within sampling noise.
        """
        frame = _columns(self.query("diff", columns=True, **parameters))
        frame = frame.rename(columns={"baseTotal": "base_total", "headTotal": "head_total", "baseSelf": "base_self", "headSelf": "head_self"})
        for what in ("total", "self"):
            if what in frame:  # a list of functions: {base, head, delta, relative}
                numbers = frame.pop(what)
                for side in ("base", "head"):
                    frame[f"{side}_{what}"] = [n[side] for n in numbers]
            frame[f"delta_{what}"] = frame[f"head_{what}"] - frame[f"base_{what}"]
        return frame

    def find(self, pattern: str, **parameters: Any) -> pd.DataFrame:
        """`dendro find`: where a function or call path occurs; with by="run" a row per run."""
        doc = self.query("find", pattern=pattern, **parameters)
        by = doc["by"]
        return _rows(doc, _FIND if by == "profile" else ["name", *_FIND_OF.get(by, []), *_FIND_SUM])

    def history(self, **parameters: Any) -> pd.DataFrame:
        """`dendro history`: a metric, or with function= its share, as a row per benchmark and run."""
        doc = self.query("history", **parameters)
        runs = [{"group": b["group"], "benchmark": b["benchmark"], "unit": b["unit"], **r} for b in doc["series"] for r in b["runs"]]
        return _named(_frame(runs, doc), _HISTORY)

    def bottlenecks(self, **parameters: Any) -> pd.DataFrame:
        """`dendro bottlenecks`: functions by how much could be gained from them."""
        return _rows(self.query("bottlenecks", **parameters))

    def regressions(self, **parameters: Any) -> pd.DataFrame:
        """`dendro regressions`: a row per finding. attrs has the rest of the document."""
        doc = self.query("regressions", **parameters)
        if "rows" in doc:  # --method thesis, correlation
            return _rows(doc)
        frame = _frame(doc["findings"], {k: v for k, v in doc.items() if k != "findings"})
        return _named(frame, _FINDING)

    def report(self, **parameters: Any) -> dict[str, Any]:
        """`dendro report -o json`: what changed, with the evidence."""
        return self.query("report", **parameters)

    def check(self, **parameters: Any) -> dict[str, Any]:
        """`dendro check -o json`: what became slower; ["verdict"]["failed"] says whether the check fails."""
        return self.query("check", **parameters)

    def tasks(self, **parameters: Any) -> pd.DataFrame:
        """`dendro task list`: tasks of trace profiling."""
        return _rows(self.query("tasks", **parameters))

    def sql(self, query: str, **parameters: Any) -> pd.DataFrame:
        """`dendro sql`: one read-only query; with service= or labels=, of pushed profiles. A server must allow it (--sql)."""
        return _rows(self._backend.sql(query, {"rows": 0} | parameters))


# The columns of findings that all have.
_FINDING = ["id", "kind", "benchmark", "type", "function", "path", "paths", "parts", "score", "status", "ruledOut",
            "delta_samples", "delta_share", "delta_base", "delta_gross", "since_run"]


# The columns of other tables that may be empty.
_RUN = ["run", "date", "commit", "branch", "repository", "machine", "benchmarks", "profiles", "types"]
_FIND = ["share", "self", "total", "unit", "group", "benchmark", "run", "date", "commit", "profile", "function"]
_FIND_OF = {"benchmark": ["group", "benchmark"], "group": ["group"]}
_FIND_SUM = ["profiles", "of", "share", "maxShare", "maxRun", "self", "total"]
_HISTORY = ["group", "benchmark", "unit", "run", "date", "commit", "profiles", "value", "mean", "deviation"]


def _rows(doc: Mapping[str, Any], columns: list[str] | None = None) -> pd.DataFrame:
    return _named(_frame(doc["rows"], {k: v for k, v in doc.items() if k != "rows"}), columns)


def _named(frame: pd.DataFrame, columns: list[str] | None) -> pd.DataFrame:
    """A table without rows has columns, too: frame["share"].max() is NaN then, and no KeyError."""
    return frame if columns is None or len(frame) > 0 else frame.reindex(columns=columns)


def _columns(doc: Mapping[str, Any]) -> pd.DataFrame:
    """A document with columns, of which functions is a table that column function points to."""
    columns = dict(doc["columns"])
    functions = columns.pop("functions", None)
    noise = columns.pop("noisePerValue", None)
    frame = pd.DataFrame(columns)
    if functions is not None:
        place = frame.pop("function")
        for key in ("function", "file", "line", "module", "language", "kind"):
            values = [f.get(key) for f in functions]
            frame[key] = [values[i] for i in place]
    frame.attrs = {k: v for k, v in doc.items() if k != "columns"}
    if noise is not None:
        frame.attrs["noisePerValue"] = noise
    return frame


def _frame(rows: list[Mapping[str, Any]], attrs: Mapping[str, Any]) -> pd.DataFrame:
    """Rows as a table: members of members become columns a_b, dates become timestamps."""
    frame = pd.json_normalize(rows, sep="_")
    for name in frame.columns:
        if name == "date" or name.endswith("_date"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    frame.attrs = dict(attrs)
    return frame


def _texts(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Parameters as names and texts, repeated ones several times."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        name = name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if isinstance(value, Mapping):
            values: list[Any] = [f"{k}={v}" for k, v in value.items()]
        elif isinstance(value, (list, tuple)):
            values = list(value)
        else:
            values = [value]
        for v in values:
            if hasattr(v, "isoformat"):
                v = v.isoformat()
            pairs.append((name, "true" if v is True else str(v)))
    return pairs


class _File:
    """A store that the program reads."""

    commands = {"profiles": ["runs", "--profiles"], "tasks": ["task", "list"], "task": ["task", "show"]}

    def __init__(self, path: str, binary: str) -> None:
        self._path, self._binary = path, binary

    def query(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        parameters = dict(parameters)
        columns = parameters.pop("columns", False)
        arguments = [str(parameters.pop(p)) for p in ("pattern", "task") if p in parameters]
        flags = [f"--{n}={v}" for n, v in _texts(parameters)]
        return self._run([*self.commands.get(name, [name]), *flags, "-o", "json-columns" if columns else "json", "--", *arguments])

    def sql(self, query: str, parameters: dict[str, Any]) -> dict[str, Any]:
        return self._run(["sql", "-o", "json", *(f"--{n}={v}" for n, v in _texts(parameters)), "--", query])

    def _run(self, arguments: list[str]) -> dict[str, Any]:
        at = arguments.index("--")
        command = [self._binary, *arguments[:at], "--store", self._path, *arguments[at:]]
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise Error(f"there is no program {self._binary!r}: install Dendro, or give binary=") from None
        if done.returncode not in (0, 3):  # 3: check found a regression
            raise Error(done.stderr.decode("utf-8", "replace").strip())
        return json.loads(done.stdout)


class _Server:
    """A server's HTTP API."""

    paths = {"top": "functions", "services": "pushed/services"}

    def __init__(self, address: str, token: str | None) -> None:
        self._address, self._token = address, token

    def query(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        parameters = dict(parameters)
        pairs = [("form", "columns")] if parameters.pop("columns", False) else []
        return self._get(self.paths.get(name, name), pairs + _texts(parameters))

    def sql(self, query: str, parameters: dict[str, Any]) -> dict[str, Any]:
        address = f"{self._address}/api/v1/sql?{urllib.parse.urlencode(_texts(parameters))}"
        doc = self._open(urllib.request.Request(address, data=query.encode(), headers={"Content-Type": "text/plain"}))
        return {"rows": [dict(zip(doc["columns"], row)) for row in doc["rows"]]}

    def _get(self, path: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        return self._open(urllib.request.Request(f"{self._address}/api/v1/{path}?{urllib.parse.urlencode(pairs)}"))

    def _open(self, request: urllib.request.Request) -> dict[str, Any]:
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            try:
                problem = json.load(e)
                text = problem.get("detail") or problem.get("title")
            except ValueError:
                text = str(e)
            raise Error(f"{self._address}: {text}") from None
        except urllib.error.URLError as e:
            raise Error(f"{self._address}: {e.reason}") from None
