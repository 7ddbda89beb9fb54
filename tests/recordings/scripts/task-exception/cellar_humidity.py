"""Asks the cellar gateway for the humidity of each vault and prints the means."""

import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import dask
from dask.distributed import Client

GATEWAY = """
import http.server, json, sys
class Gateway(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        vault = int(self.path.rsplit("/", 1)[1])
        body = json.dumps([40 + (vault * k) % 17 for k in range(200)]).encode()
        for n, value in enumerate(json.loads(body)):
            print("gateway vault=%03d sample=%04d humidity=%02d checked" % (vault, n, value), flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@dask.delayed
def humidity(port, vault):
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port}/vault/{vault}", timeout=10
    ) as answer:
        values = eval(answer.read())
    return sum(values) / len(values)


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "gateway.py"
        program.write_text(GATEWAY)
        gateway = subprocess.Popen(
            [sys.executable, str(program)], stdout=subprocess.PIPE, text=True
        )
        port = int(gateway.stdout.readline())
        print("gateway listens on", port)
        try:
            with Client(n_workers=1, threads_per_worker=1, dashboard_address=None):
                means = dask.compute(*[humidity(port, v) for v in range(24)])
                print("driest vault:", min(means))
        finally:
            gateway.kill()
            gateway.wait()


if __name__ == "__main__":
    main()
