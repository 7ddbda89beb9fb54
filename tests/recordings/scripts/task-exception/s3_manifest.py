import socket

import boto3
import dask.bag as db
from botocore.config import Config
from distributed import Client, LocalCluster


def endpoint():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


def head(key, url=None):
    s3 = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="minio",
        aws_secret_access_key="minio123",
        config=Config(retries={"max_attempts": 2}, connect_timeout=2),
    )
    obj = s3.head_object(Bucket="raw-orders", Key=key)
    return key, obj["ContentLength"]


def total(parts):
    return sum(size for _, size in parts)


def main():
    keys = [f"2026/02/{d:02d}/orders.parquet" for d in range(1, 13)]
    url = endpoint()
    client = Client(
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        )
    )
    try:
        manifest = db.from_sequence(keys, npartitions=4).map(head, url=url)
        print("bytes", total(manifest.compute()))
    finally:
        client.cluster.close()
        client.close()


if __name__ == "__main__":
    main()
