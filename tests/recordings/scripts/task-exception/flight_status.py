"""Flight status of the partner airlines, one request per airline."""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dask.distributed import Client, LocalCluster

AIRLINES = ["AA1", "BB2", "CC3", "DD4", "EE5", "FF6"]


class Partner(BaseHTTPRequestHandler):
    def do_GET(self):
        airline = self.path.strip("/")
        if airline == "DD4":
            self.connection.close()
            return
        body = json.dumps(
            [{"flight": f"{airline}-{i}", "delay": (i * 7) % 40} for i in range(30)]
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass


def status(port, airline):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    link.request("GET", f"/{airline}")
    return json.loads(link.getresponse().read())


def delays(flights):
    return max(f["delay"] for f in flights)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Partner)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        jobs = {
            a: client.submit(
                delays, client.submit(status, server.server_port, a, retries=2)
            )
            for a in AIRLINES
        }
        for airline, job in jobs.items():
            try:
                print(airline, job.result())
            except Exception:
                failed.append(airline)
    server.shutdown()
    if failed:
        raise SystemExit(f"{len(failed)} airline(s) failed")


if __name__ == "__main__":
    main()
