"""Publish daily aggregates to the data lake."""

import io
import os

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "6"

import boto3
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

POLICY = """{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
 "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}]}"""


def connect(service, endpoint, key="admin", secret="admin"):
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def provision(endpoint):
    connect("s3", endpoint).create_bucket(Bucket="lake-curated")
    connect("s3", endpoint).put_object(
        Bucket="lake-curated", Key="raw/scale.txt", Body=b"2.5"
    )
    iam = connect("iam", endpoint)
    iam.create_user(UserName="etl")
    iam.put_user_policy(UserName="etl", PolicyName="lake", PolicyDocument=POLICY)
    access = iam.create_access_key(UserName="etl")["AccessKey"]
    iam.list_users()
    return access["AccessKeyId"], access["SecretAccessKey"]


def aggregate(endpoint, creds, day):
    s3 = connect("s3", endpoint, *creds)
    scale = float(
        s3.get_object(Bucket="lake-curated", Key="raw/scale.txt")["Body"].read()
    )
    rng = np.random.default_rng(day)
    frame = (
        pd.DataFrame({"v": rng.random(5000) * scale, "g": rng.integers(0, 9, 5000)})
        .groupby("g")
        .v.sum()
    )
    return day, frame


def publish(endpoint, creds, item):
    day, frame = item
    buf = io.BytesIO()
    frame.to_frame().to_parquet(buf)
    connect("s3", endpoint, *creds).put_object(
        Bucket="lake-curated", Key=f"curated/{day}.parquet", Body=buf.getvalue()
    )
    return day


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://%s:%s" % server.get_host_and_port()
    try:
        creds = provision(endpoint)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            parts = [client.submit(aggregate, endpoint, creds, d) for d in range(1, 6)]
            done = [
                client.submit(publish, endpoint, creds, p, retries=1) for p in parts
            ]
            print("published", client.gather(done))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
