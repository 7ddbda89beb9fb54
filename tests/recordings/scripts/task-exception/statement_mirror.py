"""Mirror account statements of the month into the object store of the region, one object per branch."""

import io
import logging
import os
import time

import boto3
import numpy as np
import pandas as pd
from botocore.exceptions import ClientError
from dask.distributed import Client
from moto.server import ThreadedMotoServer

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
logging.getLogger("botocore").setLevel(logging.WARNING)
logging.getLogger("werkzeug").setLevel(logging.ERROR)
log = logging.getLogger("mirror")

os.environ.update(
    AWS_ACCESS_KEY_ID="local",
    AWS_SECRET_ACCESS_KEY="local",
    AWS_DEFAULT_REGION="eu-central-1",
)
BUCKET = "statements-2026-10"


def store(endpoint):
    return boto3.client("s3", endpoint_url=endpoint, region_name="eu-central-1")


def ensure_bucket(endpoint):
    try:
        store(endpoint).create_bucket(Bucket=BUCKET)
    except ClientError as exc:
        log.info(
            "bucket %s is there already (%s)", BUCKET, exc.response["Error"]["Code"]
        )


def statements_of(branch):
    rng = np.random.default_rng(branch)
    time.sleep(0.5)
    return pd.DataFrame(
        {
            "account": rng.integers(10**6, 10**7, 3000),
            "balance": rng.normal(900, 400, 3000).round(2),
        }
    )


def mirror_branch(frame, branch, endpoint):
    body = io.BytesIO()
    frame.to_parquet(body)
    answer = store(endpoint).put_object(
        Bucket=BUCKET, Key=f"branch={branch}/statements.parquet", Body=body.getvalue()
    )
    return branch, answer["ETag"], body.tell()


class Mirror:
    def __init__(self, endpoint, branches):
        self.endpoint = endpoint
        self.branches = branches

    def run(self, client):
        ensure_bucket(self.endpoint)
        frames = client.map(statements_of, self.branches)
        uploads = [
            client.submit(mirror_branch, f, b, self.endpoint)
            for f, b in zip(frames, self.branches)
        ]
        written = 0
        for branch, etag, size in client.gather(uploads):
            log.info("branch %s: %s, %d bytes", branch, etag, size)
            written += size
        return written


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as client:
            log.info(
                "%d bytes mirrored",
                Mirror(f"http://{host}:{port}", list(range(101, 113))).run(client),
            )
    finally:
        server.stop()


if __name__ == "__main__":
    main()
