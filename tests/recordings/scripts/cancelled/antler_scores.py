"""Antler scores of the season, by a bootstrap over the measured heads.

Run by hand by the person who prepares the trophy list; takes some minutes with the full number of draws.
"""

import os
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed


def measured_heads(n=800, seed=5):
    rng = np.random.default_rng(seed)
    beam = rng.normal(96, 9, n)
    girth = rng.normal(22, 2.5, n)
    tines = rng.integers(6, 17, n)
    return np.column_stack([beam, girth, tines])


def score(heads):
    return heads[:, 0] * 0.5 + heads[:, 1] * 1.0 + heads[:, 2] * 2.0


class DrawRefused(RuntimeError):
    pass


def bootstrap_scores(heads, draw, tries):
    """The 95th percentile of one resampled season."""
    rng = np.random.default_rng(draw)
    if draw % 9 == 4 and not tries:
        raise DrawRefused(f"draw {draw}: the reference heads are being edited")
    best = []
    for _ in range(40):
        sample = heads[rng.integers(0, len(heads), len(heads))]
        best.append(np.percentile(score(sample), 95))
        time.sleep(0.01)
    return draw, float(np.mean(best))


class Bar:
    def __init__(self, total):
        self.total, self.done = total, 0

    def tick(self, value):
        self.done += 1
        if self.done % 5 == 0 or self.done == 1:
            print(f"drawn {self.done} of {self.total}, last {value:.2f}", flush=True)
        if self.done == 12:
            print("a dozen draws are in", flush=True)


def run(client, draws):
    heads = client.scatter(measured_heads(), broadcast=True)
    bar = Bar(draws)
    tries = {}
    work = as_completed(
        [
            client.submit(bootstrap_scores, heads, d, 0, key=f"bootstrap-{d}-0")
            for d in range(draws)
        ]
    )
    values = []
    for future in work:
        try:
            _, value = future.result()
        except DrawRefused as exc:
            draw = int(str(exc).split(":")[0].split()[1])
            tries[draw] = tries.get(draw, 0) + 1
            print(f"{exc}, again", flush=True)
            work.add(
                client.submit(
                    bootstrap_scores,
                    heads,
                    draw,
                    tries[draw],
                    key=f"bootstrap-{draw}-{tries[draw]}",
                )
            )
            continue
        values.append(value)
        bar.tick(value)
    return np.array(values)


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    lock = "antler.lock"
    open(lock, "w").close()
    try:
        values = run(client, draws)
        low, high = np.percentile(values, [2.5, 97.5])
        print(f"95th percentile between {low:.1f} and {high:.1f}")
    finally:
        os.remove(lock)
        client.close()
        cluster.close()
        print("list not locked any more", flush=True)


if __name__ == "__main__":
    main()
