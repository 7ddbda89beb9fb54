"""Quality report on oboe reeds: short computations on a cluster, long typesetting in between in the driver itself."""

import argparse
import pathlib
import tempfile
import textwrap
import time

import dask.array as da
from dask.distributed import Client, LocalCluster


class Report:
    def __init__(self, path):
        self.path = path
        self.pages = []

    def typeset(self, batch, numbers):
        """A page; the old typesetting code breaks lines the hard way."""
        end = time.perf_counter() + 3
        text = (
            f"Batch {batch}: mean stiffness {numbers[0]:.3f}, spread {numbers[1]:.3f}. "
            * 60
        )
        width = 40
        while time.perf_counter() < end:
            page = textwrap.fill(text, 40 + width % 30)
            width += 1
        self.pages.append(page)

    def write(self):
        self.path.write_text("\f".join(self.pages))
        return len(self.pages)


def stiffness(batch):
    bending = da.random.default_rng(batch).normal(
        12 + batch, 1.5, size=(2_000_000,), chunks=250_000
    )
    return bending.mean(), bending.std()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reeds-") as folder:
        report = Report(pathlib.Path(folder) / "report.txt")
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                for batch in range(options.batches):
                    mean, spread = da.compute(*stiffness(batch))
                    report.typeset(batch, (float(mean), float(spread)))
        print(report.write(), "pages")


if __name__ == "__main__":
    main()
