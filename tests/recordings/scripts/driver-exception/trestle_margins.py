"""Weekly margins of a furniture chain, by store and sales channel.

Files that cannot be read are left out (head office asks the store again);
the mail to the managers shows the share of each channel.
"""

import os
import sys
from pathlib import Path

import dask
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, as_completed

STORES = ["leeds", "york", "hull", "ripon", "selby", "whitby"]
CHANNELS = ["counter", "phone"]


def prepare(folder):
    rng = np.random.default_rng(5)
    folder.mkdir(exist_ok=True)
    for store in STORES:
        frame = pd.DataFrame(
            {
                "store": store,
                "channel": rng.choice(CHANNELS, 900),
                "sales": rng.uniform(10, 400, 900).round(2),
                "cost": rng.uniform(5, 300, 900).round(2),
            }
        )
        frame.to_parquet(folder / f"{store}.parquet")
    (folder / "ripon.parquet").write_bytes(b"<html>502 Bad Gateway</html>")


def probe(path):
    """Rows of a file; raises if it is none."""
    return len(pd.read_parquet(path))


def readable(client, paths):
    futures = {client.submit(probe, path): path for path in paths}
    good = []
    for future in as_completed(futures):
        path = futures[future]
        try:
            rows = future.result()
        except Exception as error:
            print(
                f"left out {os.path.basename(path)}: {type(error).__name__}", flush=True
            )
        else:
            print(f"{os.path.basename(path)}: {rows} rows", flush=True)
            good.append(path)
    return sorted(good)


def margins(paths):
    sales = dd.read_parquet(paths)
    sales["margin"] = sales["sales"] - sales["cost"]
    return sales.groupby(["store", "channel"])["margin"].sum()


def mail_text(table):
    lines = ["store      counter   phone  online"]
    for store, row in table.iterrows():
        whole = row["counter"] + row["phone"] + row["online"]
        shares = [100 * row[c] / whole for c in ("counter", "phone", "online")]
        lines.append(f"{store:<10}" + " ".join(f"{s:7.1f}" for s in shares))
    return "\n".join(lines)


def longest_names(paths):
    bag = db.from_sequence(paths, npartitions=3).map(os.path.basename).map(len)
    return bag.max()


def main(argv):
    folder = Path(argv[1] if len(argv) > 1 else "week48")
    prepare(folder)
    client = Client(n_workers=2, threads_per_worker=2, dashboard_address=None)
    mail = None
    try:
        paths = readable(client, [str(p) for p in sorted(folder.glob("*.parquet"))])
        sums, width = dask.compute(margins(paths), longest_names(paths))
        print(f"{len(sums)} sums, names up to {width}", flush=True)
        table = sums.unstack("channel")
        mail = mail_text(table)
        Path("mail.txt").write_text(mail)
    finally:
        if mail is None:
            print("no mail is sent", file=sys.stderr)
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
