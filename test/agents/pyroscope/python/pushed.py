"""A small program that Pyroscope's SDK for Python profiles.

    pushed.py ADDRESS TOKEN

It computes until its input ends, and pushes CPU time and memory every two seconds.
"""

import sys
import threading

import pyroscope


def compute_tax():
    """Takes most of the time."""
    total = 0
    for i in range(60):
        kept[i] = bytes(50_000)
        for j in range(3_000):
            total += j * j % 7


def render_page():
    """Takes the rest."""
    total = 0
    for j in range(40_000):
        total += j % 7


def wait():
    sys.stdin.read()
    ended.set()


kept = [b""] * 60
ended = threading.Event()
pyroscope.configure(
    application_name="pushed.python.app",
    server_address=sys.argv[1],
    basic_auth_username="agent",
    basic_auth_password=sys.argv[2],
    tags={"service_version": "1.2.3"},
    report_thread_name=True,
    mem_enabled=True,
    upload_interval=2,
)
threading.Thread(target=wait, daemon=True).start()
while not ended.is_set():
    with pyroscope.tag_wrapper({"controller": "checkout"}):
        compute_tax()
    render_page()
pyroscope.shutdown()
