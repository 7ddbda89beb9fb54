"""Stamp dealer: pictures of albums are fetched from the picture server, one cluster for each collection."""

import hashlib
import http.server
import logging
import threading
import time
import urllib.request

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("albums")
COLLECTIONS = {"Bavaria": 40, "Helvetia": 48, "Saxony": 36, "Danzig": 40}


class Pictures(http.server.BaseHTTPRequestHandler):
    """Stands for the picture server, which takes its time."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        time.sleep(0.35)
        body = hashlib.sha256(self.path.encode()).digest() * 400
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def fetch_page(base, collection, page):
    with urllib.request.urlopen(f"{base}/{collection}/{page}", timeout=10) as answer:
        return page, answer.read()


def describe(picture):
    page, body = picture
    time.sleep(0.05)
    return page, hashlib.md5(body).hexdigest()[:8], len(body)


def fetch_collection(base, collection, pages):
    """A cluster for one collection: one process, twelve threads that mostly wait for the server."""
    with LocalCluster(
        n_workers=1, threads_per_worker=12, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            pictures = client.map(
                fetch_page, [base] * pages, [collection] * pages, range(pages)
            )
            entries = []
            for future in as_completed(client.map(describe, pictures)):
                entries.append(future.result())
            return sorted(entries)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    server = Server(("127.0.0.1", 0), Pictures)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    total = 0
    try:
        for collection, pages in COLLECTIONS.items():
            entries = fetch_collection(base, collection, pages)
            assert len(entries) == pages
            total += sum(entry[2] for entry in entries)
            log.info("%s has %d pages, first %s", collection, pages, entries[0][1])
    finally:
        server.shutdown()
    log.info("%d bytes of pictures", total)


if __name__ == "__main__":
    main()
