#!/bin/bash
set -e
N=$1 OUT=$2
G="git -c user.email=toll@roads.example -c user.name=toll"
case $N in
  1) git init -q .; git add -A; $G commit -qm "toll charges" ;;
  2) echo "# toll_quotes" > README.md; git add -A; $G commit -qm "add README" ;;
  4) cp changes/passages.py .; git add -A; $G commit -qm "name the heavy vehicle constants" ;;
esac
PORT=$((21000 + $(pwd | cksum | cut -d' ' -f1) % 9000))
export QUOTE_URL=http://127.0.0.1:$PORT
if [ $N != 4 ]; then "$PYTHON" ops/quoted.py $PORT </dev/null >/dev/null 2>&1 & sleep 1; fi
ROWS=(0 200000 187311 214902 205127)
exec $RUN "$PYTHON" job.py --day 2026-02-0$N --seed $((N * 1000 + 7)) --passages ${ROWS[$N]} --out "$OUT"
