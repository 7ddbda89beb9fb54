"""Match free-text addresses with the postal reference."""

import os
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, wait


class PostalReference:
    """Loads its streets lazily; only the location travels."""

    def __init__(self, folder):
        self.folder = str(folder)
        self._load()

    def _load(self):
        path = os.path.join(os.path.relpath(self.folder, os.getcwd()), "streets.txt")
        with open(path) as fh:
            self.streets = {line.strip() for line in fh}

    def __getstate__(self):
        return {"folder": os.path.relpath(self.folder)}

    def __setstate__(self, state):
        self.folder = state["folder"]
        self._load()

    def match(self, text):
        return text.split(",")[0] in self.streets


def count_matches(reference, lines):
    return sum(reference.match(line) for line in lines)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        data = Path(tmp) / "postal"
        data.mkdir()
        (data / "streets.txt").write_text("\n".join(f"Street {i}" for i in range(2000)))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster:
            with Client(cluster) as client:
                os.chdir(data)
                reference = PostalReference(data)
                chunks = [
                    [f"Street {i * k}, Town" for i in range(400)] for k in range(1, 9)
                ]
                futures = [
                    client.submit(count_matches, reference, chunk) for chunk in chunks
                ]
                try:
                    wait(futures, timeout=10)
                    print(sum(client.gather(futures)))
                finally:
                    os.chdir("/")


if __name__ == "__main__":
    main()
