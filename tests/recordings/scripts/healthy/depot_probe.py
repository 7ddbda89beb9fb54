"""Make sure every depot has its manifest in the object store."""

import json

import boto3
from botocore.exceptions import ClientError
from dask.distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer


def connect(endpoint):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="k",
        aws_secret_access_key="s",
    )


def ensure(endpoint, depot):
    s3 = connect(endpoint)
    key = f"manifest/{depot}.json"
    try:
        s3.get_object(Bucket="depots", Key=key)
        return depot, "present"
    except ClientError as exc:
        if exc.response["Error"]["Code"] != "NoSuchKey":
            raise
        s3.put_object(
            Bucket="depots", Key=key, Body=json.dumps({"depot": depot}).encode()
        )
        return depot, "created"


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://%s:%s" % server.get_host_and_port()
    s3 = connect(endpoint)
    try:
        s3.head_bucket(Bucket="depots")
    except ClientError as exc:
        print("bucket probe:", exc)
        s3.create_bucket(Bucket="depots")
    s3.put_object(Bucket="depots", Key="manifest/2.json", Body=b"{}")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        print(dict(client.gather(client.map(ensure, [endpoint] * 6, range(6)))))
    server.stop()


if __name__ == "__main__":
    main()
