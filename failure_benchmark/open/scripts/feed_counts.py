"""Counts the entries of feeds that a service in the same network offers."""

import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import requests
from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


class Feeds(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"entries": 12}')

    def log_message(self, *words):
        pass


def entries(feed, service):
    answer = requests.get(f"{service}/feeds/{feed}", timeout=10)
    answer.raise_for_status()
    return answer.json()["entries"]


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Feeds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    service = f"http://127.0.0.1:{server.server_port}"
    print(entries("news", service))
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    # Machines of the cluster have the settings of the office.
    office = {
        "http_proxy": "http://127.0.0.1:13128",
        "https_proxy": "http://127.0.0.1:13128",
        "no_proxy": "172.20.0.0/16",
    }
    common = ["--scheduler-file", file]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    ]
    commands += [[DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]] * 2
    started = [
        subprocess.Popen(each, env={**os.environ, **office}, start_new_session=True)
        for each in commands
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=40)
            counts = client.map(entries, ["news", "sport", "music"], service=service)
            print(sum(client.gather(counts)))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
