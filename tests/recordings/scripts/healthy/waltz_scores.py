"""Score a dance competition round by round.

After each round the jury's chair (this process) sorts out ties with a slow, careful
algorithm of the federation before the next, short round of computations.
"""

import itertools
import logging
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("waltz")
COUPLES = 24
ROUNDS = 5


def judge(round_number, judge_number, couples):
    """Marks of one judge for the couples that are left."""
    rnd = np.random.default_rng([round_number, judge_number])
    time.sleep(0.15)
    base = np.asarray(couples) / COUPLES
    return dict(zip(couples, np.round(6 + base + rnd.random(len(couples)) * 3, 1)))


def place(marks):
    order = sorted(marks, key=marks.get, reverse=True)
    return {couple: n for n, couple in enumerate(order, 1)}


def skating(placings, couples, seconds=3.0):
    """Compare every pair of couples again and again until the order is stable (rule 11)."""
    started = time.perf_counter()
    wins = {}
    while time.perf_counter() - started < seconds:
        wins = dict.fromkeys(couples, 0)
        for a, b in itertools.permutations(couples, 2):
            if sum(p[a] < p[b] for p in placings) * 2 > len(placings):
                wins[a] += 1
    return sorted(couples, key=wins.get, reverse=True)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    couples = list(range(COUPLES))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            for round_number in range(1, ROUNDS + 1):
                marks = client.map(judge, [round_number] * 7, range(7), couples=couples)
                placings = client.gather(client.map(place, marks))
                ranking = skating(placings, couples)
                couples = ranking[: max(4, len(ranking) * 2 // 3)]
                log.info("round %d: %d couples go on", round_number, len(couples))
    print("winners:", couples[:3])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
