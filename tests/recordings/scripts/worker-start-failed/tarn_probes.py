"""Reads the probes of the mountain tarns; the site's firewall lets only two ports through."""

import http.server
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client


class Status(http.server.BaseHTTPRequestHandler):
    """'In progress' page for the night watch."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"tarn probes: in progress\n")

    def log_message(self, *args):
        pass


def open_ports(count):
    """The ports that the firewall lets through on this host."""
    sockets = [socket.create_server(("", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


def start(folder, *command):
    log = open(folder / f"{command[0]}.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env=dict(os.environ),
        stdout=log,
        stderr=log,
    )


def read_probe(tarn):
    time.sleep(0.1)
    return tarn, 4 + tarn % 7 * 0.3


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = str(folder / "scheduler.json")
        scheduler_port, second_port = open_ports(2)
        page = http.server.ThreadingHTTPServer(("", second_port), Status)
        threading.Thread(target=page.serve_forever, daemon=True).start()
        processes = [
            start(
                folder,
                "scheduler",
                "--port",
                str(scheduler_port),
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                address,
            )
        ]
        try:
            processes.append(
                start(
                    folder,
                    "worker",
                    "--scheduler-file",
                    address,
                    "--nthreads",
                    "2",
                    "--worker-port",
                    str(second_port),
                    "--memory-limit",
                    "400MB",
                    "--local-directory",
                    name,
                )
            )
            with Client(scheduler_file=address, timeout=60) as client:
                client.wait_for_workers(1, timeout=25)
                for tarn, celsius in client.gather(client.map(read_probe, range(40))):
                    print(tarn, round(celsius, 1))
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(timeout=60)
            page.shutdown()


if __name__ == "__main__":
    main()
