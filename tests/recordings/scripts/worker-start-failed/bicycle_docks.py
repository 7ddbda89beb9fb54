"""Hourly balance of the docks of a bicycle hire, on workers of the depot machine."""

import configparser
import json
import logging
import random
import socket
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("bicycle_docks")


class Health(BaseHTTPRequestHandler):
    """Answers the probes of the orchestrator."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


def open_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def write_settings(path):
    base = open_port()
    settings = configparser.ConfigParser()
    settings["service"] = {"health_port": str(base)}
    settings["dask"] = {
        "scheduler_port": str(open_port()),
        "worker_port": str(base),
        "threads": "2",
    }
    with path.open("w") as sink:
        settings.write(sink)


def read_settings(path):
    settings = configparser.ConfigParser()
    settings.read(path)
    return settings


def launch(settings):
    port = settings["dask"]["scheduler_port"]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    )
    worker = subprocess.Popen(
        [
            *dask,
            "worker",
            address,
            "--nthreads",
            settings["dask"]["threads"],
            "--no-dashboard",
            "--worker-port",
            settings["dask"]["worker_port"],
            "--no-nanny",
            "--death-timeout",
            "40",
        ]
    )
    return address, [worker, scheduler]


def balance(trips):
    docks = {}
    for start, end in trips:
        docks[start] = docks.get(start, 0) - 1
        docks[end] = docks.get(end, 0) + 1
    return docks


def main():
    rng = random.Random(5)
    hours = [
        [(rng.randint(1, 60), rng.randint(1, 60)) for _ in range(300)]
        for _ in range(12)
    ]
    with tempfile.TemporaryDirectory(prefix="docks-") as tmp:
        ini = Path(tmp) / "docks.ini"
        write_settings(ini)
        settings = read_settings(ini)
        health = ThreadingHTTPServer(
            ("", settings.getint("service", "health_port")), Health
        )
        threading.Thread(target=health.serve_forever, daemon=True).start()
        address, processes = launch(settings)
        try:
            with Client(address, timeout=45) as client:
                client.wait_for_workers(1, timeout=30)
                futures = client.map(balance, hours)
                log.info("%s", json.dumps(client.gather(futures)[-1]))
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(20)
            health.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
