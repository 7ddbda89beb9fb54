"""Morning plan of propane deliveries.

Reads the fill level of the tanks of all depots through the telemetry gateway, forecasts the days that are left
and orders the lorries. The plan has to be with the hauliers in time, so the levels are awaited for a limited
time only.
"""

import logging
import socket
import subprocess
import sys
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("propane")

DEPOTS = [
    "AB-01",
    "AB-02",
    "DT-11",
    "DT-12",
    "GL-03",
    "HF-21",
    "IV-02",
    "KX-07",
    "LM-05",
    "NN-18",
    "OB-04",
    "PL-09",
]
YESTERDAY = dict.fromkeys(DEPOTS, 61.0)
PATIENCE = 14

GATEWAY = """
import socketserver, sys, threading, time


class Modem(socketserver.StreamRequestHandler):
    def handle(self):
        site = self.rfile.readline().decode().strip()
        time.sleep(0.3)
        if site == "KX-07":
            threading.Event().wait()
        elif site == "HF-21":
            self.wfile.write(b"ERR sensor\\n")
        else:
            self.wfile.write(f"OK {20 + sum(map(ord, site)) % 60}\\n".encode())


class Gateway(socketserver.ThreadingTCPServer):
    daemon_threads = True


with Gateway(("127.0.0.1", 0), Modem) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


def read_tank(depot, port):
    """Fill level in per cent, as the modem of the depot tells it."""
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"{depot}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            answer += line.recv(256)
    status, value = answer.decode().split()
    if status != "OK":
        raise ValueError(f"{depot}: modem says {value}")
    return depot, float(value)


def days_left(reading, use_per_day=4.5):
    depot, level = reading
    time.sleep(0.1)
    return depot, round(level / use_per_day, 1)


def plan(levels):
    lorries = sorted(levels, key=levels.get)[:4]
    Path("deliveries.txt").write_text("\n".join(f"{d} {levels[d]}" for d in lorries))
    log.info("lorries go to %s", ", ".join(lorries))


def main():
    Path("gateway.py").write_text(GATEWAY)
    gateway = subprocess.Popen(
        [sys.executable, "gateway.py"], stdout=subprocess.PIPE, text=True
    )
    port = int(gateway.stdout.readline())
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    levels = {}
    try:
        readings = [
            client.submit(read_tank, d, port, key=f"read_tank-{d}", pure=False)
            for d in DEPOTS
        ]
        days = [
            client.submit(days_left, r, key=f"days_left-{d}")
            for d, r in zip(DEPOTS, readings)
        ]
        depot_of = {f.key: d for f, d in zip(days, DEPOTS)}
        for future in as_completed(days, timeout=PATIENCE):
            try:
                depot, value = future.result()
            except ValueError as err:
                depot = depot_of[future.key]
                value = YESTERDAY[depot] / 4.5
                log.warning("%s; yesterday's level is used", err)
            levels[depot] = value
        plan(levels)
    except TimeoutError:
        log.error(
            "levels not complete after %d s (%d of %d)",
            PATIENCE,
            len(levels),
            len(DEPOTS),
        )
        client.cancel(days)
        sys.exit("delivery plan failed, hauliers get yesterday's plan")
    finally:
        client.close()
        cluster.close()
        gateway.terminate()
        gateway.wait()


if __name__ == "__main__":
    main()
