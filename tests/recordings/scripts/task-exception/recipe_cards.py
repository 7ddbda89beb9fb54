import csv
import tempfile
from pathlib import Path

import dask.dataframe as dd
from dask.distributed import Client


def export_cards(path, cards=400):
    """The kitchen's export: number, title, minutes, and the method as it was typed."""
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_MINIMAL)
        writer.writerow(["card", "title", "minutes", "method"])
        for card in range(cards):
            method = "".join(f"step {k}: stir, wait, taste\n" for k in range(40))
            writer.writerow([card, f"soup no. {card}", 20 + card % 50, method])


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cards.csv"
        export_cards(path)
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            cards = dd.read_csv(
                str(path),
                blocksize="64KiB",
                sample=40_000,
                dtype={"card": "int64", "minutes": "int64"},
            )
            print("blocks:", cards.npartitions)
            print("mean minutes: %.1f" % cards["minutes"].mean().compute())


if __name__ == "__main__":
    main()
