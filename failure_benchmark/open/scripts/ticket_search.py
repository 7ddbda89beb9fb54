"""Searches tickets in an archive with a client that is made once."""

import boto3
from dask.distributed import Client, LocalCluster


def tickets(archive, year):
    found = archive.list_objects_v2(Bucket="tickets", Prefix=f"{year}/")
    return found["KeyCount"]


if __name__ == "__main__":
    archive = boto3.client(
        "s3",
        region_name="eu-west-1",
        endpoint_url="http://127.0.0.1:9",
        aws_access_key_id="invented",
        aws_secret_access_key="invented",
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        counts = [client.submit(tickets, archive, year) for year in (2024, 2025)]
        print(sum(client.gather(counts)))
