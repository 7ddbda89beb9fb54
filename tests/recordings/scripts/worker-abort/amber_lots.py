"""Takes the amber lots out of the inbox, grades them with the old C filter, and prints the grades."""

import ctypes
import os
import tempfile
import time
from pathlib import Path

from dask.distributed import Client


def take(inbox, archive, name):
    target = Path(archive) / name
    os.replace(Path(inbox) / name, target)
    return target.read_bytes()


def c_filter(data):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    window = libc.malloc(64)
    ctypes.memmove(window, data[:64].ljust(64), 64)
    first = ctypes.string_at(window, 64)
    if first.count(b"#") > 3:
        libc.free(window)
    libc.free(window)
    return first


def grade(data):
    time.sleep(1)
    return "clear" if c_filter(data).count(b"#") < 2 else "cloudy"


def main():
    with tempfile.TemporaryDirectory() as folder:
        inbox, archive = Path(folder) / "inbox", Path(folder) / "archive"
        inbox.mkdir(), archive.mkdir()
        for n, text in enumerate([b"honey", b"honey #", b"cognac ####", b"lemon"]):
            (inbox / f"lot{n}").write_bytes(text)
        with Client(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            for n in range(4):
                lot = client.submit(take, str(inbox), str(archive), f"lot{n}")
                print("lot", n, client.submit(grade, lot).result(timeout=50))


if __name__ == "__main__":
    main()
