#!/bin/bash
set -e
N=$1 OUT=$2
DAY=2026-03-1$N
commit() { git add -A; git -c user.email=ops@tram.example -c user.name=ops commit -qm "$1"; }
case $N in
  1) git init -q . ; commit "fare settlement" ;;
  2) echo "Contact: settlement@tram.example" >> README.md; commit "README: contact" ;;
  4) cp changes/pricing.py changes/report.py .
     sed -i 's/format="%(levelname)s %(message)s"/format="%(asctime)s %(levelname)s %(message)s"/' job.py
     echo "Since spring: degressive zones." >> README.md
     commit "spring tariff, tidy report, timestamps in log" ;;
esac
DATA=data/run-$(printf %04x $((RANDOM)))
"$PYTHON" feeds/export_trips.py $DAY $((4100 + N * 17)) $DATA
exec $RUN "$PYTHON" job.py --day $DAY --trips $DATA --out "$OUT"
