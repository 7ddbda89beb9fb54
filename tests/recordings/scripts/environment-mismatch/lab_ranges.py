"""Flag laboratory values outside the reference ranges, for the ward round at six.

Releases of the rules are folders under ``releases/``; each node has the path of the release that it runs in its
PYTHONPATH. The driver runs on the release that was rolled out this evening.
"""

import logging
import os
import random
import subprocess
import sys
from pathlib import Path

import click
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("lab")

RULES = {
    "4.1": """
        RELEASE = "4.1"
        RANGES = {"K": (3.5, 5.1), "Na": (136.0, 145.0), "Crea": (0.5, 1.2)}

        def flag(analyte, value):
            low, high = RANGES[analyte]
            return "L" if value < low else "H" if value > high else ""
    """,
    "4.2": """
        RELEASE = "4.2"
        RANGES = {"K": (3.5, 5.1), "Na": (136.0, 145.0), "Crea": (0.5, 1.2)}
        CHILDREN = {"K": (3.4, 4.7), "Na": (135.0, 145.0), "Crea": (0.2, 0.7)}

        def flag(analyte, value, *, age_group="adult"):
            low, high = (CHILDREN if age_group == "child" else RANGES)[analyte]
            return "L" if value < low else "H" if value > high else ""
    """,
}


def roll_out(root):
    for release, text in RULES.items():
        folder = root / "releases" / release
        folder.mkdir(parents=True, exist_ok=True)
        lines = [line[8:] for line in text.strip("\n").splitlines()]
        (folder / "labrules.py").write_text("\n".join(lines) + "\n")


class Node:
    """One node of the laboratory's cluster."""

    def __init__(self, name, release, scheduler):
        env = dict(os.environ, PYTHONPATH=str(Path("releases").resolve() / release))
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            scheduler,
            "--name",
            name,
            "--nthreads",
            "1",
        ]
        command += ["--memory-limit", "400MB", "--no-dashboard"]
        Path("nodes", name).mkdir(parents=True, exist_ok=True)
        self.log = open(f"nodes/{name}.log", "w")
        self.process = subprocess.Popen(
            command, cwd=f"nodes/{name}", env=env, stdout=self.log, stderr=self.log
        )

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()


def draw_batch(number, size=200):
    rng = random.Random(number)
    batch = []
    for _ in range(size):
        analyte = rng.choice(["K", "Na", "Crea"])
        centre = {"K": 4.3, "Na": 140.0, "Crea": 0.9}[analyte]
        batch.append(
            (
                analyte,
                rng.gauss(centre, centre / 8),
                rng.choice(["adult", "adult", "child"]),
            )
        )
    return batch


def flag_batch(batch):
    import labrules

    return [
        (a, round(v, 2), labrules.flag(a, v, age_group=group)) for a, v, group in batch
    ]


@click.command()
@click.option("--batches", default=40)
@click.option("--rules", default="4.2")
def main(batches, rules):
    logging.basicConfig(level=logging.INFO)
    roll_out(Path.cwd())
    sys.path.insert(0, str(Path("releases").resolve() / rules))
    import labrules

    log.info("driver has rules %s", labrules.RELEASE)
    flagged = 0
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        nodes = [
            Node("lab-a", "4.2", cluster.scheduler_address),
            Node("lab-b", "4.1", cluster.scheduler_address),
        ]
        try:
            with Client(cluster) as client:
                client.wait_for_workers(2, timeout=40)
                futures = client.map(flag_batch, client.map(draw_batch, range(batches)))
                for future in as_completed(futures):
                    flagged += sum(1 for _, _, f in future.result() if f)
        finally:
            for node in nodes:
                node.stop()
            log.info("%d values flagged", flagged)


if __name__ == "__main__":
    main()
