"""Surveys a coast strip by strip, and measures the strips afterwards."""

import subprocess
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def survey(strip):
    return np.random.default_rng(strip).random(2_500_000)  # 20 MB


def length(strip):
    return float(strip.sum())


if __name__ == "__main__":
    scratch = tempfile.mkdtemp(prefix="coast-")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="420MB",
            local_directory=scratch,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        strips = client.map(survey, range(40))
        wait(strips)
        time.sleep(1)
        # The machine's nightly job for old temporary files.
        subprocess.run(
            ["find", scratch, "-path", "*/storage/*", "-type", "f", "-delete"],
            check=False,
        )
        print(sum(client.gather(client.map(length, strips))))
