"""Prices the options book once the afternoon fixing is published.

The valuations are prepared early and wait on the cluster for the fixing, which an
outside feed writes into the drop folder some time after four o'clock.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from distributed import Client, Event, LocalCluster, Variable

FEED = """
import json, os, sys, time
time.sleep(float(sys.argv[2]))
part = sys.argv[1] + ".part"
with open(part, "w") as handle:
    json.dump({"EURUSD": 1.0842, "GBPUSD": 1.2710, "USDJPY": 151.3}, handle)
os.replace(part, sys.argv[1])
"""


def simulate(pair, paths):
    rng = np.random.default_rng(len(pair) + paths)
    return np.exp(np.cumsum(rng.normal(0, 0.004, (paths, 60)), axis=1)[:, -1])


def value_book(pair, ends):
    """Waits for the fixing of the day, then values the calls of the pair."""
    if not Event("fixing-published").wait(timeout=50):
        raise TimeoutError(f"no fixing for {pair}")
    spot = Variable("fixing").get(timeout=5)[pair]
    payoff = np.maximum(ends * spot - spot * 1.01, 0)
    return pair, float(payoff.mean())


def await_fixing(path, patience=45):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if path.exists():
            return json.loads(path.read_text())
        time.sleep(0.5)
    raise TimeoutError(f"{path.name} did not arrive")


def main():
    drop = Path("drop")
    drop.mkdir(exist_ok=True)
    fixing = drop / "fixing.json"
    fixing.unlink(missing_ok=True)
    feed = subprocess.Popen([sys.executable, "-c", FEED, str(fixing), "16"])
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                pairs = ["EURUSD", "GBPUSD", "USDJPY"]
                ends = client.map(simulate, pairs, paths=20_000)
                values = client.map(value_book, pairs, ends)
                Variable("fixing").set(await_fixing(fixing))
                Event("fixing-published").set()
                for pair, value in client.gather(values):
                    print(f"{pair}: {value:.5f}")
    finally:
        feed.wait(30)
    print("book closed")


if __name__ == "__main__":
    main()
