#!/usr/bin/env bash
# Data gate of the shellfish landings: the suite must pass before the
# statistics are published.  Exit codes: 0 publish, 4 hold back, 5 no suite.
set -u
PY="${PYTHON:-python}"
"$PY" -c 'import pytest' 2>/dev/null || { echo "gate: no pytest here" >&2; exit 5; }

work=$(mktemp -d "${TMPDIR:-/tmp}/lobster.XXXXXX")
trap 'rm -rf "$work"' EXIT
export DASK_TEMPORARY_DIRECTORY="$work"
export PYTHONDONTWRITEBYTECODE=1

cat > "$work/conftest.py" <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from distributed import Client, LocalCluster

PORTS = {"newlyn": 410, "brixham": 388, "padstow": 205, "whitby": 297, "amble": 131}
PAGE = b"<!DOCTYPE html><html><body><h1>Scheduled maintenance</h1></body></html>"


class Landings(BaseHTTPRequestHandler):
    """The landings service as the staging host runs it."""

    def do_GET(self):
        port = self.path.rsplit("/", 1)[-1].removesuffix(".json")
        if port not in PORTS:
            return self.answer(404, "application/json", b'{"error": "no such port"}')
        if port == "whitby":
            return self.answer(200, "text/html", PAGE)
        rows = [{"port": port, "pots": PORTS[port] + n, "kilos": 1.7 * n} for n in range(30)]
        self.answer(200, "application/json", json.dumps(rows).encode())

    def answer(self, code, kind, body):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Landings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/landings"
    server.shutdown()


@pytest.fixture(scope="session")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB",
        dashboard_address="127.0.0.1:0",
    ) as cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
PYTHON

cat > "$work/landings.py" <<'PYTHON'
import json
import time
import urllib.error
import urllib.request

# the feed is inside the house: never through the proxy
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class FeedError(Exception):
    pass


def fetch_landings(base, port):
    time.sleep(1.0)  # agreed with the service: one request a second
    url = f"{base}/{port}.json"
    try:
        with OPENER.open(url, timeout=30) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as exc:
        raise LookupError(f"{port}: the service says {exc.code}") from None
    try:
        return json.loads(text)
    except ValueError as exc:
        raise FeedError(f"{port}: answer of {len(text)} characters is no landings table") from exc


def kilos(rows):
    time.sleep(0.5)
    return round(sum(row["kilos"] for row in rows), 1)
PYTHON

cat > "$work/test_landings.py" <<'PYTHON'
import pytest
from landings import fetch_landings, kilos


def test_unknown_port_is_refused(client, service):
    future = client.submit(fetch_landings, service, "atlantis", retries=1)
    with pytest.raises(LookupError, match="404"):
        future.result()


@pytest.mark.parametrize("port", ["newlyn", "brixham"])
def test_rows_of_a_port(client, service, port):
    rows = client.submit(fetch_landings, service, port).result()
    assert len(rows) == 30
    assert all(row["port"] == port for row in rows)


def test_total_of_the_coast(client, service):
    ports = ["newlyn", "brixham", "padstow", "whitby", "amble"]
    tables = [client.submit(fetch_landings, service, p, key=f"fetch_landings-{p}") for p in ports]
    weights = client.gather(client.map(kilos, tables))
    assert sum(weights) == pytest.approx(5 * 739.5)
PYTHON

cd "$work" || exit 5
PYTHONPATH="$work" "$PY" -m pytest -q -p no:cacheprovider --tb=short test_landings.py
code=$?
[ "$code" -eq 0 ] && { echo "gate: landings may be published"; exit 0; }
echo "gate: pytest ended with $code, landings are held back" >&2
exit 4
