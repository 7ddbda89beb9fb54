"""Load model weights from a bucket that this role may not read."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
from botocore.config import Config
from dask.distributed import Client, LocalCluster

DENIED = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>AccessDenied</Code><Message>User: arn:aws:iam::123456789012:role/batch is not
authorized to perform: s3:GetObject on resource: "arn:aws:s3:::models/weights/3.bin"
</Message><RequestId>656c76696e6727</RequestId></Error>"""


class Storage(BaseHTTPRequestHandler):
    def do_GET(self):
        if "weights/3.bin" in self.path:
            self.answer(403, DENIED)
        else:
            self.answer(200, bytes(64))

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def load_weights(endpoint, layer):
    s3 = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )
    return len(
        s3.get_object(Bucket="models", Key=f"weights/{layer}.bin")["Body"].read()
    )


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster:
        client = Client(cluster)
        sizes = [client.submit(load_weights, endpoint, layer) for layer in range(6)]
        print(sum(client.gather(sizes)))
