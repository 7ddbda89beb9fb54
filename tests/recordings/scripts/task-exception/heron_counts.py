import http.server
import logging
import socket
import threading
import time
import urllib.request

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("herons")


class Archive(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(4)
        body = str(sum(map(ord, self.path)) % 40).encode()
        self.send_response(200)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *args):
        pass


def mirror_answers(port):
    """Quick look at a mirror; the night does not depend on it."""
    socket.setdefaulttimeout(1.5)
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError as error:
        log.info("mirror at %s not usable: %s", port, error)
        return False


def count(port, colony):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{colony}") as answer:
        return int(answer.read())


def main():
    archive = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    threading.Thread(target=archive.serve_forever, daemon=True).start()
    port = archive.server_address[1]
    with socket.socket() as spare:
        spare.bind(("127.0.0.1", 0))
        with Client(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client:
            log.info(
                "mirror: %s",
                client.submit(mirror_answers, spare.getsockname()[1]).result(),
            )
            counts = client.gather(
                client.map(count, [port] * 4, ["delta", "mere", "fen", "quay"])
            )
            log.info("herons: %d", sum(counts))
    archive.shutdown()


if __name__ == "__main__":
    main()
