"""Starts processes whose threads decode first of all; prints how each ended."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable

import msgspec
from dask_blackbox.card import RunCard
from dask_blackbox.events import KINDS, decoded, encoded
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import (
    Ending,
    Manifest,
    decode_ending,
    decode_manifest,
    sealed,
)
from dask_blackbox.segments.batch import decode_batch, encode_batch

THREADS = 16


def _work() -> list[Callable[[], object]]:
    """Return one decoding of each type; nothing of it has been decoded before."""
    finding = Finding(
        rule="r", severity="failure", title="t", cause="c", remedy="m", confidence="low"
    )
    card = RunCard(
        job="j", run_id="r", state="failed", headline="h", verdict=finding
    ).to_json()
    manifest = sealed(Manifest(recording="x", job="j", run_id="r", started=1.0))
    ending = sealed(Ending(state="failed", ended=2.0))
    batch = encode_batch("driver 1", 1, 1.0, {"event": [(1.0, "p2p", "", "{}")]})
    rows = [encoded(struct(at=1.0)) for struct in KINDS.values()]
    return [
        lambda: RunCard.from_json(card),
        lambda: decode_manifest(manifest),
        lambda: decode_ending(ending),
        lambda: decode_batch(batch),
        lambda: [decoded(*row) for row in rows],
    ]


def _fresh() -> list[Callable[[], object]]:
    """Return what crashes: a type that msgspec meets for the first time in threads."""
    inner = msgspec.defstruct("Inner", [(f"f{n}", int | None, None) for n in range(50)])
    outer = msgspec.defstruct("Outer", [(f"f{n}", inner, None) for n in range(50)])
    return [lambda: msgspec.json.decode(b'{"f49": {"f49": 1}}', type=outer)]


def _decode_at_once(work: list[Callable[[], object]]) -> None:
    sys.setswitchinterval(1e-5)
    barrier = threading.Barrier(THREADS)

    def decode() -> None:
        barrier.wait()
        for each in work:
            each()

    threads = [threading.Thread(target=decode) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Decode in as many processes as are asked for, one after the other."""
    work = _fresh() if sys.argv[2:] == ["fresh"] else _work()
    ends: Counter[int] = Counter()
    for _ in range(int(sys.argv[1])):
        pid = os.fork()
        if pid == 0:
            _decode_at_once(work)
            os._exit(0)
        ends[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])] += 1
    print(dict(ends))


if __name__ == "__main__":
    main()
