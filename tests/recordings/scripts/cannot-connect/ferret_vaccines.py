"""Ferret vaccination recalls.

Works out which animals of each veterinary clinic are due for a booster, on a
small Dask cluster that this service starts for itself. While it runs, the
service answers the load balancer's health checks over HTTP.

    python ferret_vaccines.py --month 2026-12
"""

import argparse
import configparser
import http.server
import logging
import pathlib
import random
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack

from distributed import Client

log = logging.getLogger("recalls")


def write_default_settings(path):
    """First start on a new host: write the settings with a port of ours."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path.write_text(
        "[DEFAULT]\n"
        "host = 127.0.0.1\n"
        f"port = {port}\n"
        "\n"
        "[health]\n"
        "path = /healthz\n"
        "\n"
        "[scheduler]\n"
        "workers = 2\n"
        "connect_timeout = 8\n"
    )


class HealthHandler(http.server.BaseHTTPRequestHandler):
    timeout = 5.0

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *args):
        pass


class HealthEndpoint:
    def __init__(self, section):
        self.server = http.server.ThreadingHTTPServer(
            (section["host"], section.getint("port")), HealthHandler
        )
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        log.info("health checks are answered on %s:%s", *self.server.server_address)
        return self

    def __exit__(self, *exc):
        self.server.shutdown()


class OwnCluster:
    """Scheduler and workers as child processes."""

    def __init__(self, section):
        self.section = section
        self.address = f"tcp://{section['host']}:{section['port']}"
        self.children = []

    def _start(self, *command):
        self.children.append(subprocess.Popen([sys.executable, "-m", *command]))

    def __enter__(self):
        self._start(
            "distributed.cli.dask_scheduler",
            "--host",
            self.section["host"],
            "--port",
            self.section["port"],
            "--no-dashboard",
        )
        for number in range(self.section.getint("workers")):
            self._start(
                "distributed.cli.dask_worker",
                self.address,
                "--name",
                f"vet-{number}",
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--death-timeout",
                "20",
            )
        return self

    def __exit__(self, *exc):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
        log.info("cluster stopped")


def due_animals(clinic, month):
    rng = random.Random(f"{clinic}{month}")
    return [f"{clinic}-{n}" for n in range(rng.randrange(40, 90)) if rng.random() < 0.2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--month", default="2026-12")
    parser.add_argument(
        "--settings", type=pathlib.Path, default=pathlib.Path("recalls.ini")
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    if not args.settings.exists():
        write_default_settings(args.settings)
    settings = configparser.ConfigParser()
    settings.read(args.settings)

    with ExitStack() as stack:
        stack.enter_context(HealthEndpoint(settings["health"]))
        cluster = stack.enter_context(OwnCluster(settings["scheduler"]))
        client = stack.enter_context(
            Client(
                cluster.address, timeout=settings["scheduler"].getint("connect_timeout")
            )
        )
        futures = client.map(
            due_animals, [f"clinic{n:02d}" for n in range(30)], month=args.month
        )
        recalls = client.gather(futures)
        log.info("%d animals are due in %s", sum(map(len, recalls)), args.month)


if __name__ == "__main__":
    main()
