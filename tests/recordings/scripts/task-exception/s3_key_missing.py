"""Read daily exports from S3; here from a local server that speaks S3."""

import os
import re
import subprocess
import sys

import boto3
from dask.distributed import Client

os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
os.environ |= {"AWS_DEFAULT_REGION": "eu-central-1"}


def serve():
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", "0", "-H", "127.0.0.1"],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in server.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return server, found[0]
    raise RuntimeError("no S3 server")


def rows(endpoint, day):
    s3 = boto3.client("s3", endpoint_url=endpoint)
    answer = s3.get_object(Bucket="exports", Key=f"orders/2026-11-{day:02}.csv")
    return answer["Body"].read().count(b"\n")


if __name__ == "__main__":
    server, endpoint = serve()
    try:
        s3 = boto3.client("s3", endpoint_url=endpoint)
        where = {"LocationConstraint": "eu-central-1"}
        s3.create_bucket(Bucket="exports", CreateBucketConfiguration=where)
        for day in range(1, 21):
            if day != 15:
                body = b"1,2\n" * day
                s3.put_object(
                    Bucket="exports", Key=f"orders/2026-11-{day:02}.csv", Body=body
                )
        client = Client(n_workers=2, threads_per_worker=1)
        counted = client.map(rows, [endpoint] * 20, range(1, 21))
        print(sum(client.gather(counted)))
    finally:
        server.terminate()
        server.wait()
