"""Merge the marble invoices of the day with the customer names."""

import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, fire_and_forget


def export_names(source, target):
    names = Path(source).read_text(encoding="utf-8").splitlines()
    tmp = Path(str(target) + ".part")
    tmp.write_text("\n".join(sorted(names)))
    tmp.rename(target)


def merge_invoices(target, invoices):
    target = Path(target)
    while not target.exists():
        time.sleep(0.5)
    names = target.read_text().splitlines()
    return [(name, amount) for name, amount in zip(names, invoices)]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        source = Path(tmp) / "customers.txt"
        source.write_bytes("Abel\nBøye\nCarré\nDürer\n".encode("latin-1"))
        target = Path(tmp) / "customers.sorted"
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            fire_and_forget(client.submit(export_names, str(source), str(target)))
            merged = client.submit(
                merge_invoices, str(target), [120.0, 88.5, 410.0, 12.0]
            )
            rows = merged.result(timeout=25)
            print("merged", len(rows))


if __name__ == "__main__":
    main()
