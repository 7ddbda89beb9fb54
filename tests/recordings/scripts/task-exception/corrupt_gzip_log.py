"""Count lines of compressed logs; one was cut off on its way."""

import gzip
import pathlib
import tempfile

from dask.distributed import Client


def count_lines(path):
    with gzip.open(path, "rt") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        folder = pathlib.Path(tempfile.mkdtemp())
        for n in range(8):
            (folder / f"access-{n}.log.gz").write_bytes(
                gzip.compress(b"GET /\n" * 9000)
            )
        cut = folder / "access-6.log.gz"
        cut.write_bytes(cut.read_bytes()[:40])
        paths = [str(each) for each in sorted(folder.iterdir())]
        print(sum(client.gather(client.map(count_lines, paths))))
