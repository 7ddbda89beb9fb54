"""Search the photographic plates for comets; a catalogue service runs beside the cluster."""

import contextlib
import logging
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

from dask.distributed import Client

log = logging.getLogger("plates")

CATALOGUE = textwrap.dedent("""
    import pathlib, socketserver, sys

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            plate = int(self.rfile.readline())
            self.wfile.write(b"%d" % (plate * 7 % 5))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        pathlib.Path(sys.argv[1]).write_text(str(server.server_address[1]))
        server.serve_forever()
""")


def known_comets(plate, port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as conn:
        conn.sendall(f"{plate}\n".encode())
        return int(conn.makefile().read())


def search(plate, port):
    candidates = (plate * 13) % 6
    time.sleep(0.1)
    return plate, max(candidates - known_comets(plate, port), 0)


def wait_for(path, seconds=10):
    until = time.monotonic() + seconds
    while not (path.exists() and path.read_text()):
        if time.monotonic() > until:
            raise RuntimeError("catalogue did not start")
        time.sleep(0.05)
    return int(path.read_text())


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp, contextlib.ExitStack() as stack:
        folder = pathlib.Path(tmp)

        def spawn(*args):
            process = subprocess.Popen([sys.executable, *args])
            stack.callback(process.wait, 15)
            stack.callback(process.terminate)

        (folder / "catalogue.py").write_text(CATALOGUE)
        spawn(str(folder / "catalogue.py"), str(folder / "port"))
        file = str(folder / "cluster.json")
        spawn(
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            file,
        )
        spawn(
            "-m",
            "dask",
            "worker",
            "--scheduler-file",
            file,
            "--nthreads",
            "2",
            "--no-dashboard",
            "--local-directory",
            tmp,
        )
        port = wait_for(folder / "port")
        with Client(scheduler_file=file, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            found = dict(client.gather(client.map(search, range(40), port=port)))
            print(
                sum(found.values()),
                "candidates on",
                sum(v > 0 for v in found.values()),
                "plates",
            )


if __name__ == "__main__":
    main()
