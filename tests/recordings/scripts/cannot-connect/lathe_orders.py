"""Shop floor planning: which lathe gets which order tomorrow.

The planner shows a small status board for the foremen (plain HTTP) while it computes, and it brings its own Dask
processes.  All addresses come from plant.ini, which the plant's IT keeps.
"""

import configparser
import http.server
import json
import os
import subprocess
import sys
import threading
import time

from distributed import Client, as_completed

PLANT_INI = """
[board]
host = 127.0.0.1
port = 21917

[compute]
host = 127.0.0.1
port = 21917
workers = 2
connect_seconds = 8

[orders]
count = 40
lathes = 6
"""


class Board(http.server.BaseHTTPRequestHandler):
    status = {"phase": "starting", "planned": 0}
    timeout = 3  # foremen with a bad radio link must not hold connections

    def do_GET(self):
        body = json.dumps(self.status).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Compute:
    """Scheduler and workers as child processes, closed in reverse order."""

    def __init__(self, host, port, workers):
        self.address = f"tcp://{host}:{port}"
        self.commands = [
            ["scheduler", "--host", host, "--port", str(port), "--no-dashboard"]
        ]
        self.commands += [
            [
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"planner-{n}",
                "--death-timeout",
                "20",
            ]
            for n in range(workers)
        ]
        self.children = []

    def __enter__(self):
        for command in self.commands:
            self.children.append(
                subprocess.Popen([sys.executable, "-m", "dask"] + command)
            )
            time.sleep(0.5)
        return self

    def __exit__(self, *exc):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(6)
            except subprocess.TimeoutExpired:
                child.kill()


def minutes_of(order):
    """Turning time by diameter, length and passes."""
    diameter, length, passes = 20 + order % 17, 100 + (order * 37) % 400, 1 + order % 4
    total = 0.0
    for _ in range(passes):
        total += length / (318.0 * 90 / diameter * 0.2)
        diameter -= 1.5
    return order, round(total, 3)


def plan(durations, lathes):
    loads = [0.0] * lathes
    chosen = {}
    for order, minutes in sorted(durations.items(), key=lambda item: -item[1]):
        lathe = loads.index(min(loads))
        loads[lathe] += minutes
        chosen[order] = lathe
    return chosen, max(loads)


def main():
    if not os.path.exists("plant.ini"):
        with open("plant.ini", "w") as file:
            file.write(PLANT_INI)
    config = configparser.ConfigParser()
    config.read("plant.ini")

    board = http.server.ThreadingHTTPServer(
        (config["board"]["host"], config.getint("board", "port")), Board
    )
    threading.Thread(target=board.serve_forever, daemon=True).start()
    try:
        compute = config["compute"]
        with Compute(
            compute["host"], compute.getint("port"), compute.getint("workers")
        ) as processes:
            Board.status["phase"] = "connecting"
            with Client(
                processes.address, timeout=compute.getfloat("connect_seconds")
            ) as client:
                Board.status["phase"] = "planning"
                durations = {}
                futures = client.map(
                    minutes_of, range(config.getint("orders", "count"))
                )
                for future in as_completed(futures):
                    order, minutes = future.result()
                    durations[order] = minutes
                    Board.status["planned"] = len(durations)
        chosen, longest = plan(durations, config.getint("orders", "lathes"))
        print(f"{len(chosen)} orders, longest lathe {longest:.1f} minutes")
    finally:
        Board.status["phase"] = "closed"
        board.shutdown()
        board.server_close()


if __name__ == "__main__":
    main()
