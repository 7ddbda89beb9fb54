"""Gearbox warranties: expected claims per model and mileage band.

Two clusters are used one after the other: a small one for the intake checks, and one at the fixed address that the
plant's firewall allows for the big estimate.
"""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import subprocess
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster

MODELS = ("G5-200", "G6-210", "G6-300", "DSG-7")


@dataclasses.dataclass
class Plan:
    seed: int = 11
    draws: int = 20_000
    workers: int = 2
    port: int = 0


def intake_ok(model: str, seed: int) -> bool:
    rng = np.random.default_rng(seed)
    return bool((rng.weibull(1.8, 500) > 0).all())


def claim_cost(model: str, band: int, draws: int) -> float:
    rng = np.random.default_rng(abs(hash((model, band))) % 2**32)
    life = rng.weibull(1.4 + band / 10, draws) * 160_000
    return float((life < 20_000 * (band + 1)).mean() * 1850)


@contextlib.contextmanager
def claims_register():
    """The register of open claims: a small line service of the workshop, up while the job runs."""
    server = subprocess.Popen(
        [sys.executable, "-c", REGISTER], stdout=subprocess.PIPE, text=True
    )
    try:
        yield int(server.stdout.readline())
    finally:
        server.terminate()
        server.wait(5)


REGISTER = """
import socketserver
class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"open 0\\n")
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
with Server(("127.0.0.1", 0), Lines) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


def open_claims(port: int, model: str) -> int:
    with socket.create_connection(("127.0.0.1", port), 3) as line:
        line.sendall(f"count {model}\n".encode())
        return int(line.makefile().readline().split()[1])


def intake(plan: Plan) -> None:
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            checks = client.gather(
                client.map(intake_ok, MODELS, [plan.seed] * len(MODELS))
            )
            if not all(checks):
                raise SystemExit("intake refused")
    print("intake checked:", len(checks), "models")


def estimate(plan: Plan) -> dict[str, float]:
    with (
        LocalCluster(
            n_workers=plan.workers,
            threads_per_worker=1,
            memory_limit="350MB",
            host="127.0.0.1",
            scheduler_port=plan.port,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        keys = [(model, band) for model in MODELS for band in range(5)]
        costs = client.gather(
            [client.submit(claim_cost, model, band, plan.draws) for model, band in keys]
        )
    result: dict[str, float] = {}
    for (model, _), cost in zip(keys, costs):
        result[model] = result.get(model, 0.0) + cost
    return result


def main() -> int:
    plan = Plan()
    began = time.monotonic()
    try:
        with claims_register() as register_port:
            # the firewall allows one port of this host; register and estimate were given it in different tickets
            plan.port = register_port
            intake(plan)
            print(
                "open claims:",
                {model: open_claims(register_port, model) for model in MODELS},
            )
            for model, cost in sorted(estimate(plan).items()):
                print(f"{model:8} {cost:10.2f}")
    finally:
        print(f"took {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
