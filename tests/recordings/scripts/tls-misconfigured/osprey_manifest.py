"""Build the osprey cargo manifest with the site's Dask settings."""

import tempfile
from pathlib import Path

import dask
from distributed import Client, LocalCluster

SITE = """
distributed:
  comm:
    require-encryption: true
  scheduler:
    allowed-failures: 5
"""


def line(item):
    return f"{item:05d} crate"


def main():
    with tempfile.TemporaryDirectory() as tmp:
        site = Path(tmp) / "site.yaml"
        site.write_text(SITE)
        dask.config.refresh(paths=[str(site)])
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
                host="127.0.0.1",
            ) as cluster,
            Client(cluster) as client,
        ):
            lines = client.gather(client.map(line, range(100)))
            Path(tmp, "manifest.txt").write_text("\n".join(lines))
            print("lines", len(lines))


if __name__ == "__main__":
    main()
