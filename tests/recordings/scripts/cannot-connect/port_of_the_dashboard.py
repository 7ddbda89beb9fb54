"""Connect to the port of the scheduler's dashboard."""

import http.server
import threading

from dask.distributed import Client


def inc(x):
    return x + 1


if __name__ == "__main__":
    # What a scheduler's dashboard is to a client: a web server.
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Client(f"tcp://127.0.0.1:{server.server_port}", timeout=12) as client:
        print(client.submit(inc, 1).result())
