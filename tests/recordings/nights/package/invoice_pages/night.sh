#!/bin/bash
set -e
N=$1 OUT=$2
V=3.2.0; [ $N = 4 ] && V=3.3.0
rm -rf vendor/*; cp -r wheels/ledgerfmt-$V/. vendor/
export PYTHONPATH=$PWD/vendor${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
C=(0 12000 11208 12911 11740)
exec $RUN "$PYTHON" job.py --first $((N * 20000 + 1)) --count ${C[$N]} --out "$OUT"
