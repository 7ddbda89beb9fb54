"""Metro gates: the vendor's converter makes CSV out of the gates' dumps, dask counts."""

import subprocess
import sys
import tempfile
from pathlib import Path

import dask
import pandas as pd
from dask.distributed import Client

CONVERTER = """
import sys, struct
src, dst = sys.argv[1:]
data = open(src, "rb").read()
magic, count = struct.unpack_from("<4sI", data)
if magic != b"GATE":
    sys.stderr.write("gates2csv: %s: unsupported firmware %r\\n" % (src, magic))
    sys.exit(3)
rows = struct.iter_unpack("<IH", data[8:8 + 6 * count])
with open(dst, "w") as out:
    out.write("second,gate\\n")
    for row in rows:
        out.write("%d,%d\\n" % row)
"""


def dump(path, station):
    import struct

    magic = b"GAT2" if station == "castle" else b"GATE"
    body = b"".join(struct.pack("<IH", s * 3, s % 5) for s in range(300))
    path.write_bytes(struct.pack("<4sI", magic, 300) + body)


@dask.delayed
def convert(src):
    tool = Path(src).parent / "gates2csv.py"
    target = str(src) + ".csv"
    subprocess.run([sys.executable, str(tool), str(src), target])
    return target


@dask.delayed
def busiest(path):
    rows = pd.read_csv(path)
    return int(rows.groupby("gate").second.count().idxmax())


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        (folder / "gates2csv.py").write_text(CONVERTER)
        stations = ["market", "castle", "docks", "park"]
        for station in stations:
            dump(folder / station, station)
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
            print(dask.compute([busiest(convert(folder / s)) for s in stations]))


if __name__ == "__main__":
    main()
