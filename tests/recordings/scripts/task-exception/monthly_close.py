"""Monthly close in three steps: extract, allocate, report."""

import json
import os
import subprocess
import sys
import tempfile

import pandas as pd
from dask.distributed import Client, LocalCluster

EXTRACT = """
import json, sys
rows = [{'cc': 'cc%02d' % (i % 8), 'amount': 10.5 * i} for i in range(400)]
keys = {'cc%02d' % i: 1 / 7 for i in range(7)}
with open(sys.argv[1], 'w') as out:
    json.dump(rows, out)
assert set(r['cc'] for r in rows) <= set(keys), 'cost centre cc07 has no allocation key'
with open(sys.argv[2], 'w') as out:
    json.dump(keys, out)
"""


def step_extract(root):
    paths = [os.path.join(root, "rows.json"), os.path.join(root, "keys.json")]
    done = subprocess.run(
        [sys.executable, "-c", EXTRACT, *paths], capture_output=True, text=True
    )
    with open(os.path.join(root, "extract.log"), "w") as out:
        out.write(done.stdout + done.stderr)
    print("extract finished")
    return paths


def allocate(rows_path, keys_path, centre):
    rows = pd.read_json(rows_path)
    with open(keys_path) as handle:
        keys = json.load(handle)
    amount = rows.loc[rows.cc == centre, "amount"].sum()
    return {target: amount * share for target, share in keys.items()}


def main():
    with tempfile.TemporaryDirectory() as root:
        rows, keys = step_extract(root)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            parts = [
                client.submit(allocate, rows, keys, f"cc{i:02d}") for i in range(8)
            ]
            table = pd.DataFrame(client.gather(parts)).sum()
            print(table.round(2).to_string())


if __name__ == "__main__":
    main()
