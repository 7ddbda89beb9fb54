#!/bin/bash
set -e
N=$1 OUT=$2
G="git -c user.email=dev@market.example -c user.name=dev"
case $N in
  1) git init -q .; git add -A; $G commit -qm "hourly margins of the stalls" ;;
  3) echo "Hourly margins of all stalls." >> README.md; git add -A; $G commit -qm "describe" ;;
  4) cp changes/kpi.py stalls/kpi.py; git add -A; $G commit -qm "docstrings, combine in two steps" ;;
esac
M=a; [ $N = 4 ] && M=b
"$PYTHON" upstream/tills.py 2026-06-2$N $((77 * N)) $M
exec $RUN "$PYTHON" job.py --date 2026-06-2$N --out "$OUT"
