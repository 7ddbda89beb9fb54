import argparse
import glob
import os

from dask.distributed import Client, LocalCluster, as_completed

from stalls import combine, margins, read_stall


def one_stall(path):
    return margins(read_stall(path))


def run(client, inbox):
    files = sorted(glob.glob(os.path.join(inbox, "stall_*.csv")))
    if not files:
        raise SystemExit("no till exports")
    futures = client.map(one_stall, files, pure=False)
    tables = []
    for fut in as_completed(futures):
        tables.append(fut.result())
        print(f"{len(tables)}/{len(files)}", flush=True)
    return combine(tables)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="margins per hour over all market stalls"
    )
    parser.add_argument("--date")
    parser.add_argument("--inbox", default="inbox")
    parser.add_argument("--out")
    args = parser.parse_args()
    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            table = run(client, args.inbox)
    os.makedirs(args.out, exist_ok=True)
    table.to_csv(os.path.join(args.out, f"margins_{args.date}.csv"))
