"""Daily means of the river gauges from the object store."""

import io
import os

os.environ.update(
    AWS_ACCESS_KEY_ID="gauge",
    AWS_SECRET_ACCESS_KEY="gauge",
    AWS_DEFAULT_REGION="eu-central-1",
)

import boto3
import dask
import pandas as pd
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

GAUGES = ["maxau", "worms", "mainz", "kaub", "koeln"]


def s3(url):
    return boto3.client("s3", endpoint_url=url)


@dask.delayed
def daily_mean(url, gauge):
    body = (
        s3(url).get_object(Bucket="gauges", Key=f"2026/11/{gauge}.csv")["Body"].read()
    )
    return gauge, pd.read_csv(io.BytesIO(body))["level_cm"].mean()


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://%s:%d" % server.get_host_and_port()
    try:
        client3 = s3(url)
        client3.create_bucket(
            Bucket="gauges",
            CreateBucketConfiguration={"LocationConstraint": "eu-central-1"},
        )
        for g in GAUGES:
            folder = "2026/10" if g == "kaub" else "2026/11"
            client3.put_object(
                Bucket="gauges",
                Key=f"{folder}/{g}.csv",
                Body=b"level_cm\n210\n220\n231\n",
            )
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            for gauge, mean in dask.compute(*[daily_mean(url, g) for g in GAUGES]):
                print(gauge, mean)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
