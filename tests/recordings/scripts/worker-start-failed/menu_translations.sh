#!/usr/bin/env bash
# Translates the week's canteen menus for the three sites.
#
# A scheduler and two workers are started for the run; the workers load the
# glossary before they accept work (--preload), the driver then sends the menus.
set -u
PY="${PYTHON:-python}"
RUN="$(mktemp -d)"
SITES="${SITES:-harbour airport campus}"
export GLOSSARY_EDITION="${GLOSSARY_EDITION:-2026-47}"
pids=()

finish() {
    code=$?
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    sleep 2
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$RUN"
    echo "menu run ended with $code"
    exit "$code"
}
trap finish EXIT

export GLOSSARY_FOLDER="$RUN/glossaries"
mkdir -p "$GLOSSARY_FOLDER"
cat > "$RUN/glossaries/2026-46.tsv" <<'TSV'
potato	Kartoffel
leek	Lauch
dumpling	Knödel
TSV

cat > "$RUN/glossary_preload.py" <<'PYTHON'
"""Reads the glossary of the edition in force and keeps it on the worker."""
import os
from pathlib import Path


def read_glossary():
    edition = os.environ["GLOSSARY_EDITION"]
    table = Path(os.environ["GLOSSARY_FOLDER"]) / f"{edition}.tsv"
    pairs = [line.split("\t") for line in table.read_text().splitlines()]
    return dict(pairs)


GLOSSARY = read_glossary()


def dask_setup(worker):
    worker.glossary = GLOSSARY
PYTHON

cat > "$RUN/translate.py" <<'PYTHON'
"""Sends the menus of the sites to the cluster and prints the translations."""
import sys

from distributed import Client, get_worker


def translate_menu(site):
    glossary = get_worker().glossary
    dishes = {"harbour": "potato leek soup", "airport": "dumpling plate", "campus": "leek tart"}
    words = dishes[site].split()
    return site, " ".join(glossary.get(word, word) for word in words)


def main(scheduler_file, sites):
    with Client(scheduler_file=scheduler_file, timeout=20) as client:
        client.wait_for_workers(2, timeout=18)
        for site, dish in client.gather(client.map(translate_menu, sites)):
            print(f"{site}: {dish}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
PYTHON

echo "menus of edition $GLOSSARY_EDITION for: $SITES"
"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$RUN/scheduler.json" &
pids+=($!)

for _ in $(seq 60); do
    [ -s "$RUN/scheduler.json" ] && break
    sleep 0.25
done

for name in left right; do
    "$PY" -m dask worker --scheduler-file "$RUN/scheduler.json" --name "$name" \
        --nthreads 1 --memory-limit 400MB --no-dashboard --no-nanny \
        --preload "$RUN/glossary_preload.py" &
    pids+=($!)
done

# shellcheck disable=SC2086
"$PY" "$RUN/translate.py" "$RUN/scheduler.json" $SITES
