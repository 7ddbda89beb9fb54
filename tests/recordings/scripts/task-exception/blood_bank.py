"""Donations per blood group, from the night's JSON lines."""

import json
import os
import tempfile

import dask.bag as db
from dask.distributed import Client, LocalCluster


def write_donations(folder):
    for site in range(5):
        with open(os.path.join(folder, f"site{site}.jsonl"), "w") as f:
            for i in range(400):
                row = {
                    "unit": f"{site}-{i:04d}",
                    "group": "AB0"[i % 3],
                    "rhesus": "+-"[i % 7 == 0],
                    "ml": 450,
                }
                if site == 3 and i == 217:
                    row["rh"] = row.pop("rhesus")
                f.write(json.dumps(row) + "\n")


def blood_group(row):
    return row["group"] + row["rhesus"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_donations(folder)
        with LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster:
            with Client(cluster):
                lines = db.read_text(os.path.join(folder, "site*.jsonl")).map(
                    json.loads
                )
                print(sorted(lines.map(blood_group).frequencies().compute()))


if __name__ == "__main__":
    main()
