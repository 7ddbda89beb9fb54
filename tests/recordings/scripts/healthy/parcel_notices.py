"""Send pick-up notices through the notice gateway (here a Flask stand-in) with an asyncio client; it is often busy."""

import asyncio
import logging
import threading
import traceback

import requests
from dask.distributed import Client, LocalCluster
from flask import Flask, jsonify
from werkzeug.serving import make_server

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
log = logging.getLogger("notices")

app = Flask("gateway")
calls = {}
calls_lock = threading.Lock()


@app.get("/notice/<int:parcel>")
def notice(parcel):
    with calls_lock:
        calls[parcel] = calls.get(parcel, 0) + 1
        busy = parcel % 4 == 0 and calls[parcel] <= 2
    if busy:
        return jsonify(error="busy"), 503
    if parcel == 13:
        return jsonify(error="no phone number"), 422
    return jsonify(parcel=parcel, channel="sms" if parcel % 2 else "mail")


def send(base, parcel):
    answer = requests.get(f"{base}/notice/{parcel}", timeout=5)
    if answer.status_code == 422:
        return {"parcel": parcel, "channel": None}
    answer.raise_for_status()
    return answer.json()


def poke(base):
    """The gateway's own health page does not exist in this version."""
    requests.get(f"{base}/health", timeout=2).raise_for_status()


async def run(base):
    async with LocalCluster(
        n_workers=1, threads_per_worker=2, asynchronous=True, dashboard_address=":0"
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            try:
                await client.submit(poke, base, pure=False)
            except requests.HTTPError:
                log.warning(
                    "no health page, going on without:\n%s",
                    traceback.format_exc(limit=1),
                )
            try:
                await asyncio.wait_for(
                    client.submit(lambda: threading.Event().wait(3), pure=False), 1
                )
            except asyncio.TimeoutError:
                log.error("warm-up timed out, never mind")
            sent = await client.gather(
                [
                    client.submit(send, base, p, retries=3, key=f"send-{p}")
                    for p in range(20)
                ]
            )
            channels = [s["channel"] for s in sent]
            log.info(
                "sms %d, mail %d, letter %d",
                channels.count("sms"),
                channels.count("mail"),
                channels.count(None),
            )
            await client.restart()
            again = await client.submit(send, base, 7, pure=False)
            log.info("after the restart: %s", again)


def main():
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        asyncio.run(run(f"http://127.0.0.1:{server.port}"))
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
