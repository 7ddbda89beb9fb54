"""Stability of the salt mines; the rock parameters come from a small helper service."""

import json
import subprocess
import sys
import time
from urllib.request import urlopen

from dask.distributed import Client

HELPER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

ROCKS = json.loads(sys.argv[2])
LIMITS = {k: v["strength"] / v["density"] for k, v in ROCKS.items()}

class Rocks(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(LIMITS[self.path[1:]]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Rocks).serve_forever()
"""

PARAMETERS = {
    "halite": {"strength": 25.0, "density": 2.16},
    "anhydrite": {"strength": 80.0, "density": 2.97},
    "marl": {"strength": 18.0, "density": 0},
}


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def safety(port, rock, depth):
    with urlopen(f"http://127.0.0.1:{port}/{rock}", timeout=5) as answer:
        return json.load(answer) / depth


def main():
    port = free_port()
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER, str(port), json.dumps(PARAMETERS)]
    )
    time.sleep(1)
    try:
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as c:
            rows = [c.submit(safety, port, "halite", d) for d in range(200, 900, 50)]
            print(min(c.gather(rows)))
    finally:
        helper.terminate()
        helper.wait()


if __name__ == "__main__":
    main()
