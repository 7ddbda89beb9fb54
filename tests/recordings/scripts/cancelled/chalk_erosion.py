"""Erosion of the chalk cliffs: Monte Carlo of winter storms.

Started by hand from a terminal by the coast engineers; a few hundred winters per
scenario. Results of finished scenarios are kept.
"""

import argparse
import json
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

SCENARIOS = {"calm": 0.6, "today": 1.0, "rough": 1.7, "extreme": 2.4}


def storm_winter(scenario, seed, days=120):
    """Metres lost at the foot of the cliff in one winter."""
    rng = np.random.default_rng(seed)
    strength = SCENARIOS[scenario]
    foot = 0.0
    for _ in range(days):
        waves = rng.weibull(1.5, 2000) * strength
        foot += float(np.clip(waves - 2.8, 0, None).mean()) * 0.02
        time.sleep(0.003)
    return foot


def collapse_depth(losses):
    losses = np.asarray(losses)
    return {"mean_m": float(losses.mean()), "p95_m": float(np.quantile(losses, 0.95))}


class Results:
    def __init__(self, path):
        self.path = path
        self.done = {}

    def add(self, scenario, summary):
        self.done[scenario] = summary
        with open(self.path, "w") as out:
            json.dump(self.done, out, indent=1)


def simulate(client, scenario, winters):
    futures = client.map(storm_winter, [scenario] * winters, range(winters), pure=False)
    losses = []
    for n, (_, loss) in enumerate(as_completed(futures, with_results=True), 1):
        losses.append(loss)
        if n % 10 == 0:
            print(f"{scenario}: {n}/{winters} winters", flush=True)
    return collapse_depth(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--winters", type=int, default=300)
    parser.add_argument("--results", default="erosion.json")
    args = parser.parse_args()

    results = Results(args.results)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        for scenario in SCENARIOS:
            results.add(scenario, simulate(client, scenario, args.winters))
    finally:
        print(
            f"{len(results.done)} of {len(SCENARIOS)} scenarios are in {args.results}",
            flush=True,
        )
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
