#!/bin/bash
set -e
N=$1 OUT=$2
G="git -c user.email=kiln@ceramics.example -c user.name=kiln"
case $N in
  1) git init -q .; git add -A; $G commit -qm "soak times" ;;
  3) printf '# kiln_curves\n\nSoak times of last night.\n' > README.md; git add -A; $G commit -qm "README" ;;
  4) cp -r changes/job.py changes/kiln .; git add -A; $G commit -qm "move signal processing to a package" ;;
esac
S=(0 500000 527311 474034 512750)
exec $RUN "$PYTHON" job.py --date 2026-04-0$N --seed $((N * 59)) --samples ${S[$N]} --out "$OUT"
