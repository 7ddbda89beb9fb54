#!/bin/bash
set -e
N=$1 OUT=$2
G="git -c user.email=ops@ferry.example -c user.name=ops"
case $N in
  1) git init -q .; git add -A; $G commit -qm "deck loads" ;;
  4) cp changes/load.py .; git add -A; $G commit -qm "name the slot length" ;;
esac
SCALE=1; [ $N = 4 ] && SCALE=10       # summer bookings of the whole week in one export
"$PYTHON" feed/booking_export.py $((N * 11)) $SCALE
exec $RUN "$PYTHON" job.py 2026-07-0$N manifests "$OUT"
