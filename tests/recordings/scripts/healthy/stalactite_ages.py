"""Ages of the layers of stalactites from a cave, by uranium and thorium.

Each drill core gives a few dozen layers; each layer's age is found by bisection.  The institute's machines are shared
with students, and the operators rehearse the loss of a machine on the first of each month while jobs run.
"""

import math
import os
import statistics
import subprocess
import sys
import time

from distributed import Client, LocalCluster, as_completed

LAMBDA_230, LAMBDA_234 = 9.1705e-6, 2.82206e-6

REHEARSAL = """
import os, signal, sys, time
time.sleep(float(sys.argv[2]))
os.kill(int(sys.argv[1]), signal.SIGKILL)
print("rehearsal: process", sys.argv[1], "taken away", flush=True)
"""


def activity(age, excess):
    """230Th/238U after `age` years with an initial excess of 234U."""
    share = LAMBDA_230 / (LAMBDA_230 - LAMBDA_234)
    grown = 1 - math.exp(-LAMBDA_230 * age)
    return grown + excess * share * (1 - math.exp(-(LAMBDA_230 - LAMBDA_234) * age))


def layer_age(core, layer):
    time.sleep(0.12)
    excess = 0.1 + core * 0.01
    wanted = activity(1500.0 * (layer + 1) + 40 * core, excess)
    low, high = 0.0, 400_000.0
    for _ in range(80):
        middle = (low + high) / 2
        if activity(middle, excess) < wanted:
            low = middle
        else:
            high = middle
    return core, layer, low


def growth_rate(ages):
    """Mean years per layer of a core."""
    ages = sorted(ages)
    return statistics.fmean(b - a for a, b in zip(ages, ages[1:]))


def rehearse(client, delay):
    """Let the operators take one of the workers away."""
    pids = client.run(os.getpid)
    victim = pids[sorted(pids)[0]]
    return subprocess.Popen([sys.executable, "-c", REHEARSAL, str(victim), str(delay)])


def main():
    cores, layers = 6, 20
    with LocalCluster(
        n_workers=3, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            rehearsal = rehearse(client, delay=1.5)
            futures = [
                client.submit(layer_age, core, layer)
                for core in range(cores)
                for layer in range(layers)
            ]
            found = {}
            for _, (core, layer, age) in as_completed(futures, with_results=True):
                found.setdefault(core, []).append(age)
            if rehearsal.wait(20) != 0:
                raise SystemExit("the rehearsal itself went wrong")
            client.wait_for_workers(3, timeout=30)
            rates = client.gather(
                client.map(growth_rate, [found[core] for core in range(cores)])
            )
    for core, rate in enumerate(rates):
        print(f"core {core}: {len(found[core])} layers, {rate:.1f} years a layer")
    assert all(abs(rate - 1500.0) < 1.0 for rate in rates)


if __name__ == "__main__":
    main()
