import multiprocessing
import tempfile
from pathlib import Path

from dask import bag
from distributed import Client, LocalCluster


def fingerprint(path):
    data = Path(path).read_bytes()
    return Path(path).stem, sum(data) % 65521


def index_album(album):
    files = sorted(map(str, Path(album).iterdir()))
    if len(files) < 10:
        return [fingerprint(f) for f in files]
    with multiprocessing.Pool(2) as pool:
        return pool.map(fingerprint, files)


def make_albums(root):
    for a, n in enumerate([4, 6, 3, 48, 5]):
        d = root / f"album{a}"
        d.mkdir()
        for i in range(n):
            (d / f"img{i:03d}.raw").write_bytes(bytes([i]) * 200)
    return sorted(map(str, root.iterdir()))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        albums = make_albums(Path(tmp))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):
            idx = bag.from_sequence(albums, npartitions=5).map(index_album).flatten()
            print("indexed", idx.count().compute())


if __name__ == "__main__":
    main()
