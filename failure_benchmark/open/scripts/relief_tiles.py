"""Measures the tiles of a map in a bucket."""

import os
import threading

import boto3
from botocore.config import Config
from dask.distributed import Client, LocalCluster
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

TILES = 60


class Store:
    """A store that answers so many requests, and refuses those that come too fast."""

    def __init__(self):
        self.app = DomainDispatcherApplication(create_backend_app)
        self.answered = 0

    def __call__(self, environ, start_response):
        self.answered += 1
        if self.answered < TILES + 25:
            return self.app(environ, start_response)
        start_response("503 Slow Down", [("Content-Type", "application/xml")])
        return [
            b"<?xml version='1.0'?><Error><Code>SlowDown</Code>"
            b"<Message>Please reduce your request rate.</Message></Error>"
        ]


def connected(endpoint):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="invented",
        aws_secret_access_key="invented",
        config=Config(retries={"max_attempts": 2}),
    )


def tile_size(number, endpoint):
    s3 = connected(endpoint)
    answer = s3.get_object(Bucket="relief-tiles", Key=f"12/{number}.png")
    return len(answer["Body"].read())


if __name__ == "__main__":
    os.environ["no_proxy"] = "127.0.0.1"
    server = make_server("127.0.0.1", 0, Store(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    s3 = connected(endpoint)
    s3.create_bucket(
        Bucket="relief-tiles", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    for number in range(TILES):
        s3.put_object(Bucket="relief-tiles", Key=f"12/{number}.png", Body=b"p" * 500)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=4, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(tile_size, range(TILES), endpoint=endpoint))))
