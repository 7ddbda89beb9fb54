"""Pull station observations from the provider with retries."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client, LocalCluster, as_completed


class Provider(BaseHTTPRequestHandler):
    hits = {}

    def do_GET(self):
        station = self.path.rsplit("/", 1)[-1]
        n = Provider.hits[station] = Provider.hits.get(station, 0) + 1
        if station == "72503":
            code, body = 429, {"error": "daily quota of 500 calls used up"}
        elif station in ("03772", "07149") and n < 3:
            code, body = 503, {"error": "try again"}
        else:
            code, body = 200, {"station": station, "temp": 11.5 + n}
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def observe(base, station):
    reply = requests.get(f"{base}/obs/{station}", timeout=5)
    reply.raise_for_status()
    return reply.json()["temp"]


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    stations = ["03772", "07149", "10384", "72503", "47662", "16239"]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {
            client.submit(observe, base, s, retries=3, key=f"obs-{s}"): s
            for s in stations
        }
        temps = {}
        for future in as_completed(futures):
            temps[futures[future]] = future.result()
        print(temps)
    server.shutdown()


if __name__ == "__main__":
    main()
