"""Collects the pilotage tariffs of all ports of call for next month's voyage estimates.

Every port authority has a small web service of its own.  This test bed starts one stand-in for each of them in threads and
then runs the collection as it runs in the office: a bag of ports, one request each, a table at the end.
"""

import argparse
import json
import socket
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from distributed import Client, as_completed

PORTS = [
    "aarhus",
    "bremen",
    "cuxhaven",
    "dover",
    "esbjerg",
    "felixstowe",
    "gdynia",
    "hanko",
    "immingham",
    "skagen",
]
RATES = {name: 310 + 17 * i for i, name in enumerate(PORTS)}


class Authority(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        if name == "hanko":  # closed for the winter
            self.send_error(404)
            return
        body = json.dumps({"port": name, "per_metre": RATES[name] / 100}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve_modern():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Authority)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def serve_old_gateway():
    """The oldest of the authorities: a gateway before a mainframe that is under maintenance."""
    listener = socket.create_server(("127.0.0.1", 0))
    held = []

    def accept():
        while True:
            held.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def fetch_tariff(name, url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url) as response:
            return json.load(response)
    except urllib.error.HTTPError as exc:
        if exc.code == 404:
            return {"port": name, "per_metre": None}
        raise RuntimeError(f"{name}: {exc.code}") from None


def estimate(tariff, length):
    if tariff["per_metre"] is None:
        return tariff["port"], None
    return tariff["port"], round(tariff["per_metre"] * length, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--length", type=float, default=182.5, help="length over all, metres"
    )
    options = parser.parse_args()

    modern, old = serve_modern(), serve_old_gateway()
    urls = {
        name: f"http://127.0.0.1:{old if name == 'skagen' else modern}/tariff/{name}"
        for name in PORTS
    }

    with Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
        tariffs = [
            client.submit(fetch_tariff, name, url, key=f"fetch_tariff-{name}")
            for name, url in urls.items()
        ]
        costs = [client.submit(estimate, tariff, options.length) for tariff in tariffs]
        table = {}
        for future in as_completed(costs):
            port, cost = future.result()
            table[port] = cost
            print(
                f"{len(table):2d}/{len(PORTS)} {port:12s} {cost if cost is not None else 'closed'}",
                flush=True,
            )
        print("total", sum(cost for cost in table.values() if cost))


if __name__ == "__main__":
    main()
