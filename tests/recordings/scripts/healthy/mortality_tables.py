"""Life tables per region and sex for the actuaries, smoothed and simulated.

Runs during the window in which the operations team patches hosts: the patch takes a worker's process away at some
moment, and the job is expected to come through that.
"""

import os
import signal
import threading
import time

import click
import numpy as np
from distributed import Client, LocalCluster, as_completed

REGIONS = ["north", "east", "south", "west", "centre", "coast", "hills"]


def graduate(region, sex):
    """Whittaker-like smoothing of crude rates."""
    rng = np.random.default_rng(len(region) * 2 + (sex == "f"))
    ages = np.arange(20, 105)
    crude = 0.00012 * np.exp(0.092 * (ages - 20)) * rng.normal(1.0, 0.06, ages.size)
    difference = np.diff(np.eye(ages.size), n=3, axis=0)
    return np.clip(
        np.linalg.solve(np.eye(ages.size) + 120 * difference.T @ difference, crude),
        1e-5,
        0.9,
    )


def simulate_lives(rates, seed):
    rng = np.random.default_rng(seed)
    ages = np.zeros(4000)
    alive = np.ones(4000, dtype=bool)
    for rate in rates:
        alive &= rng.random(alive.size) > rate
        ages += alive
        time.sleep(0.008)
    return float(ages.mean() + 20)


def patch_one_host(client, after):
    """The operations team's part: one worker's host is taken down without notice."""
    pids = client.run(os.getpid)

    def patch():
        time.sleep(after)
        address, pid = sorted(pids.items())[0]
        click.echo(f"operations: patching the host of {address}")
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=patch, name="operations")
    thread.start()
    return thread


@click.command()
@click.option("--simulations", default=2, show_default=True)
def main(simulations):
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            tables, lives = {}, {}
            for region in REGIONS:
                for sex in "fm":
                    tables[region, sex] = client.submit(graduate, region, sex)
                    for seed in range(simulations):
                        future = client.submit(
                            simulate_lives, tables[region, sex], seed
                        )
                        lives[future] = (region, sex)
            operations = patch_one_host(client, after=2.5)
            expectation = {}
            for future, mean in as_completed(lives, with_results=True):
                expectation.setdefault(lives[future], []).append(mean)
            operations.join()
            for (region, sex), means in sorted(expectation.items()):
                click.echo(f"{region:8s} {sex} {sum(means) / len(means):6.2f}")
    assert len(expectation) == len(REGIONS) * 2
    assert all(len(means) == simulations for means in expectation.values())


if __name__ == "__main__":
    main()
