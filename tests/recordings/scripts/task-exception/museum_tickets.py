"""Ticket sales of the city's museums: pulls the bookings of a week page by page and adds them up for the culture office."""

import argparse
import http.client
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dask
from distributed import Client

MUSEUMS = {"toys": 3, "ships": 5, "glass": 2, "clocks": 4, "fossils": 3, "maps": 1}
TOKENS = {m: f"token-{m}" for m in MUSEUMS}


class Desk(BaseHTTPRequestHandler):
    """Stand-in for the ticketing company's service."""

    def do_GET(self):
        _, museum, page = self.path.strip("/").split("/")
        if self.headers.get("Authorization") != f"Bearer token-{museum}":
            return self.answer(401, {"error": "unknown token"})
        if museum == "maps":  # closed for rebuilding
            return self.answer(404, {"error": "no such venue"})
        if museum == "clocks" and int(page) >= 3:
            return self.answer(
                403,
                {"error": "venue moved to plan BASIC: history is limited to 2 pages"},
            )
        rows = [
            {"visitors": 1 + (int(page) * 7 + i) % 5, "price": 8.5} for i in range(20)
        ]
        self.answer(200, {"rows": rows, "more": int(page) < MUSEUMS[museum]})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class DeskError(Exception):
    """The service refused a request."""


class VenueGone(DeskError):
    pass


def get_page(port, museum, page):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            "GET",
            f"/bookings/{museum}/{page}",
            headers={"Authorization": f"Bearer {TOKENS[museum]}"},
        )
        response = connection.getresponse()
        content = json.load(response)
    finally:
        connection.close()
    if response.status == 404:
        raise VenueGone(museum)
    if response.status != 200:
        raise DeskError(
            f"{museum} page {page}: {response.status} {response.reason}: {content['error']}"
        )
    return content


@dask.delayed
def pull_bookings(port, museum):
    rows, page = [], 1
    while True:
        try:
            content = get_page(port, museum, page)
        except VenueGone:
            return rows
        rows += content["rows"]
        if not content["more"]:
            return rows
        page += 1


@dask.delayed
def takings(museum, rows):
    return {
        "museum": museum,
        "visitors": sum(r["visitors"] for r in rows),
        "euro": sum(r["visitors"] * r["price"] for r in rows),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="takings.json")
    options = parser.parse_args(arguments)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    draft = options.out + ".draft"
    try:
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            table = dask.compute(
                *[takings(m, pull_bookings(server.server_port, m)) for m in MUSEUMS]
            )
        with open(draft, "w") as out:
            json.dump(table, out)
    finally:
        server.shutdown()
        os.replace(draft, options.out)
    print("written", options.out)


if __name__ == "__main__":
    main()
