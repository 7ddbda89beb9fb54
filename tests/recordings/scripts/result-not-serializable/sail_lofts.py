"""Checks the drawings of the sail lofts: size and running digest of each, to be continued with the next delivery."""

import hashlib
import tempfile
from pathlib import Path

from dask.distributed import Client


def fingerprint(path):
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as drawing:
        while chunk := drawing.read(1 << 16):
            digest.update(chunk)
            size += len(chunk)
    return {"name": Path(path).stem, "size": size, "digest": digest}


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for loft in ("north", "quay", "island"):
            path = Path(folder) / f"{loft}.dxf"
            path.write_bytes(loft.encode() * 40_000)
            paths.append(str(path))
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as client:
            for drawing in client.gather(client.map(fingerprint, paths)):
                print(
                    drawing["name"], drawing["size"], drawing["digest"].hexdigest()[:12]
                )


if __name__ == "__main__":
    main()
