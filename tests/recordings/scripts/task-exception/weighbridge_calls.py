"""Collects last night's weighings from the bridges' web service and adds them up."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client, LocalCluster

release = threading.Event()


class Bridges(BaseHTTPRequestHandler):
    """Stands in for the bridges' service of the plant."""

    def do_GET(self):
        bridge = int(self.path.rsplit("/", 1)[1])
        if bridge == 13:
            release.wait(180)
        body = json.dumps(
            {"bridge": bridge, "tonnes": [bridge + i * 0.5 for i in range(20)]}
        ).encode()
        try:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *args):
        pass


def fetch_bridge(base, bridge):
    answer = requests.get(f"{base}/bridges/{bridge}", timeout=6)
    answer.raise_for_status()
    time.sleep(0.1)
    return answer.json()


def add_up(answers):
    return {answer["bridge"]: sum(answer["tonnes"]) for answer in answers}


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bridges)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                answers = [
                    client.submit(
                        fetch_bridge, base, bridge, key=f"fetch_bridge-{bridge:02d}"
                    )
                    for bridge in range(20)
                ]
                totals = client.submit(add_up, answers).result()
                print("bridges:", len(totals), "tonnes:", sum(totals.values()))
    finally:
        release.set()
        server.shutdown()


if __name__ == "__main__":
    main()
