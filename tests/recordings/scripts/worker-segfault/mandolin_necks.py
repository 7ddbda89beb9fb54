"""Resonance check of mandolin necks.

Every evening the workshop's tap-test recordings are compared with the
calibration tables of the rigs on which they were made.  The tables live in
shared buffers and are copied by the rig vendor's C interface.
"""

import ctypes
import json
import logging
import os
import pathlib

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("mandolin")
POINTS = 4096
RIGS = {"rig-a": 1.00, "rig-b": 0.97, "rig-c": 1.04}


class RigTables:
    """Calibration tables by rig, kept as C buffers."""

    def __init__(self, gains):
        self._buffers = {}
        for rig, gain in gains.items():
            curve = (np.hanning(POINTS) * gain + 0.01).astype("f8")
            self._buffers[rig] = ctypes.create_string_buffer(curve.tobytes())

    def handle(self, rig):
        buffer = self._buffers.get(rig)
        return ctypes.addressof(buffer) if buffer is not None else None


def copy_table(handle):
    """The vendor's interface: fill a caller-owned array from a table handle."""
    out = np.empty(POINTS)
    libc = ctypes.CDLL(None)
    libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    libc.memcpy.restype = ctypes.c_void_p
    libc.memcpy(out.ctypes.data, handle, out.nbytes)
    return out


def record_taps(neck):
    """Stand-in for the recorder: a decaying tone with a little noise."""
    rng = np.random.default_rng(neck["serial"])
    t = np.linspace(0, 1, POINTS)
    tone = np.sin(2 * np.pi * neck["pitch"] * t) * np.exp(-3 * t)
    return tone + rng.normal(0, 0.02, POINTS)


def neck_resonance(neck, taps):
    tables = RigTables(RIGS)
    curve = copy_table(tables.handle(neck["rig"]))
    spectrum = np.abs(np.fft.rfft(taps * curve))
    peak = int(spectrum[1:].argmax()) + 1
    return {"serial": neck["serial"], "peak": peak, "level": float(spectrum[peak])}


def todays_necks():
    rigs = ["rig-a", "rig-b", "rig-c"]
    necks = [
        {"serial": 7100 + i, "rig": rigs[i % 3], "pitch": 180 + 3 * i}
        for i in range(24)
    ]
    necks[17]["rig"] = "rig-d"  # set up on Tuesday
    return necks


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    out = pathlib.Path("necks.json")
    necks = todays_necks()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        try:
            taps = client.map(record_taps, necks, pure=False)
            wait(taps)
            log.info("%d recordings read", len(taps))
            peaks = client.map(neck_resonance, necks, taps)
            rows = client.gather(peaks)
            summary = {
                "necks": len(rows),
                "mean_level": np.mean([r["level"] for r in rows]),
            }
        finally:
            # the shop floor's screen wants a file, whatever it holds
            out.write_text(json.dumps(summary))
            log.info("wrote %s", out)


if __name__ == "__main__":
    main()
