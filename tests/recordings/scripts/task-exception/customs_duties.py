"""Fetches the duty pages of the customs service and computes the average duty of every chapter."""

import argparse
import http.server
import json
import logging
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from dask.distributed import Client, LocalCluster

log = logging.getLogger("duties")
NOTICE = b"<html><head><title>Scheduled maintenance</title></head><body>Back at 04:00.</body></html>"


class CustomsService(http.server.BaseHTTPRequestHandler):
    """Stands in for the service, which we reach through the gateway."""

    served = 0

    def do_GET(self):
        CustomsService.served += 1
        chapter = int(self.path.rsplit("/", 1)[1])
        if CustomsService.served > 14:
            body, kind = NOTICE, "text/html"
        else:
            lines = [
                {"code": f"{chapter:02d}{n:02d}", "duty": (chapter * 7 + n) % 23}
                for n in range(40)
            ]
            body, kind = (
                json.dumps({"chapter": chapter, "lines": lines}).encode(),
                "application/json",
            )
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), CustomsService)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def fetch_chapter(base_url, chapter):
    with urllib.request.urlopen(f"{base_url}/duties/{chapter}", timeout=20) as response:
        kind, body = response.headers["Content-Type"], response.read()
    logging.getLogger("distributed.worker").warning(
        "chapter %d: HTTP %d, %s, %d bytes, starts %r",
        chapter,
        response.status,
        kind,
        len(body),
        body[:40],
    )
    time.sleep(0.5)
    return body


def parse_chapter(body):
    return json.loads(body)["lines"]


def average_duty(lines):
    return round(sum(line["duty"] for line in lines) / len(lines), 2)


def chapter_job(client, url, chapter):
    body = client.submit(
        fetch_chapter, url, chapter, key=f"fetch_chapter-{chapter}", retries=2
    )
    lines = client.submit(parse_chapter, body, key=f"parse_chapter-{chapter}")
    duty = client.submit(average_duty, lines, key=f"average_duty-{chapter}").result()
    log.info("chapter %2d: %.2f %%", chapter, duty)
    return chapter, duty


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapters", type=int, default=24)
    parser.add_argument("--parallel", type=int, default=3)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    server = serve()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory(prefix="duties-") as base:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            with ThreadPoolExecutor(args.parallel) as pool:
                jobs = [
                    pool.submit(chapter_job, client, url, chapter)
                    for chapter in range(1, args.chapters + 1)
                ]
                duties = dict(job.result() for job in jobs)
            log.info("average over all: %.2f %%", sum(duties.values()) / len(duties))
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
