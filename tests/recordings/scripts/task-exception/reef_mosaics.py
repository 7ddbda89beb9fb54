"""Build depth mosaics of the reef survey and report the shallowest cell per strip."""

import logging
import pathlib
import resource
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin

log = logging.getLogger("reef")
COLUMNS = 512


class FileQuota(WorkerPlugin):
    """The survey share allows 4 MiB a file; keep runaway exports away from it."""

    def __init__(self, limit):
        self.limit = limit

    def setup(self, worker):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, hard))


def strip_rows(strip):
    return {3: 1400, 8: 1100}.get(strip, 256 + 8 * strip)


def export_strip(strip, folder):
    rng = np.random.default_rng(strip)
    depths = rng.normal(18, 4, size=(strip_rows(strip), COLUMNS))
    path = pathlib.Path(folder) / f"strip_{strip:02d}.f64"
    try:
        with open(path, "wb") as out:
            for start in range(0, len(depths), 64):
                out.write(depths[start : start + 64].tobytes())
    except OSError:
        logging.getLogger("reef").exception("strip %d: export incomplete", strip)
    return strip, str(path)


def shallowest(item):
    strip, path = item
    cells = np.frombuffer(pathlib.Path(path).read_bytes(), dtype="f8")
    grid = cells.reshape(strip_rows(strip), COLUMNS)
    return strip, float(grid.min())


def run(client, folder, strips):
    client.register_plugin(FileQuota(4 * 2**20), name="file-quota")
    exported = client.gather(client.map(export_strip, range(strips), folder=folder))
    log.info(
        "exported %d strips, %d bytes",
        len(exported),
        sum(pathlib.Path(p).stat().st_size for _, p in exported),
    )
    return dict(client.gather(client.map(shallowest, exported)))


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            for strip, depth in run(client, folder, 10).items():
                print(f"strip {strip}: {depth:.2f} m")


if __name__ == "__main__":
    main()
