"""Find out which audio codecs of the studio are safe before the night's encoding starts.

Codecs under suspicion are tried on a cluster of their own, where they may take the worker with them.
"""

import logging
import os
import signal
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("canaries")


def decode_pcm(data):
    return data.astype("int16")


def decode_adpcm(data):
    """A port of an old C decoder; it gives up the way C code does."""
    if data.size % 2:
        os.abort()
    return data[::2].astype("int16")


def decode_dpcm(data):
    if data.max() > 250:
        os.kill(os.getpid(), signal.SIGSEGV)
    return np.cumsum(data).astype("int32")


def decode_vox(data):
    raise NotImplementedError("vox: licence has ended")


CODECS = {
    "pcm": decode_pcm,
    "adpcm": decode_adpcm,
    "dpcm": decode_dpcm,
    "vox": decode_vox,
}


def canary(codec):
    sample = np.random.default_rng(3).integers(0, 256, 4001).astype("uint8")
    return int(CODECS[codec](sample).size)


def try_codecs():
    """Verdict of each codec: safe, fails or crashes."""
    verdicts = {}
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
                name="canaries",
            ) as cluster,
            Client(cluster) as client,
        ):
            for codec in CODECS:
                try:
                    size = client.submit(canary, codec, key=f"canary-{codec}").result(
                        timeout=30
                    )
                    verdicts[codec] = "safe"
                    log.info("%s: %d samples", codec, size)
                except KilledWorker as exc:
                    verdicts[codec] = "crashes"
                    log.error("%s took its worker with it: %s", codec, exc)
                    client.wait_for_workers(1, timeout=30)
                except Exception as exc:
                    verdicts[codec] = "fails"
                    log.error("%s: %r", codec, exc)
    return verdicts


def encode(track, codec):
    data = np.random.default_rng(track).integers(0, 200, 40_000).astype("uint8")
    time.sleep(0.05)
    return track, int(CODECS[codec](data).sum())


def encode_night(safe, tracks):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
            name="encoders",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [
            client.submit(encode, t, safe[t % len(safe)], key=f"encode-{t}")
            for t in tracks
        ]
        return dict(client.gather(futures))


def main():
    verdicts = try_codecs()
    log.info("verdicts: %s", verdicts)
    safe = [codec for codec, verdict in verdicts.items() if verdict == "safe"]
    if not safe:
        log.critical("no codec is safe tonight")
        return 1
    encoded = encode_night(safe, range(40))
    log.info("%d tracks encoded with %s", len(encoded), ", ".join(safe))
    return 0


if __name__ == "__main__":
    sys.exit(main())
