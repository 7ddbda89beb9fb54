#!/bin/bash
set -e
N=$1 OUT=$2
install_() { rm -rf envs/$1/$2 envs/$1/$2-*.dist-info; cp -r wheels/$2-$3/. envs/$1/; }
SLUG=0.4.1 WTAX=2.1.0
if [ $N = 4 ]; then SLUG=0.4.2 WTAX=1.9.3; fi     # image of the workers rebuilt from an old lock file
for e in driver workers; do install_ $e slugline $SLUG; done
install_ driver seedtax 2.1.0
install_ workers seedtax $WTAX
export PYTHONPATH=$PWD/envs/driver:$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
L=(0 9000 9620 8711 9300)
exec $RUN "$PYTHON" job.py --edition 2026w1$N --seed $((N * 313)) --lots ${L[$N]} --out "$OUT"
