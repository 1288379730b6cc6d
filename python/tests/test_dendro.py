"""Both backends against the demo. $DENDRO names the program."""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import pandas as pd

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import dendro  # noqa: E402

PROGRAM = os.environ.get("DENDRO", "dendro")
TOKEN = "a-token-of-the-test"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Stores(unittest.TestCase):
    """The same queries over a file, and over a server that has an equal one."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.TemporaryDirectory()
        file, served = (os.path.join(cls.dir.name, name) for name in ("demo.duckdb", "served.duckdb"))
        for name in (file, served):
            subprocess.run([PROGRAM, "demo", "--store", name], check=True, capture_output=True)
        cls.address = f"127.0.0.1:{free_port()}"
        cls.server = subprocess.Popen([PROGRAM, "serve", "--store", served, "--http-listen", cls.address, "--grpc-listen", "", "--http-token", TOKEN],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.file = dendro.open(file, binary=PROGRAM)
        cls.served = dendro.open(f"http://{cls.address}", token=TOKEN)
        for _ in range(200):
            try:
                cls.served.runs(last=1)
                return
            except dendro.Error:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.terminate()
        cls.server.wait()
        cls.dir.cleanup()

    def test_equal(self) -> None:
        for name, ask in {
            "overview": lambda s: s.overview(),
            "runs": lambda s: s.runs(last=3),
            "profiles": lambda s: s.profiles(benchmark=["checkout", "search"], last=1),
            "top": lambda s: s.top(benchmark="checkout", sort="self", rows=20),
            "tree": lambda s: s.tree(benchmark="checkout", last=1),
            "diff": lambda s: s.diff(benchmark="checkout", base_run="run-016", head_run="run-018"),
            "find": lambda s: s.find("regexp.*", by="run"),
            "history": lambda s: s.history(benchmark="checkout", function="regexp.Compile"),
            "bottlenecks": lambda s: s.bottlenecks(rows=5),
            "regressions": lambda s: s.regressions(),
            "tasks": lambda s: s.tasks(),
            "sql": lambda s: s.sql("SELECT run, count(*) AS n FROM profiles GROUP BY run ORDER BY run"),
        }.items():
            with self.subTest(name):
                a, b = ask(self.file), ask(self.served)
                pd.testing.assert_frame_equal(a, b)
                self.assertEqual(len(a) > 0, name != "tasks")

    def test_services(self) -> None:
        """Pushed profiles are selected by service and labels, through the server and then through its file."""
        name, address = os.path.join(self.dir.name, "pushed.duckdb"), f"127.0.0.1:{free_port()}"
        server = subprocess.Popen([PROGRAM, "serve", "--continuous", "--store", name, "--http-listen", address, "--grpc-listen", ""],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            served = dendro.open(f"http://{address}")
            for _ in range(200):
                try:
                    served.services()
                    break
                except dendro.Error:
                    time.sleep(0.05)
            for version, tax in (("1.0", 100), ("1.1", 250)):
                target = urllib.parse.urlencode({"name": f"shop{{version={version}}}", "from": "now-10m", "until": "now-9m"})
                urllib.request.urlopen(f"http://{address}/ingest?{target}", data=f"main;price 300\nmain;tax {tax}\n".encode()).close()
            asked = {
                "services": lambda s: s.services(),
                "top": lambda s: s.top(service="shop", labels='{version="1.1"}'),
                "find": lambda s: s.find("tax", service="shop", labels='{version="1.1"}'),
                "bottlenecks": lambda s: s.bottlenecks(service="shop"),
                "diff": lambda s: s.diff(service="shop", base_labels='{version="1.0"}', head_labels='{version="1.1"}', view="functions"),
                "sql": lambda s: s.sql("SELECT sum(self) AS n FROM function_sample WHERE function = 'tax'", service="shop"),
            }
            answers = {n: ask(served) for n, ask in asked.items() if n != "sql"}  # a server must allow it
            self.assertEqual(list(answers["services"].service), ["shop"])
            self.assertEqual(answers["top"].set_index("function")["self"]["tax"], 2_500_000_000)
            self.assertEqual(served.overview().attrs["pushed"][0]["service"], "shop")
        finally:
            server.terminate()
            server.wait()
        file = dendro.open(name, binary=PROGRAM)
        self.assertEqual(asked["sql"](file)["n"][0], 3_500_000_000)
        for n, answer in answers.items():
            with self.subTest(n):
                pd.testing.assert_frame_equal(asked[n](file), answer)

    def test_readme(self) -> None:
        text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
        code = text.split("```python\n")[1].split("```")[0]
        env = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[1]),
                   PATH=os.path.dirname(os.path.abspath(PROGRAM)) + os.pathsep + os.environ["PATH"])
        code = code.replace('"dendro.duckdb"', '"demo.duckdb"')
        subprocess.run([sys.executable, "-c", code + "print(len(share), len(diff), len(found), len(runs))"], cwd=self.dir.name, env=env, check=True, capture_output=True)

    def test_tree(self) -> None:
        tree = self.file.tree(benchmark="checkout", last=1)
        self.assertEqual(tree["self"].sum(), tree.attrs["rootTotal"])
        below = tree[tree.parent >= 0].groupby("parent")["total"].sum()
        self.assertTrue((tree["self"].add(below, fill_value=0) == tree["total"]).all())

    def test_share_over_runs(self) -> None:
        share = self.file.history(benchmark="checkout", function="regexp.Compile")
        self.assertEqual(len(share), 18)
        self.assertTrue(isinstance(share.date.dtype, pd.DatetimeTZDtype))
        self.assertGreater(share["value"].iloc[-1], 0.1)
        self.assertEqual(share["value"].iloc[0], 0)

    def test_finds_the_planted_regression(self) -> None:
        found = self.file.regressions()
        self.assertIn("checkout", set(found.benchmark))
        none = self.file.regressions(benchmark="report")
        self.assertEqual(len(none), 0)
        self.assertGreater(len(none.columns), 10)
        self.assertLessEqual(set(none.columns), set(found.columns))

    def test_check(self) -> None:
        a, b = self.file.check(benchmark="checkout"), self.served.check(benchmark="checkout")
        self.assertTrue(a["verdict"]["failed"])
        self.assertEqual(a["verdict"], b["verdict"])

    def test_empty_tables_have_columns(self) -> None:
        for store in (self.file, self.served):
            some, none = store.find("regexp.compile"), store.find("regexp.compile", min_share="99%")
            self.assertEqual(len(none), 0)
            self.assertEqual(list(none.columns), list(some.columns))
            some, none = store.find("regexp.compile", by="run"), store.find("regexp.compile", by="run", min_share="99%")
            self.assertEqual(list(none.columns), list(some.columns))
            self.assertTrue(none.share.max() != none.share.max())
            none = store.runs(since="2100-01-01")
            self.assertLessEqual(set(none.columns), {*store.runs().columns, "repository"})
            self.assertIn("date", none)

    def test_errors(self) -> None:
        for store, text in ((self.file, "checkot"), (self.served, "checkot"), (dendro.open("none.duckdb", binary=PROGRAM), "none.duckdb"),
                            (dendro.open("x.duckdb", binary="no-such-program"), "no-such-program"), (dendro.open(f"http://{self.address}"), "oken")):
            with self.assertRaisesRegex(dendro.Error, text):
                store.tree(benchmark="checkot")
        for store in (self.file, self.served):
            with self.assertRaisesRegex(dendro.Error, "no profile was pushed"):
                store.sql("SELECT 1", service="checkot", since="7d")

    def test_names_are_not_flags(self) -> None:
        with self.assertRaisesRegex(dendro.Error, "no function in the store matches --store=/etc/passwd"):
            self.file.find("--store=/etc/passwd")

    def notebook(self, name: str) -> dict:
        """Runs the code of a notebook in the folder of the demo."""
        import json

        book = json.loads((pathlib.Path(__file__).parents[1] / name).read_text())
        scope: dict = {}
        before = os.getcwd()
        os.chdir(self.dir.name)
        try:
            for cell in book["cells"]:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]).replace('"dendro"', repr(PROGRAM)), name, "exec"), scope)
        finally:
            os.chdir(before)
        return scope

    def test_share_over_runs(self) -> None:
        self.notebook("share_over_runs.ipynb")
        self.assertTrue(os.path.getsize(os.path.join(self.dir.name, "share.svg")) > 1000)

    def test_one_class(self) -> None:
        """What the notebook says of its result holds."""
        found = self.notebook("one_class.ipynb")
        self.assertEqual(found["unusual"], {"checkout": ["run-017", "run-018"], "report": [], "search": []})
        ratios = [found["models"]["checkout"](t) for t in found["trees"]["checkout"][16:]]
        self.assertEqual([f"{r:.1f}" for r in ratios], ["1.6", "3.2"])
        self.assertTrue(0.15 < found["seen"][2] / found["tried"] < 0.3, found["seen"])
        self.assertLess(found["seen"][1.2] / found["tried"], 0.05)


if __name__ == "__main__":
    unittest.main()
