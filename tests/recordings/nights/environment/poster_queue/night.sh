#!/bin/bash
set -e
N=$1 OUT=$2
export DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING=False
export DASK_DISTRIBUTED__WORKER__RESOURCES='{"RENDER": 2}'
if [ $N = 4 ]; then     # the host's environment file was "tidied"
  export DASK_DISTRIBUTED__WORKER__RESOURCES='{"RENDERER": 2}'
fi
O=(0 120 131 109 126)
exec $RUN "$PYTHON" job.py --orders-from $((N * 1000)) --orders ${O[$N]} --out "$OUT"
