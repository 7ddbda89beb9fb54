"""End-of-day quotes for the farm-produce exchange.

Fetches the closing quote of each commodity from the price gateway (one line
of text each way), converts them and writes the day's sheet.
"""

import json
import os
import signal
import socket
import socketserver
import sys
import threading
from pathlib import Path

import dask
from dask.distributed import Client

COMMODITIES = ["WHEAT", "BARLEY", "OATS", "RYE", "MAIZE", "SOYA", "RAPE", "HOPS"]
DEADLINE = int(os.environ.get("QUOTES_DEADLINE", "20"))


class Gateway(socketserver.StreamRequestHandler):
    """What the exchange's gateway does, for runs away from the office network."""

    prices = {c: 140 + 17 * i for i, c in enumerate(COMMODITIES)}
    busy_once = {"OATS"}

    def handle(self):
        name = self.rfile.readline().decode().strip()
        if name in self.busy_once:
            self.busy_once.discard(name)
            self.wfile.write(b"BUSY\n")
        elif name == "SOYA":
            # no fixing today: the gateway answers when there is one
            self.server.fixing.wait()
        else:
            self.wfile.write(f"OK {self.prices[name]}\n".encode())


class GatewayServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    fixing = threading.Event()


class GatewayBusy(RuntimeError):
    pass


def ask_gateway(address, line):
    with socket.create_connection(address) as conn:
        conn.sendall(line.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            part = conn.recv(1024)
            if not part:
                raise ConnectionError("gateway closed the connection")
            answer += part
    return answer.decode().strip()


@dask.delayed
def fetch_quote(address, commodity):
    for _ in range(3):
        answer = ask_gateway(address, commodity)
        if answer == "BUSY":
            continue
        status, price = answer.split()
        return commodity, int(price)
    raise GatewayBusy(commodity)


@dask.delayed
def to_euro(quote, rate):
    commodity, price = quote
    return commodity, round(price * rate, 2)


@dask.delayed
def make_sheet(quotes):
    return dict(quotes)


def on_deadline(signum, frame):
    raise SystemExit(f"quotes: sheet not ready after {DEADLINE} s, giving up")


def main():
    server = GatewayServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = server.server_address
    signal.signal(signal.SIGALRM, on_deadline)
    signal.alarm(DEADLINE)
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=":0") as client:
        quotes = [to_euro(fetch_quote(address, c), 0.92) for c in COMMODITIES]
        future = client.compute(make_sheet(quotes))
        print(
            "asked for",
            len(quotes),
            "quotes at",
            client.scheduler_info()["address"],
            flush=True,
        )
        try:
            sheet = future.result()
        finally:
            signal.alarm(0)
            server.shutdown()
        Path("sheet.json").write_text(json.dumps(sheet, indent=1))
        print("sheet written:", sheet)


if __name__ == "__main__":
    sys.exit(main())
