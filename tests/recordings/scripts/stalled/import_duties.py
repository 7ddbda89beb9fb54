"""Duties on tomorrow's arrivals: ask the tariff desk for the rate of every heading and work out what is owed.

The tariff desk is a small line protocol over TCP.  In production it is the customs agent's machine; here a stand-in is
started beside the job.
"""

import contextlib
import socket
import subprocess
import sys
import textwrap
import time

from dask import bag as db
from distributed import Client, LocalCluster, as_completed

DESK = textwrap.dedent(
    """
    import socketserver, sys, threading, time

    RATES = {"0805": 12.8, "2204": 32.0, "6109": 12.0, "6403": 8.0, "8471": 0.0, "8703": 10.0, "9403": 2.7}

    class Heading(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                heading = line.decode().strip()
                if heading.startswith("RENEW"):
                    self.wfile.write(b"OK\\n")
                elif heading in RATES:
                    time.sleep(0.02)
                    self.wfile.write(f"{RATES[heading]}\\n".encode())
                elif heading in ("2402",):        # excise goods go to a clerk
                    time.sleep(3600)
                else:
                    self.wfile.write(b"ERR unknown heading\\n")

    class Desk(socketserver.ThreadingTCPServer):
        daemon_threads = True

    desk = Desk(("127.0.0.1", 0), Heading)
    threading.Thread(target=desk.serve_forever, daemon=True).start()
    print(desk.server_address[1], flush=True)
    sys.stdin.read()
    """
)

ARRIVALS = [
    ("MSKU-11", "0805", 18_400.0),
    ("MSKU-12", "6109", 96_000.0),
    ("TGHU-02", "8471", 310_000.0),
    ("TGHU-07", "9403", 42_500.0),
    ("OOLU-31", "2204", 77_000.0),
    ("OOLU-32", "6403", 51_200.0),
    ("HLXU-90", "8703", 640_000.0),
    ("HLXU-91", "2402", 120_000.0),
    ("CMAU-44", "9999", 1_000.0),
    ("CMAU-45", "0805", 22_100.0),
    ("CMAU-46", "2402", 64_000.0),
    ("CMAU-47", "6109", 8_700.0),
]


@contextlib.contextmanager
def tariff_desk():
    desk = subprocess.Popen(
        [sys.executable, "-c", DESK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield int(desk.stdout.readline())
    finally:
        desk.stdin.close()
        desk.wait(5)


class TariffClient:
    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.connection.settimeout(None)
        self.lines = self.connection.makefile("rw")

    def rate(self, heading):
        self.lines.write(heading + "\n")
        self.lines.flush()
        answer = self.lines.readline().strip()
        if answer.startswith("ERR"):
            raise LookupError(f"{heading}: {answer[4:]}")
        return float(answer)

    def close(self):
        self.lines.close()
        self.connection.close()


def assess_duty(arrival, port):
    container, heading, value = arrival
    desk = TariffClient(port)
    try:
        rate = desk.rate(heading)
    except LookupError as e:
        return container, None, str(e)
    finally:
        desk.close()
    return container, round(value * rate / 100, 2), None


def main():
    with (
        tariff_desk() as port,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        total = db.from_sequence(ARRIVALS, npartitions=2).pluck(2).sum().compute()
        print(f"{len(ARRIVALS)} containers, declared value {total:.0f}", flush=True)
        started = time.monotonic()
        futures = client.map(assess_duty, ARRIVALS, port=port, pure=False)
        owed, open_cases = 0.0, []
        for _, (container, duty, problem) in as_completed(futures, with_results=True):
            if problem:
                open_cases.append((container, problem))
                print(f"{container}: to be assessed by hand ({problem})", flush=True)
            else:
                owed += duty
                print(f"{container}: {duty:.2f}", flush=True)
        print(
            f"owed {owed:.2f}, {len(open_cases)} open, {time.monotonic() - started:.1f} s"
        )


if __name__ == "__main__":
    main()
