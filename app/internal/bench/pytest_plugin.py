"""Lists the tests that use pytest-benchmark, or keeps one of them."""

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    one = os.environ.get("DENDRO_NODE")
    items[:] = [
        item
        for item in items
        if "benchmark" in getattr(item, "fixturenames", ()) and one in (None, item.nodeid)
    ]
    if "DENDRO_LIST" in os.environ:
        with open(os.environ["DENDRO_LIST"], "w") as names:
            names.writelines(item.nodeid + "\n" for item in items)
