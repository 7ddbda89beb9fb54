"""Geocode addresses with a web service."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dask.distributed import Client

served = 0


class Geocoder(BaseHTTPRequestHandler):
    """Allows 25 requests, as our plan does."""

    def do_GET(self):
        global served
        served += 1
        if served > 25:
            self.send_response(429, "Too Many Requests")
            self.send_header("Retry-After", "60")
            self.end_headers()
            return
        body = json.dumps({"lat": 52.5, "lon": 13.4}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def geocode(url, address):
    with urllib.request.urlopen(f"{url}/search?q={address}", timeout=10) as answer:
        return json.load(answer)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Geocoder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    addresses = [f"street+{n}" for n in range(60)]
    found = client.gather([client.submit(geocode, url, a) for a in addresses])
    print(len(found))


if __name__ == "__main__":
    main()
