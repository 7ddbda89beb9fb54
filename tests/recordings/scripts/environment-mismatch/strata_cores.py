"""Correlates sediment cores: horizons are picked here and dated on the lab's workers."""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("strata")

HORIZONS_14 = """
from typing import NamedTuple
__version__ = "1.4.2"

class Horizon(NamedTuple):
    core: str
    top: float
    base: float

    @property
    def thickness(self):
        return self.base - self.top

def age_of(horizon, rate):
    return (horizon.top + horizon.thickness / 2) / rate
"""

HORIZONS_15 = HORIZONS_14.replace("1.4.2", "1.5.0").replace(
    "    base: float\n", "    base: float\n    colour: str = 'unknown'\n"
)


def install(root, source):
    package = root / "horizons"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    return str(root)


def pick(horizons, cores=6):
    for number in range(cores):
        top = 0.0
        for layer in range(8):
            base = top + 0.4 + 0.05 * ((number + layer) % 5)
            yield horizons.Horizon(
                f"MD{number:02d}", top, base, ("grey", "olive", "black")[layer % 3]
            )
            top = base


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        sys.path.insert(0, install(root / "desk", HORIZONS_15))
        lab = install(root / "lab", HORIZONS_14)
        import horizons

        log.info("picking with horizons %s", horizons.__version__)
        picked = list(pick(horizons))
        with (
            LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            worker = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    cluster.scheduler_address,
                    "--nthreads",
                    "1",
                    "--name",
                    "lab-1",
                    "--no-dashboard",
                    "--local-directory",
                    tmp,
                ],
                env={**os.environ, "PYTHONPATH": lab},
                cwd=lab,
            )
            try:
                client.wait_for_workers(1, timeout=40)
                ages = client.map(horizons.age_of, picked, rate=0.12)
                wait(ages, timeout=25)
                for horizon, age in zip(picked, client.gather(ages)):
                    if horizon.top == 0:
                        log.info("%s youngest %.1f ka", horizon.core, age)
            finally:
                worker.terminate()
                worker.wait(20)


if __name__ == "__main__":
    main()
