"""Purity of solvent batches from chromatograms: a nightly run for the quality laboratory.

The calibration tables are loaded once per worker process, by a module named in the job's Dask configuration.
"""

import json
import logging
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import yaml
from dask.distributed import Client, LocalCluster

log = logging.getLogger("lab")

SETTINGS = """
distributed:
  worker:
    preload:
      - lab_calibration.py
  nanny:
    environ:
      LAB_SITE: basel-2
lab:
  batches: 12
  samples: 4000
"""

PRELOAD = '''
"""Loads the detector's calibration when a worker starts."""
import json
import os

SITE = os.environ.get("LAB_SITE", "basel-1")

with open(os.path.join("calibration", SITE + ".json")) as source:
    TABLE = json.load(source)

RESPONSE = {name: entry["response"] for name, entry in TABLE.items()}


def dask_setup(worker):
    worker.calibration = RESPONSE
'''


def prepare(folder: Path) -> dict:
    """Checks out the laboratory's module and tables beside the job."""
    (folder / "lab_calibration.py").write_text(PRELOAD)
    tables = folder / "calibration"
    tables.mkdir(exist_ok=True)
    (tables / "basel-1.json").write_text(
        json.dumps({"acetone": {"response": 1.12}, "hexane": {"response": 0.94}})
    )
    return yaml.safe_load(SETTINGS)


def chromatogram(block, block_info=None):
    rng = np.random.default_rng(block_info[0]["chunk-location"][0])
    return block + rng.exponential(1.0, block.shape)


def purity(settings: dict) -> np.ndarray:
    batches, samples = settings["batches"], settings["samples"]
    base = da.zeros((batches, samples), chunks=(1, samples))
    traces = base.map_blocks(chromatogram, dtype="f8")
    main_peak = traces[:, samples // 4 : samples // 2].sum(axis=1)
    return (main_peak / traces.sum(axis=1)).compute()


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    settings = prepare(Path.cwd())
    dask.config.update(dask.config.config, settings)
    log.info("starting workers for %d batches", settings["lab"]["batches"])
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=20)
        shares = purity(settings["lab"])
    Path("purity.json").write_text(json.dumps([round(float(s), 4) for s in shares]))
    log.info("purest batch: %d", int(np.argmax(shares)))


if __name__ == "__main__":
    main()
