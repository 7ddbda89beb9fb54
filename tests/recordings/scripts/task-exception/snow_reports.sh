#!/usr/bin/env bash
# Nightly gate of the snow report: start the stand-in of the stations' gateway, run the tests on a cluster, report.
set -u
PY="${PYTHON:-$(command -v python || true)}"

work="$(mktemp -d -t snow.XXXXXX)"
gateway=""
cleanup() { [ -n "$gateway" ] && kill "$gateway" 2>/dev/null; rm -rf "$work"; }
trap cleanup EXIT
export PYTHONDONTWRITEBYTECODE=1

cat > "$work/gateway.py" <<'PYTHON'
"""Stand-in of the gateway: as the real one it is configured per station."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DEPTH = {"arlberg": 142, "davos": 118, "gerlos": 96, "ischgl": 131, "semmering": 12}
MAINTENANCE = {"gerlos"}


class Gateway(BaseHTTPRequestHandler):
    def do_GET(self):
        station = self.path.rstrip("/").rsplit("/", 1)[-1]
        status, kind, body = 200, "application/json", json.dumps({"station": station, "depth_cm": DEPTH.get(station)})
        if station in MAINTENANCE:
            kind, body = "text/html", "<html><h1>Station under maintenance until Friday</h1></html>"
        elif station not in DEPTH:
            status, body = 404, json.dumps({"error": f"no station {station}"})
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, text, *arguments):
        print("gateway:", text % arguments, file=sys.stderr, flush=True)


server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON

cat > "$work/test_report.py" <<'PYTHON'
import json
import os
import time
import urllib.error
import urllib.request

import pytest
from distributed import Client, LocalCluster

URL = os.environ["SNOW_GATEWAY"]
STATIONS = ["arlberg", "davos", "gerlos", "ischgl", "semmering"]


def fetch_depth(station):
    try:
        with urllib.request.urlopen(f"{URL}/stations/{station}", timeout=60) as answer:
            time.sleep(0.3)
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        status = error.code
    raise LookupError(f"{station}: gateway says {status}")


def classify(reading, skiable=30):
    return reading["station"], "open" if reading["depth_cm"] >= skiable else "closed"


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="300MiB", dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            yield client


def test_unknown_station_is_refused(client):
    with pytest.raises(LookupError, match="404"):
        client.submit(fetch_depth, "atlantis", key="fetch_depth-atlantis").result(timeout=120)


def test_low_station_is_closed(client):
    reading = client.submit(fetch_depth, "semmering", key="fetch_depth-semmering")
    assert client.submit(classify, reading).result(timeout=120) == ("semmering", "closed")


def test_report_covers_all_stations(client):
    readings = [client.submit(fetch_depth, name, key=f"fetch_depth-{name}", retries=1) for name in STATIONS]
    report = dict(client.gather(client.map(classify, readings)))
    assert set(report) == set(STATIONS)


def test_threshold_is_a_parameter(client):
    reading = client.submit(fetch_depth, "davos", key="fetch_depth-davos-again")
    assert client.submit(classify, reading, skiable=200).result(timeout=120) == ("davos", "closed")
PYTHON

cd "$work" || exit 2
"$PY" gateway.py > port 2> gateway.log &
gateway=$!
for _ in $(seq 300); do [ -s port ] && break; sleep 0.2; done
export SNOW_GATEWAY="http://127.0.0.1:$(cat port)"
echo "== gateway at $SNOW_GATEWAY"

"$PY" -m pytest -q -p no:cacheprovider test_report.py
rc=$?
echo "== gateway saw $(grep -c GET gateway.log) requests"
if [ "$rc" -ne 0 ]; then
    echo "== snow report is NOT published (tests ended with $rc)"
    exit "$rc"
fi
echo "== snow report published"
