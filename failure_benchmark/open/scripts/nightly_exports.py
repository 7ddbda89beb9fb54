"""Reads the exports of shops as they arrive in a bucket in the night."""

import os

import boto3
import s3fs
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

KEYS = {
    "aws_access_key_id": "invented",
    "aws_secret_access_key": "invented",
    "region_name": "eu-west-1",
}


def opened(endpoint):
    return s3fs.S3FileSystem(
        key="invented", secret="invented", client_kwargs={"endpoint_url": endpoint}
    )


def shops(endpoint):
    return [path.rsplit("/", 1)[1] for path in opened(endpoint).ls("exports/2026-05-04")]


def turnover(shop, endpoint):
    with opened(endpoint).open(f"exports/2026-05-04/{shop}") as file:
        return int(file.read())


if __name__ == "__main__":
    os.environ["no_proxy"] = "127.0.0.1"
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    s3 = boto3.client("s3", endpoint_url=endpoint, **KEYS)
    s3.create_bucket(
        Bucket="exports", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    s3.put_object(Bucket="exports", Key="2026-05-04/oslo.txt", Body=b"1200")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        early = client.submit(shops, endpoint).result()
        print(client.gather(client.map(turnover, early, endpoint=endpoint)))
        # The others deliver later.
        for shop in ("bergen.txt", "alta.txt"):
            s3.put_object(Bucket="exports", Key=f"2026-05-04/{shop}", Body=b"900")
        late = client.map(turnover, ["bergen.txt", "alta.txt"], endpoint=endpoint)
        print(sum(client.gather(late)))
    server.stop()
