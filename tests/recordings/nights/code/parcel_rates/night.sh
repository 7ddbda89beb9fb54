#!/bin/bash
set -e
N=$1 OUT=$2
export RATING_RUN_ID=rate-$N-$RANDOM
if [ $N = 3 ]; then echo "On call: depot desk, ext. 4411" >> README.txt; fi
if [ $N = 4 ]; then
  # new price list: small bands split
  sed -i 's/^WEIGHT_BANDS = .*/WEIGHT_BANDS = [0, 500, 1000, 2000, 3000, 5000, 1000, 31500]/;
          s/^BAND_PRICES = .*/BAND_PRICES = [379, 419, 549, 649, 749, 1049, 1649]/' settings.py
fi
INBOX=$(mktemp -d -t parcels-XXXXXX)
"$PYTHON" upstream/scan_dump.py $((900 + N)) $INBOX
exec $RUN "$PYTHON" job.py 2026-05-0$N $INBOX "$OUT"
