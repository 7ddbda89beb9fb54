"""Lists the pictures of glaciers in a bucket; only this machine has a key."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import boto3
from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def pictures(glacier):
    s3 = boto3.client("s3", region_name="eu-west-1", endpoint_url="http://127.0.0.1:9")
    return s3.list_objects_v2(Bucket="glaciers-2026", Prefix=f"{glacier}/")["KeyCount"]


if __name__ == "__main__":
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    bare = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    # Machines of the cluster have no role either.
    bare |= {"AWS_EC2_METADATA_DISABLED": "true", "HOME": tempfile.mkdtemp()}
    common = ["--scheduler-file", file]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    ]
    commands += [[DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]] * 2
    started = [
        subprocess.Popen(each, env=bare, start_new_session=True) for each in commands
    ]
    os.environ["AWS_ACCESS_KEY_ID"] = "invented"
    os.environ["AWS_SECRET_ACCESS_KEY"] = "invented"
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=30)
            print(client.gather(client.map(pictures, ["aletsch", "gorner", "rhone"])))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
