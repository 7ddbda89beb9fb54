#!/bin/bash
set -e
N=$1 OUT=$2
PORT=$((21000 + $(pwd | cksum | cut -d' ' -f1) % 9000))
export BOXOFFICE_URL=http://127.0.0.1:$PORT
[ $N = 3 ] && echo "# Revenue of all museums" > README.md
HANG=; [ $N = 4 ] && HANG=harbour      # one answer hangs that night
"$PYTHON" ops/boxoffice.py $PORT $HANG </dev/null >/dev/null 2>&1 &
sleep 1.5
exec $RUN "$PYTHON" job.py 2026-10-0$N "$OUT"
