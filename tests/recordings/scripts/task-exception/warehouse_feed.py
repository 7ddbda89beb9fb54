"""Load the week's stock files from the object store."""

import io
import os
from datetime import date, timedelta

import boto3
import pandas as pd
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

BUCKET = "stock-landing"
AUTH = dict(aws_access_key_id="k", aws_secret_access_key="s", region_name="us-east-1")


def store(endpoint):
    return boto3.client("s3", endpoint_url=endpoint, **AUTH)


def land_files(endpoint, days):
    s3 = store(endpoint)
    s3.create_bucket(Bucket=BUCKET)
    for d in days:
        frame = pd.DataFrame(
            {"sku": range(200), "pieces": [(i * d.day) % 17 for i in range(200)]}
        )
        name = (
            f"stock/{d:%Y/%m/%d}.csv"
            if d.weekday() != 6
            else f"stock/{d:%Y/%m/%d}.csv.part"
        )
        s3.put_object(Bucket=BUCKET, Key=name, Body=frame.to_csv(index=False).encode())


def pieces(endpoint, day):
    body = store(endpoint).get_object(Bucket=BUCKET, Key=f"stock/{day:%Y/%m/%d}.csv")[
        "Body"
    ]
    return day, int(pd.read_csv(io.BytesIO(body.read())).pieces.sum())


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://%s:%s" % server.get_host_and_port()
    week = [date(2026, 3, 2) + timedelta(days=i) for i in range(7)]
    land_files(endpoint, week)
    try:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = [
                client.submit(pieces, endpoint, d, key=f"pieces-{d}") for d in week
            ]
            print(dict(client.gather(futures)))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
