import json
import os
import socket
import tempfile

from distributed import Client

SHARED = tempfile.mkdtemp(prefix="shared-")


def previous_night():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    info = {
        "type": "Scheduler",
        "id": "Scheduler-b1f0",
        "address": f"tcp://127.0.0.1:{port}",
        "services": {},
        "workers": {},
    }
    path = os.path.join(SHARED, "scheduler.json")
    with open(path, "w") as fh:
        json.dump(info, fh)
    return path


def demand(sku):
    return sku, (sku * 37) % 11


def report(client):
    rows = client.gather(client.map(demand, range(200)))
    top = max(rows, key=lambda r: r[1])
    print("top sku", top)


if __name__ == "__main__":
    sched = previous_night()
    print("joining the shared cluster", sched)
    client = Client(scheduler_file=sched, timeout="6s")
    try:
        report(client)
    finally:
        client.close()
