"""Monthly tourist tax: nights spent in each municipality, fetched from the province's booking register.

The register is an HTTP service with pages of 25 bookings (a small copy of it runs in this process).  Pages are
fetched by tasks, taxes are computed per municipality, and the treasurer gets one table.
"""

import json
import logging
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

from distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s %(levelname)s %(message)s",
    stream=sys.stderr,
)
log = logging.getLogger("tax")

TOWNS = ["Abeto", "Brezal", "Cala Honda", "Duna", "Encinar", "Faro", "Guijo", "Higuera"]
PAGES = 5
TARIFF = {"hotel": 1.10, "camp": 0.35}


class Register(BaseHTTPRequestHandler):
    """The province's service: a key may ask a number of times per hour."""

    allowance, asked, lock = 28, 0, threading.Lock()

    def answer(self, code, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        query = parse_qs(urlparse(self.path).query)
        with self.lock:
            Register.asked += 1
            spent = Register.asked > self.allowance
        if spent:
            return self.answer(
                429,
                {"error": "hourly allowance of key TREASURY-7 used up"},
                Retry_After="3540",
            )
        town, page = query["town"][0], int(query["page"][0])
        rows = [
            {
                "kind": "hotel" if (n + page) % 3 else "camp",
                "nights": 1 + (n * len(town)) % 6,
            }
            for n in range(25)
        ]
        return self.answer(200, rows)

    def do_POST(self):
        self.answer(403, {"error": "key TREASURY-7 may not write notices"})

    def log_message(self, *words):
        pass


def fetch_page(base, town, page):
    """One page of the register; a short pause and a second try when the service is busy."""
    url = f"{base}/bookings?town={town.replace(' ', '+')}&page={page}"
    for attempt in (1, 2):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if attempt == 2 or error.code not in (429, 503):
                raise RuntimeError(
                    f"register refused {town} page {page}: HTTP {error.code} {error.reason}"
                ) from None
            time.sleep(0.3)


def town_tax(town, pages):
    total = sum(TARIFF[row["kind"]] * row["nights"] for page in pages for row in page)
    return town, round(total, 2)


def notify(base, text):
    body = json.dumps({"text": text}).encode()
    request = urllib.request.Request(f"{base}/notices", data=body, method="POST")
    with urllib.request.urlopen(request, timeout=5):
        pass


def monthly_table(client, base):
    taxes = []
    for town in TOWNS:
        pages = [
            client.submit(fetch_page, base, town, page, retries=1)
            for page in range(PAGES)
        ]
        taxes.append(client.submit(town_tax, town, pages))
    return dict(client.gather(taxes))


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Register)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            try:
                table = monthly_table(client, base)
            except Exception as error:
                log.error("no table this month: %s", error)
                notify(base, f"tourist tax job failed: {error}")
                raise
    for town, tax in table.items():
        print(f"{town:<12} {tax:10.2f}")
    server.shutdown()


if __name__ == "__main__":
    main()
