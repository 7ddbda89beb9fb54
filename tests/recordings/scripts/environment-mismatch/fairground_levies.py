"""Fairground levies: what each ride owes to the towns it visited.

The rules of the levy are a module that is released monthly into releases/;
hosts run what their `current` link points to. This job is started from the
release of its month.

    python fairground_levies.py --release 2026.11
"""

import argparse
import contextlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import dask
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("levies")
ROOT = Path("releases").absolute()

RULES_2026_10 = '''\
"""Levy rules, October."""
RATE = 0.031


def takings(ride, town):
    return [round(180 + 13.7 * ((ride * 31 + town * 17 + day) % 23), 2) for day in range(30)]


def surcharge(amounts):
    return round(sum(amounts) * RATE, 2)
'''

RULES_2026_11 = '''\
"""Levy rules, November: towns are in bands now."""
RATES = {"coast": 0.035, "inland": 0.029}


def takings(ride, town):
    return [round(180 + 13.7 * ((ride * 31 + town * 17 + day) % 23), 2) for day in range(30)]


def surcharge(amounts, town_band="inland"):
    return round(sum(amounts) * RATES[town_band], 2)
'''


def unpack_releases():
    for version, text in {"2026.10": RULES_2026_10, "2026.11": RULES_2026_11}.items():
        folder = ROOT / version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "levy_rules.py").write_text(text)
    current = ROOT / "current"
    if not current.is_symlink():
        current.symlink_to("2026.10")


@contextlib.contextmanager
def host_workers(address, count):
    path = os.pathsep.join(
        filter(None, [str(ROOT / "current"), os.environ.get("PYTHONPATH")])
    )
    with contextlib.ExitStack() as stack:
        for n in range(count):
            proc = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    address,
                    "--name",
                    f"host-{n}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "350MB",
                    "--no-dashboard",
                ],
                env={**os.environ, "PYTHONPATH": path},
            )
            stack.callback(proc.wait)
            stack.callback(proc.terminate)
        yield


def statement(ride, levies):
    return ride, round(sum(levies), 2)


def build(rules, rides, towns):
    statements = []
    for ride in rides:
        levies = []
        for town, band in towns.items():
            amounts = delayed(rules.takings)(ride, town)
            if band == "coast":
                levies.append(delayed(rules.surcharge)(amounts, town_band=band))
            else:
                levies.append(delayed(rules.surcharge)(amounts))
        statements.append(delayed(statement)(ride, levies))
    return statements


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="2026.11")
    parser.add_argument("--rides", type=int, default=10)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    unpack_releases()
    sys.path.insert(0, str(ROOT / args.release))
    import levy_rules

    log.info("release %s: %s", args.release, levy_rules.__doc__)
    towns = {n: ("coast" if n % 4 == 3 else "inland") for n in range(8)}
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with host_workers(cluster.scheduler_address, 2):
            client.wait_for_workers(2, timeout=25)
            results = dask.compute(*build(levy_rules, range(args.rides), towns))
            for ride, total in results:
                log.info("ride %d owes %.2f", ride, total)


if __name__ == "__main__":
    main()
