#!/bin/bash
set -e
N=$1 OUT=$2
G="git -c user.email=fin@bank.example -c user.name=fin"
CUR=EUR
case $N in
  1) git init -q .; git add -A; $G commit -qm "closing" ;;
  4) cp changes/book.py closing/; git add -A; $G commit -qm "book: docstrings, defaultdict"
     CUR=CHF ;;
esac
E=(0 8000 8412 7733 8190)
exec $RUN "$PYTHON" job.py --closing-date 2026-09-2$N --run-id $(od -An -N4 -tx4 /dev/urandom | tr -d ' ') \
  --report-currency $CUR --entries ${E[$N]} --out "$OUT"
