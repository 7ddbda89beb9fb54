"""Vouchers of a chain of spas, from the tills' JSON lines to Parquet.

The tills of every resort export the vouchers they redeemed; accounting reads
the Parquet table, whose schema is agreed (``SCHEMA``) and must not drift.
"""

import json
import os
import random
import shutil
import socket
import sys

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from dask.distributed import Client

RESORTS = (
    "Baden",
    "Celje",
    "Davos",
    "Evian",
    "Gastein",
    "Heviz",
    "Ischl",
    "Kranj",
    "Lenk",
    "Merano",
)

SCHEMA = pa.schema(
    [
        ("voucher", pa.string()),
        ("resort", pa.string()),
        ("amount", pa.float64()),
        ("guests", pa.int64()),
        ("package", pa.string()),
    ]
)


def write_exports(folder):
    rng = random.Random(77)
    os.makedirs(folder, exist_ok=True)
    for resort in RESORTS:
        with open(os.path.join(folder, resort.lower() + ".jsonl"), "w") as out:
            for i in range(1500):
                guests = rng.randint(1, 6)
                if resort == "Heviz" and i % 40 == 7:
                    # the new till of Heviz lets reception type the party
                    guests = f"{guests} + child"
                record = {
                    "voucher": f"{resort[:2].upper()}{i:06d}",
                    "resort": resort,
                    "amount": round(rng.uniform(40, 420), 2),
                    "guests": guests,
                    "package": rng.choice(["day", "weekend", "thermal", "massage"]),
                }
                out.write(json.dumps(record) + "\n")


@dask.delayed
def load_till(path):
    with open(path) as lines:
        rows = [json.loads(line) for line in lines]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def tell_accounting(text):
    """Their pager listens on a local port, when it does."""
    try:
        with socket.create_connection(("127.0.0.1", 9), timeout=1) as line:
            line.sendall(text.encode())
    except OSError as exc:
        print(f"could not page accounting: {exc}", file=sys.stderr)


class VoucherTable:
    def __init__(self, source, target):
        self.source = source
        self.target = target
        self.staging = target + ".new"

    def frames(self):
        parts = [
            load_till(os.path.join(self.source, name))
            for name in sorted(os.listdir(self.source))
        ]
        meta = pd.DataFrame(
            {
                "voucher": ["x"],
                "resort": ["x"],
                "amount": [1.0],
                "guests": [1],
                "package": ["x"],
            }
        )[:0]
        return dd.from_delayed(parts, meta=meta, verify_meta=False)

    def publish(self):
        frame = self.frames()
        frame = frame[frame.amount > 0]
        frame.to_parquet(self.staging, schema=SCHEMA, write_index=False, overwrite=True)
        if os.path.exists(self.target):
            shutil.rmtree(self.target)
        os.rename(self.staging, self.target)

    def rollback(self):
        shutil.rmtree(self.staging, ignore_errors=True)


def main():
    write_exports("tills")
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=":0") as client:
        print("dashboard at", client.dashboard_link)
        table = VoucherTable("tills", "vouchers.parquet")
        try:
            table.publish()
        except Exception:
            tell_accounting("voucher table is late")
            table.rollback()
            raise
    print("vouchers published")


if __name__ == "__main__":
    main()
