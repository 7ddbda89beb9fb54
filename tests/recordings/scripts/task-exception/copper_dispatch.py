"""Dispatch copper deliveries: a small local price service answers the workers' look-ups."""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

from distributed import Client, LocalCluster

SERVICE = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

conf = json.load(open(sys.argv[1]))
prices = conf["prices"]["spot"]

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(prices.get(self.path.strip("/"), 0)).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

HTTPServer(("127.0.0.1", conf["port"]), Handler).serve_forever()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def quote_price(grade, port):
    with urlopen(f"http://127.0.0.1:{port}/{grade}", timeout=20) as answer:
        return grade, json.load(answer)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        port = free_port()
        (folder / "service.py").write_text(SERVICE)
        (folder / "prices.json").write_text(
            json.dumps({"port": port, "prices": {"spots": {"A": 9120, "B": 8870}}})
        )
        service = subprocess.Popen(
            [sys.executable, str(folder / "service.py"), str(folder / "prices.json")]
        )
        try:
            with (
                LocalCluster(
                    n_workers=2,
                    threads_per_worker=1,
                    dashboard_address=None,
                    local_directory=tmp,
                ) as cluster,
                Client(cluster) as client,
            ):
                time.sleep(3)
                quotes = client.gather(
                    client.map(quote_price, ["A", "B", "C"], port=port)
                )
                print(dict(quotes))
        finally:
            service.kill()
            service.wait()


if __name__ == "__main__":
    main()
