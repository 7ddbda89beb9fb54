#!/bin/bash
set -e
N=$1 OUT=$2
if [ $N = 2 ]; then echo "Gauges report every ten seconds." >> README; fi
SPOOL=$(mktemp -d /tmp/spool.XXXXXXXX)
ODD=0; [ $N = 4 ] && ODD=1
"$PYTHON" telemetry/spool.py 2026-01-1$N $((N * 31)) $SPOOL $ODD
exec $RUN "$PYTHON" job.py 2026-01-1$N $SPOOL "$OUT"
