import logging
import os

import boto3
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

BUCKET = "claims-archive"
YEARS = range(2015, 2027)


class RestoreError(RuntimeError):
    pass


def s3(endpoint):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )


def fill(endpoint):
    store = s3(endpoint)
    store.create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    for year in YEARS:
        name = (
            f"claims/{year}/all.csv" if year != 2019 else f"claims/{year}/all.csv.tmp"
        )
        body = "id,amount\n" + "".join(
            f"{year}{k:04d},{(k * 31) % 900}\n" for k in range(300)
        )
        store.put_object(Bucket=BUCKET, Key=name, Body=body.encode())


def restore(endpoint, year):
    body = (
        s3(endpoint)
        .get_object(Bucket=BUCKET, Key=f"claims/{year}/all.csv")["Body"]
        .read()
        .decode()
    )
    return year, sum(int(line.split(",")[1]) for line in body.splitlines()[1:])


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    try:
        fill(endpoint)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = [
                client.submit(restore, endpoint, year, key=f"restore-{year}", retries=1)
                for year in YEARS
            ]
            try:
                totals = dict(client.gather(futures))
            except Exception as exc:
                raise RestoreError(f"restore of {len(futures)} years failed") from exc
            print(totals)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
