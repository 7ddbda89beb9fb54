"""Azurite, the emulator of Azure Storage, by npm.  Prints its port; ends with its standard input, or by SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

_PACKAGE = "azurite@3.35.0"
_COMMAND = ["npx", "--yes", f"--package={_PACKAGE}", "azurite-blob"]
_STARTING = 50.0  # seconds


def main() -> None:
    """Serve until the standard input is closed."""
    # Who started this ends it by SIGTERM; npm's processes have to end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    # Into npm's cache, which takes long and is not a part of the start.
    subprocess.run([*_COMMAND, "--version"], stdout=subprocess.DEVNULL, check=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [*_COMMAND, "--silent"]
    command += ["--inMemoryPersistence", "--skipApiVersionCheck", "--blobPort"]
    serving = subprocess.Popen(
        [*command, str(port)], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + _STARTING
        while not _answers(port):
            if serving.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(
                    "azurite did not start; it needs npx, and npm's packages"
                )
            time.sleep(0.1)
        print(port, flush=True)
        sys.stdin.buffer.read()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
