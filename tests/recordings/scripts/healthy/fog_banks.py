"""Fog bank extents along the coast, with a canary run and a busy tide service."""

import argparse
import http.server
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import numpy as np
from dask.distributed import Client, LocalCluster, TimeoutError, wait

log = logging.getLogger("fog")


class TideService(http.server.BaseHTTPRequestHandler):
    calls = 0

    def do_GET(self):
        TideService.calls += 1
        busy = TideService.calls % 3 == 1
        self.send_response(503 if busy else 200)
        self.end_headers()
        self.wfile.write(b"busy" if busy else b"1.4")

    def log_message(self, *words):
        pass


def tide(url, strip):
    for attempt in range(6):
        try:
            with urllib.request.urlopen(f"{url}/{strip}", timeout=10) as response:
                return float(response.read())
        except urllib.error.HTTPError as error:
            logging.getLogger("distributed.worker").warning(
                "strip %d attempt %d: %s", strip, attempt, error
            )
            time.sleep(0.3)
    raise RuntimeError(f"tide service is down for strip {strip}")


def extent(strip, level):
    field = np.random.default_rng(strip).random((1500, 1500))
    time.sleep(0.5)
    return strip, float((field > 0.6).mean() * level)


def canary(grid):
    """Must fail: the checker of the grid is alive."""
    raise AssertionError(f"grid {grid} refused by the checker")


def crowd(megabytes):
    """Warms the page pool; big, but inside the limit."""
    block = np.ones(megabytes * 131_072)
    time.sleep(2.5)
    return float(block[-1])


def check_canary(client):
    try:
        client.submit(canary, "test-0", key="canary-0").result()
    except AssertionError as error:
        log.info("checker works: %s", error)
    else:
        raise SystemExit("the checker of the grid does not work")


def recycle_worker(client):
    pids = client.run(os.getpid)
    pid = sorted(pids.values())[0]
    log.warning("recycling worker process %d", pid)
    os.kill(pid, signal.SIGTERM)
    time.sleep(2)
    client.wait_for_workers(2, timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strips", type=int, default=10)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TideService)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory(prefix="fog-") as base:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="270MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            check_canary(client)
            client.submit(crowd, 110, key="crowd-0").result()
            recycle_worker(client)
            levels = [
                client.submit(tide, url, n, key=f"tide-{n}") for n in range(args.strips)
            ]
            extents = [
                client.submit(extent, n, one, key=f"extent-{n}")
                for n, one in enumerate(levels)
            ]
            try:
                wait(extents, timeout=1)
            except TimeoutError:
                log.warning(
                    "not ready after 1 s, the service is busy tonight; waiting on"
                )
            wait(extents)
            for strip, value in client.gather(extents):
                log.info("strip %2d: %.3f", strip, value)
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
