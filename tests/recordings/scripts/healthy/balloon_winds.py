"""Balloon winds: several wind models race for each launch; the first usable profile wins, the rest is called off."""

import asyncio
import random
import time
from concurrent.futures import CancelledError

from dask.distributed import Client, LocalCluster, as_completed, Event

LAUNCHES = ["Lindenberg", "Payerne", "Sodankylä"]
MODELS = {"mesh": 0.4, "spectral": 6.0, "persistence": 0.8}


def profile(launch, model, seconds, stop):
    """Wind speed per kilometre of height; looks now and then whether somebody was faster."""
    until = time.time() + seconds
    while time.time() < until:
        if Event(stop).is_set():
            raise InterruptedError(f"{model} called off for {launch}")
        time.sleep(0.1)
    if model == "mesh" and launch == "Payerne":
        raise FloatingPointError("mesh model diverged over the Alps")
    rng = random.Random(launch + model)
    return model, [round(abs(rng.gauss(4 + 2 * km, 2)), 1) for km in range(12)]


def race(client, launch):
    stop = f"stop-{launch}"
    futures = [
        client.submit(profile, launch, m, s, stop, pure=False)
        for m, s in MODELS.items()
    ]
    winner = None
    for future in as_completed(futures):
        try:
            winner = future.result()
        except FloatingPointError as error:
            print(f"{launch}: {error}, waiting for the next model")
            continue
        break
    Event(stop, client=client).set()
    losers = [f for f in futures if not f.done()]
    client.cancel(losers, reason="a faster model has answered")
    for future in losers:
        try:
            future.result(timeout=5)
        except (CancelledError, asyncio.CancelledError):
            print(f"{launch}: {future.key[:24]} cancelled")
    return winner


def main():
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="700MB", dashboard_address=":0"
    )
    cluster.adapt(minimum=1, maximum=2, interval="500ms", wait_count=2)
    with Client(cluster) as client:
        for launch in LAUNCHES:
            model, winds = race(client, launch)
            print(f"{launch:12s} {model:12s} {winds[:6]} m/s")
    cluster.close()
    cluster.close()


if __name__ == "__main__":
    main()
