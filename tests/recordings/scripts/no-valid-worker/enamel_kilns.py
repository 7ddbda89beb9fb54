"""Enamel kilns: plan the firings of the week and simulate the long ones.

The thermal solver is licensed for one process at a time per machine, which is
modelled as a resource of the workers; planning itself needs none of it.
"""

import configparser
import io
import math
import subprocess
import sys
import time

from dask.distributed import Client, wait

CONFIG = """
[cluster]
workers = 2
threads = 1
memory = 300MB
resources = thermal-licence=1

[solver]
resource = thermal_licence
timeout = 15
steps = 400
"""

KILNS = {"north": 820, "south": 845, "tunnel": 905, "trial": 780}


class Launcher:
    def __init__(self, section):
        self.section = section
        self.processes = []

    def start(self):
        scheduler = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                "kilns.json",
            ]
        )
        self.processes.append(scheduler)
        for n in range(self.section.getint("workers")):
            self.processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        "kilns.json",
                        "--name",
                        f"kiln-{n}",
                        "--nthreads",
                        self.section["threads"],
                        "--no-dashboard",
                        "--memory-limit",
                        self.section["memory"],
                        "--resources",
                        self.section["resources"],
                    ]
                )
            )
        return self

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def plan_firing(kiln, peak):
    ramp = [20 + (peak - 20) * i / 10 for i in range(11)]
    return {"kiln": kiln, "curve": ramp + [peak] * 4 + ramp[::-1]}


def thermal_solve(plan, steps):
    """Temperature in the middle of the ware, explicit steps."""
    inside = 20.0
    for target in plan["curve"]:
        for _ in range(steps):
            inside += (target - inside) * 0.004
    return plan["kiln"], round(inside, 1), math.isfinite(inside)


def run(config):
    solver = config["solver"]
    client = Client(scheduler_file="kilns.json", timeout="15s")
    try:
        client.wait_for_workers(config["cluster"].getint("workers"), timeout=20)
        plans = {
            k: client.submit(plan_firing, k, peak, key=f"plan-{k}")
            for k, peak in KILNS.items()
        }
        wait(list(plans.values()), timeout=10)
        print("plans are ready", flush=True)
        solved = [
            client.submit(
                thermal_solve,
                plan,
                solver.getint("steps"),
                key=f"thermal-{kiln}",
                resources={solver["resource"]: 1},
            )
            for kiln, plan in plans.items()
        ]
        done, _ = wait(solved, timeout=solver.getfloat("timeout"))
        for future in done:
            print(*future.result())
    finally:
        client.close()


def main():
    config = configparser.ConfigParser()
    config.read_file(io.StringIO(CONFIG))
    launcher = Launcher(config["cluster"]).start()
    started = time.monotonic()
    try:
        run(config)
    finally:
        print(f"kilns: {time.monotonic() - started:.0f} s", flush=True)
        launcher.stop()


if __name__ == "__main__":
    main()
