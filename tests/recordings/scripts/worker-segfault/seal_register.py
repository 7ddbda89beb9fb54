"""Seal register: numbers are given out under a lock, and the glyphs are hashed by the workshop's old C routine."""

import argparse
import ctypes
import logging
import time

from dask.distributed import Client, LocalCluster, Lock, Variable, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("seals")

GLYPHS = {f"seal-{i:03d}": "kanji " * (1 + i % 5) for i in range(24)}
WITHOUT_GLYPH = {"seal-002"}


def glyph_address(seal, text):
    """The buffer of the glyph as the C routine wants it: an address, 8 when the register has a bare mark."""
    if seal in WITHOUT_GLYPH:
        return None, 8
    buffer = ctypes.create_string_buffer(text.encode())
    return buffer, ctypes.addressof(buffer)


def weigh_glyph(seal, text):
    libc = ctypes.CDLL(None)
    libc.strlen.restype = ctypes.c_size_t
    libc.strlen.argtypes = [ctypes.c_void_p]
    buffer, address = glyph_address(seal, text)
    return libc.strlen(address)


def enter_seal(seal, text):
    lock = Lock("register")
    if not lock.acquire(timeout=6):
        raise TimeoutError(f"{seal}: the register is locked by somebody else")
    try:
        counter = Variable("next-number")
        number = counter.get(timeout=5)
        weight = weigh_glyph(seal, text)
        counter.set(number + 1)
    finally:
        lock.release()
    return seal, number, weight


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-number", type=int, default=700)
    args = parser.parse_args()
    started = time.time()
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="800MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            Variable("next-number", client=client).set(args.first_number)
            entries = client.map(enter_seal, list(GLYPHS), list(GLYPHS.values()))
            for entry in as_completed(entries):
                seal, number, weight = entry.result()
                log.info("%s has number %d (weight %d)", seal, number, weight)
    log.info("register closed after %.0f s", time.time() - started)


if __name__ == "__main__":
    main()
