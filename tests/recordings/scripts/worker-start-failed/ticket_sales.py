import http.server
import threading

import dask.bag as db
from dask.distributed import Client, LocalCluster

EVENTS = [
    {"show": f"show-{i % 9}", "seats": 1 + i % 6, "price": 20 + i % 45}
    for i in range(9000)
]


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")


def start_health():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def revenue(event):
    return event["show"], event["seats"] * event["price"]


def main():
    health = start_health()
    port = health.server_port
    print("health endpoint on", port)
    try:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            scheduler_port=port,
            dashboard_address=None,
        )
        client = Client(cluster)
        bag = db.from_sequence(EVENTS, npartitions=6).map(revenue)
        totals = bag.foldby(
            lambda r: r[0], lambda acc, r: acc + r[1], 0, lambda a, b: a + b, 0
        )
        for show, amount in sorted(totals.compute()):
            print(show, amount)
    finally:
        client.close()
        cluster.close()
        health.shutdown()


if __name__ == "__main__":
    main()
