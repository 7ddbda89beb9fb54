"""Crop images: a separate step exports the stacks, this one computes their indices."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client

FIELDS = 6


def export(folder):
    """Write one stack per field, slowly as the camera's disk is."""
    rng = np.random.default_rng(5)
    for field in range(FIELDS):
        stack = rng.integers(0, 255, (8, 64, 64), dtype="uint8")
        path = Path(folder) / f"field{field}.npy"
        with path.open("wb") as f:
            np.lib.format.write_array_header_1_0(
                f, np.lib.format.header_data_from_array_1_0(stack)
            )
            for image in stack:
                f.write(image.tobytes())
                f.flush()
                time.sleep(0.02 if field < 4 else 2.5)


def greenness(path):
    stack = np.load(path)
    return path.stem, float(stack[:, 20:40].mean())


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        step = [sys.executable, __file__, "export", tmp]
        try:
            subprocess.run(step, timeout=12, check=True)
        except subprocess.TimeoutExpired:
            print("export is slow tonight, taking what is there")
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as c:
            stacks = sorted(folder.glob("*.npy"))
            print(len(stacks), "stacks")
            print(dict(c.gather(c.map(greenness, stacks))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["export"]:
        export(sys.argv[2])
    else:
        main()
