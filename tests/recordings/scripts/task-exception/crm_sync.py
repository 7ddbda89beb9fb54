"""Pull customer pages from the CRM and count open tickets."""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dask.distributed import Client, LocalCluster

ISSUED = {}
LIFETIME = 4.0


class Crm(BaseHTTPRequestHandler):
    def reply(self, status, payload):
        body = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        token = f"tok-{len(ISSUED)}"
        ISSUED[token] = time.time()
        self.reply(200, {"access_token": token, "expires_in": LIFETIME})

    def do_GET(self):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if time.time() - ISSUED.get(token, 0) > LIFETIME:
            return self.reply(401, {"error": "token_expired"})
        page = int(self.path.rsplit("/", 1)[1])
        self.reply(200, [{"customer": page * 50 + i, "open": i % 3} for i in range(50)])

    def log_message(self, *args):
        pass


def login(base):
    request = urllib.request.Request(base + "/token", method="POST")
    return json.load(urllib.request.urlopen(request, timeout=5))["access_token"]


def page(base, token, number):
    request = urllib.request.Request(
        f"{base}/customers/{number}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        rows = json.load(answer)
    time.sleep(0.25)
    return sum(row["open"] for row in rows)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Crm)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        token = login(base)
        pages = [client.submit(page, base, token, n) for n in range(60)]
        print("open tickets", sum(client.gather(pages)))
    server.shutdown()


if __name__ == "__main__":
    main()
