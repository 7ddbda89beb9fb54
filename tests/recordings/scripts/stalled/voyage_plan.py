"""Plan voyages with the port agency's berth service."""

import asyncio
import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dask.distributed import Client


class BerthService(BaseHTTPRequestHandler):
    def do_GET(self):
        port = self.path.rsplit("/", 1)[-1]
        if port == "SGSIN":
            time.sleep(25)
        body = json.dumps({"port": port, "berths": len(port)}).encode()
        self.send_response(200)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *args):
        pass


def berths(base, port):
    with urllib.request.urlopen(f"{base}/berths/{port}") as resp:
        return json.load(resp)


async def plan(base):
    async with Client(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=None
    ) as client:
        ports = ["NLRTM", "EGPSD", "SGSIN", "CNSHA", "USLGB"]
        futures = [client.submit(berths, base, p, key=f"berths-{p}") for p in ports]
        return await asyncio.wait_for(client.gather(futures), 9)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), BerthService)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        print(asyncio.run(plan(f"http://127.0.0.1:{server.server_port}")))
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
