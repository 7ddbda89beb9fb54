"""Index scanned documents by their first words."""

import resource
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, get_worker

SYSTEM_LIMITS = {"files": 256}


def adopt_limits(limits):
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits["files"], limits["files"]))


class Shelf:
    """Keeps documents at hand so that later lookups do not read them again."""

    def __init__(self):
        self.handles = {}

    def words(self, path):
        fh = self.handles.get(path)
        if fh is None:
            fh = self.handles[path] = open(path)
        fh.seek(0)
        return fh.readline().split()[:2]


def index_folder(folder):
    worker = get_worker()
    shelf = worker.__dict__.setdefault("shelf", Shelf())
    return {w for p in sorted(Path(folder).iterdir()) for w in shelf.words(str(p))}


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folders = []
        for box in range(12):
            folder = Path(tmp) / f"box{box:02d}"
            folder.mkdir()
            for i in range(60):
                (folder / f"doc{i:03d}.txt").write_text(
                    f"contract {box * 100 + i}\nbody\n"
                )
            folders.append(str(folder))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(adopt_limits, SYSTEM_LIMITS)
            words = client.gather(client.map(index_folder, folders))
            print(len(set().union(*words)), "distinct words")


if __name__ == "__main__":
    main()
