"""Push the pharmacies' stock lists to the stock service, then read back the totals."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client, LocalCluster

STOCK = {}


class Service(BaseHTTPRequestHandler):
    def answer(self, status, doc):
        body = json.dumps(doc).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        name = self.path.rsplit("/", 1)[-1]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) > 20_000:
            return self.answer(413, {"error": "stock list larger than 20000 bytes"})
        STOCK[name] = len(json.loads(body))
        self.answer(201, {"ok": True})

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        if name in STOCK:
            return self.answer(200, {"articles": STOCK[name]})
        self.answer(404, {"error": "no such pharmacy"})

    def log_message(self, *a):
        pass


def upload(base, name, articles):
    r = requests.put(
        f"{base}/stock/{name}", data=json.dumps(list(range(articles))), timeout=5
    )
    print(f"upload {name}: {r.status_code} {r.text}", flush=True)
    return name


def read_back(base, name):
    r = requests.get(f"{base}/stock/{name}", timeout=5)
    if r.status_code == 404:
        time.sleep(0.4)
        raise LookupError(f"{name} is not visible in the stock service yet")
    return r.json()["articles"]


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    sizes = {"adler": 900, "engel": 1200, "hirsch": 5200, "loewen": 700}
    try:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                names = [client.submit(upload, base, n, k) for n, k in sizes.items()]
                back = [client.submit(read_back, base, n, retries=3) for n in names]
                print("articles", sum(client.gather(back)))
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
