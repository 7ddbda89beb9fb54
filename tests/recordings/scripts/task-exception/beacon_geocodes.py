"""Resolve the buoy tenders' position reports with a local gazetteer service."""

import json
import logging
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("beacons")

GAZETTEER = textwrap.dedent("""
    import json, pathlib, socket, sys
    server = socket.create_server(("127.0.0.1", 0))
    pathlib.Path(sys.argv[1]).write_text(str(server.getsockname()[1]))
    cells = {f"{lat}/{lon}": f"cell-{lat}{lon}" for lat in range(10) for lon in range(10)}
    while True:
        connection, _ = server.accept()
        with connection:
            query = json.loads(connection.makefile().readline())
            lat, lon = (int(float(part)) for part in query["position"].split(","))
            connection.sendall(json.dumps({"cell": cells.get(f"{lat}/{lon}")}).encode())
""")


def reports():
    found = [
        {"buoy": f"B{n:03d}", "position": f"{n % 10}.25,{n * 3 % 10}.75"}
        for n in range(60)
    ]
    found[23]["position"] = "3.25 9.75"
    return found


def resolve(report, port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as conn:
        conn.sendall(json.dumps(report).encode() + b"\n")
        answer = conn.makefile().read()
    if not answer:
        return report["buoy"], None
    return report["buoy"], json.loads(answer)["cell"]


def resolve_all(batch, port):
    return [resolve(report, port) for report in batch]


def start_gazetteer(folder):
    script, port_file = folder / "gazetteer.py", folder / "port"
    script.write_text(GAZETTEER)
    process = subprocess.Popen([sys.executable, str(script), str(port_file)])
    while not (port_file.exists() and port_file.read_text()):
        time.sleep(0.05)
    return process, int(port_file.read_text())


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        service, port = start_gazetteer(pathlib.Path(tmp))
        try:
            with (
                LocalCluster(
                    n_workers=1, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster) as client,
            ):
                todo = reports()
                batches = [todo[i : i + 12] for i in range(0, len(todo), 12)]
                cells = sum(
                    client.gather(client.map(resolve_all, batches, port=port)), []
                )
                log.info(
                    "%d of %d positions resolved",
                    sum(c is not None for _, c in cells),
                    len(cells),
                )
        finally:
            service.terminate()
            service.wait()


if __name__ == "__main__":
    main()
