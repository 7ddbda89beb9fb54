"""Ewe lambings: join the flock register with the vets' sheets of the spring.

The farm co-operative's firewall lets two ports through for workers, so they
are given as a range. A small status page for the barn's screen runs beside it.
"""

import contextlib
import http.server
import multiprocessing
import os
import socket
import subprocess
import sys
import time

import pandas as pd
from distributed import Client

FLOCKS = ["Aalto", "Birk", "Corrie", "Dunmore", "Ettrick"]


def find_range():
    """Two neighbouring ports that the firewall team would have given us."""
    for first in range(23140, 23900, 10):
        with contextlib.ExitStack() as stack:
            try:
                for port in (first, first + 1):
                    s = stack.enter_context(socket.socket())
                    s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first, first + 1
    raise SystemExit("no range of ports is free")


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"lambings: running\n")

    def log_message(self, *args):
        pass


def barn_screen(port, ready):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
    ready.set()
    server.serve_forever()


@contextlib.contextmanager
def screen(port):
    ready = multiprocessing.Event()
    proc = multiprocessing.Process(target=barn_screen, args=(port, ready), daemon=True)
    proc.start()
    ready.wait(10)
    try:
        yield
    finally:
        proc.terminate()
        proc.join()


@contextlib.contextmanager
def command(*args):
    proc = subprocess.Popen([sys.executable, "-m", "dask", *map(str, args)])
    try:
        yield proc
    finally:
        proc.terminate()
        try:
            proc.wait(8)
        except subprocess.TimeoutExpired:
            proc.kill()


def lambs_of(flock, season):
    ewes = pd.DataFrame({"ewe": range(400), "age": [2 + i % 6 for i in range(400)]})
    sheets = pd.DataFrame(
        {"ewe": range(0, 400, 3), "lambs": [1 + i % 3 for i in range(134)]}
    )
    joined = ewes.merge(sheets, on="ewe", how="left").fillna({"lambs": 0})
    return flock, season, joined.groupby("age").lambs.mean().round(2).to_dict()


def main():
    first, last = find_range()
    scheduler_file = os.path.abspath("lambings-scheduler.json")
    with contextlib.ExitStack() as stack:
        stack.enter_context(screen(first))
        print(f"status page on port {first}", flush=True)
        stack.enter_context(
            command(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                0,
                "--no-dashboard",
                "--scheduler-file",
                scheduler_file,
            )
        )
        stack.enter_context(
            command(
                "worker",
                "--scheduler-file",
                scheduler_file,
                "--host",
                "127.0.0.1",
                "--nworkers",
                2,
                "--nthreads",
                1,
                "--memory-limit",
                "350MB",
                "--worker-port",
                f"{first}:{last}",
                "--no-dashboard",
                "--name",
                "barn",
            )
        )
        deadline = time.monotonic() + 15
        while not os.path.exists(scheduler_file) and time.monotonic() < deadline:
            time.sleep(0.2)
        client = stack.enter_context(
            Client(scheduler_file=scheduler_file, timeout="15s")
        )
        client.wait_for_workers(2, timeout=20)
        futures = [client.submit(lambs_of, flock, 2026) for flock in FLOCKS]
        for flock, season, means in client.gather(futures):
            print(f"{season} {flock:10} {means}")


if __name__ == "__main__":
    main()
