#!/bin/bash
set -e
N=$1
OUT=$2
PY=$PYTHON
cd "$OUT"
commit() {
    [ -d .git ] || git init -q .
    git add -A
    git -c user.name=ops -c user.email=ops@example.org commit -q --allow-empty -m "$1" >/dev/null
}

mkdir -p data
printf 'data/\n__pycache__/\nservice/\n' > .gitignore
REMARK="residuals in arc seconds"
[ "$N" = 4 ] && REMARK="residuals in arc seconds, after Encke's method"
cat > comet_orbits.py <<PYTHON
"""Improves comet orbits with the ephemeris service of the observatory."""
import json
import logging
import urllib.request
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("comet")
EPHEMERIS = "http://127.0.0.1:18473/position/"


def predicted(comet):
    with urllib.request.urlopen(EPHEMERIS + comet, timeout=20) as answer:
        return np.array(json.load(answer)["position"])


def residuals(path):
    """$REMARK"""
    observed = np.array(json.loads(Path(path).read_text()))
    return Path(path).stem, float(np.hypot(*(observed - predicted(Path(path).stem)).T).mean())


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    files = sorted(map(str, Path("data").glob("*.json")))
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        for comet, value in client.gather(client.map(residuals, files, pure=False)):
            log.info("%s: %.2f", comet, value)


if __name__ == "__main__":
    main()
PYTHON
commit "orbits, $N"
"$PY" - "$N" <<'PYTHON'
import json, sys
import numpy as np
for c, comet in enumerate(["encke", "halley", "wild", "tempel"]):
    rng = np.random.default_rng(int(sys.argv[1]) * 3 + c)
    with open(f"data/{comet}.json", "w") as out:
        json.dump(rng.normal(10, 1, (200, 2)).round(3).tolist(), out)
PYTHON
mkdir -p service
cat > service/ephemeris.py <<'PYTHON'
import http.server, json, os, sys, threading, time


class Positions(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"position": [10.0, 10.0]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def leave():
    parent, end = os.getppid(), time.monotonic() + 180
    while os.getppid() == parent and time.monotonic() < end:
        time.sleep(0.3)
    os._exit(0)


threading.Thread(target=leave, daemon=True).start()
while True:
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 18473), Positions)
        break
    except OSError:
        time.sleep(0.3)
server.serve_forever()
PYTHON
listening() { (exec 3<>/dev/tcp/127.0.0.1/18473) 2>/dev/null; }
if [ "$N" != 4 ]; then
    ${PYTHON_OF_SERVICE:-python3} service/ephemeris.py </dev/null >/dev/null 2>&1 &
    for _ in $(seq 100); do listening && break; sleep 0.3; done
else
    for _ in $(seq 30); do listening || break; sleep 0.3; done
fi
exec $RUN "$PY" comet_orbits.py
