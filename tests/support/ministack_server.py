# /// script
# requires-python = ">=3.11"
# dependencies = ["ministack==1.5.33"]
# ///
"""MiniStack, an S3 server of another make than moto, in an environment of its own.

It pins an older botocore than ours, so it cannot live in ours: `uv run --script` makes the
environment, `ministack_server.py.lock` says of what.  Its own command would listen on all
interfaces; started through hypercorn, it keeps to the loopback.  Prints its port; ends with
its standard input.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from typing import Any

os.environ |= {"SERVICES": "s3", "AUTH": "true", "LOG_LEVEL": "ERROR"}
# Bound here, and handed over: so the port is known, and nobody else's.
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(("127.0.0.1", 0))
port = listening.getsockname()[1]
os.environ |= {"MINISTACK_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}


async def main() -> None:
    """Serve until the standard input is closed."""
    from hypercorn.asyncio import serve  # type: ignore[import-not-found]
    from hypercorn.config import Config  # type: ignore[import-not-found]
    from ministack.app import app  # type: ignore[import-not-found]

    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.errorlog = None
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    application: Any = app
    serving = asyncio.create_task(
        serve(application, config, shutdown_trigger=ended.wait)
    )
    while not await asyncio.to_thread(_answers):
        if serving.done():
            break
        await asyncio.sleep(0.05)
    else:
        print(port, flush=True)
    await serving


def _answers() -> bool:
    """Return whether a request is answered: it listens before it is ready."""
    import http.client

    try:
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        asking.request("GET", "/")
        return asking.getresponse().status > 0
    except OSError:
        return False


if __name__ == "__main__":
    asyncio.run(main())
