"""Ore dilution per bench; the input check is strict about warnings, the evaluation follows."""

import os
import subprocess
import sys

import dask.array as da
import numpy as np
from dask.distributed import Client

CHECK = "import numpy as np; a = np.arange(1, 50.0); print('input check:', np.log(a).sum().round(3))"


def check_inputs():
    os.environ["PYTHONWARNINGS"] = "error::RuntimeWarning"
    subprocess.run([sys.executable, "-c", CHECK], check=True)


def dilution(block):
    waste = np.where(block > 50, block - 50, 0.0)
    ratio = np.log(waste)
    return np.where(np.isfinite(ratio), ratio, 0.0)


def main():
    check_inputs()
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        grid = da.from_array(
            np.linspace(10, 90, 40_000).reshape(200, 200), chunks=(100, 100)
        )
        with np.errstate(divide="ignore"):
            print(
                "mean dilution",
                grid.map_blocks(dilution, dtype="f8", meta=np.empty((0, 0)))
                .mean()
                .compute(),
            )


if __name__ == "__main__":
    main()
