"""Hourly poll of the sluice gates of a drainage board.

Each gate has a modem on a serial line.  The job asks every gate for its position and opening; lines are pseudo
terminals here.  The low-level wait is done with the C library, because the board's first version ran on a machine
whose Python had no `select.poll`.
"""

import ctypes
import logging
import os
import struct
import threading
import time
import tty

import dask
from distributed import Client, LocalCluster, wait

log = logging.getLogger("sluices")

GATES = [
    "Northfleet",
    "Tidewell",
    "Mare Fen",
    "Osier Holt",
    "Black Drain",
    "Priory",
    "Long Reach",
    "Withy Eye",
]
POLLIN = 1
PATIENCE_MS = 25_000


class Modem:
    """One serial line.  `answers` is false for a gate whose battery is flat."""

    def __init__(self, gate, answers=True):
        self.gate, self.answers = gate, answers

    def __enter__(self):
        self.far, self.near = os.openpty()
        tty.setraw(self.near)
        self.libc = ctypes.PyDLL(None)
        return self

    def __exit__(self, *exc):
        os.close(self.far)
        os.close(self.near)

    def _far_end(self):
        time.sleep(0.3)
        os.write(self.far, f"{self.gate};{len(self.gate) * 7 % 100};OPEN\n".encode())

    def ask(self):
        os.write(self.near, b"STATUS?\r")
        if self.answers:
            far = threading.Thread(target=self._far_end)
            far.start()
            far.join()
        line = struct.pack("ihh", self.near, POLLIN, 0)  # struct pollfd
        ready = self.libc.poll(
            ctypes.create_string_buffer(line, len(line)), 1, PATIENCE_MS
        )
        if not ready:
            raise TimeoutError(f"{self.gate}: no answer within {PATIENCE_MS // 1000} s")
        return os.read(self.near, 200).decode()


def gate_status(gate):
    with Modem(gate, answers=gate != "Black Drain") as modem:
        name, opening, state = modem.ask().strip().split(";")
    return {"gate": name, "opening": int(opening), "state": state}


def poll_all(client):
    futures = [
        client.submit(gate_status, gate, key=f"gate_status-{gate.replace(' ', '_')}")
        for gate in GATES
    ]
    wait(futures, timeout=50)
    silent = [
        gate for gate, future in zip(GATES, futures) if future.status != "finished"
    ]
    for gate in silent:
        log.warning("%s: nothing yet", gate)
    # the duty engineer must not get a table with holes
    return client.gather(futures)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "6s",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        for row in poll_all(client):
            print(f"{row['gate']:<12} {row['opening']:>3} % {row['state']}")
    finally:
        log.info("hanging up")
        client.close()
        cluster.close(timeout=15)


if __name__ == "__main__":
    main()
