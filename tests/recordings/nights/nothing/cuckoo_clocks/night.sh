#!/usr/bin/env bash
# night.sh N OUT: drift of the clocks in the workshop, against the reference of the house
set -e
N=$1
cd "$2"
export PYTHONPATH="$PWD/site${PYTHONPATH:+:$PYTHONPATH}"
g() { git -c user.name=Cuckoo -c user.email=cuckoo@example.org -c commit.gpgsign=false "$@"; }

package() {  # version
  rm -rf site/pendulums site/pendulums-*.dist-info
  mkdir -p site/pendulums "site/pendulums-$1.dist-info"
  cat > site/pendulums/__init__.py <<EOF
"""Pendulums."""
__version__ = "$1"


def seconds_per_day(drift):
    return drift * 86400.0
EOF
  printf 'Metadata-Version: 2.1\nName: pendulums\nVersion: %s\nSummary: pendulums\n' "$1" > "site/pendulums-$1.dist-info/METADATA"
  printf 'pip\n' > "site/pendulums-$1.dist-info/INSTALLER"
  printf 'pendulums/__init__.py,,\npendulums-%s.dist-info/METADATA,,\n' "$1" > "site/pendulums-$1.dist-info/RECORD"
}

if [ "$N" = 1 ]; then
  package 0.9.3
  "$PYTHON" - > .port <<'EOF'
import random
import socket

while True:
    port = random.randint(20000, 30000)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
EOF
  g init -q .
  printf 'site/\nticks/\ndrift*.csv\n.port\n.up\n__pycache__/\n*.pyc\n' > .gitignore
  cat > drift.py <<'EOF'
"""Drift of clocks."""
import http.client
import json

import numpy as np
import pandas as pd
import pendulums


def reference(port, clock):
    """Beats in a second that the clock should have, from the service of the house."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", f"/reference/{clock}")
        return json.loads(connection.getresponse().read())["beats"]
    finally:
        connection.close()


def drift(path, port):
    """Seconds that a clock loses in a day."""
    ticks = pd.read_csv(path)["at"].to_numpy()
    clock = path.rsplit("_", 1)[-1].split(".")[0]
    wanted = reference(port, clock)
    beats = 1.0 / np.median(np.diff(np.sort(ticks)))
    return {"clock": clock, "seconds": pendulums.seconds_per_day(wanted / beats - 1.0), "ticks": len(ticks)}
EOF
  cat > job.py <<'EOF'
"""Drift of every clock."""
import argparse
import glob

import pandas as pd
from dask.distributed import Client, LocalCluster

from drift import drift


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster) as client:
        rows = client.gather(client.map(drift, sorted(glob.glob("ticks/*.csv")), port=options.port))
    pd.DataFrame(rows).to_csv(f"drift-{options.day}.csv", index=False)
    print(options.day, len(rows), "clocks")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore drift.py job.py
  g commit -qm "Drift of clocks"
fi

if [ "$N" = 4 ]; then
  package 0.9.4
  sed -i 's/^"""Drift of clocks."""/"""Drift of clocks: their ticks against the beats they should have."""/' drift.py
  g add drift.py
  g commit -qm "drift: what the module does"
fi

mkdir -p ticks
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
import pandas as pd
night = int(sys.argv[1])
chance = np.random.default_rng(800 + night)
for clock in chance.permutation(18):
    rows = int(80000 * (1 + chance.uniform(-0.03, 0.03)))
    pd.DataFrame({"at": np.cumsum(chance.normal(0.75, 0.01, rows)).round(4)}).to_csv(f"ticks/clock_{clock:02d}.csv", index=False)
EOF

PORT=$(cat .port)
if [ "$N" != 4 ]; then  # the service of the house (not ours): up as long as this process; nobody is there in night 4
  rm -f .up
  ("$PYTHON" - "$PORT" "$$" >/dev/null 2>&1 <<'EOF' &
import http.server
import json
import os
import sys
import threading
import time

port, parent = int(sys.argv[1]), int(sys.argv[2])


class House(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"beats": 1.3333}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *rest):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), House)
threading.Thread(target=server.serve_forever, daemon=True).start()
open(".up", "w").close()
end = time.time() + 300
while time.time() < end and os.path.exists(f"/proc/{parent}"):
    time.sleep(0.2)
os._exit(0)
EOF
  )
  for _ in $(seq 100); do [ -e .up ] && break; sleep 0.1; done
fi
exec $RUN "$PYTHON" job.py --day "2026-04-1$N" --port "$PORT"
