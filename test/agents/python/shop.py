"""A shop that SkyWalking's Python agent watches.

GET /checkout waits in load_prices and in render and answers how long each took,
as JSON in milliseconds: what the analysis of a task is held against. Every
request has a thread of its own; where one thread serves all of them, the agent
goes on sampling after a request has ended.

It prints its address once it answers.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from skywalking import agent


def load_prices():
    time.sleep(float(os.environ.get("SHOP_SLOW", "0.4")))


def render():
    time.sleep(0.1)


def timed(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def checkout():
    return {"slow": timed(load_prices), "rest": timed(render)}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = json.dumps(checkout() if self.path.startswith("/checkout") else {}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    agent.start()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
    sys.exit()
