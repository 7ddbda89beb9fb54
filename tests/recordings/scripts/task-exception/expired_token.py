"""Fetch invoices from a service whose token expires."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client


class Service(BaseHTTPRequestHandler):
    served = 0

    def do_GET(self):
        Service.served += 1
        self.send_response(
            200 if Service.served < 10 else 401,
            None if Service.served < 10 else "Token expired",
        )
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


def fetch_invoice(url, n):
    answer = requests.get(f"{url}/invoices/{n}", timeout=10)
    answer.raise_for_status()
    return answer.json()


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        print(client.gather([client.submit(fetch_invoice, url, n) for n in range(40)]))
