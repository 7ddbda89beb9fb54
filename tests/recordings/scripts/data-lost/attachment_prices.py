"""Prices the spare parts named in mail attachments; the price list stays next to the decoder."""

import ctypes
import logging
import time

import dask
from dask.distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("attachments")
dask.config.set({"distributed.scheduler.allowed-failures": 0})


class Decoder:
    """The vendor's TNEF library."""

    def __init__(self):
        self.library = ctypes.CDLL(None)
        self.library.strlen.restype = ctypes.c_size_t

    def length(self, pointer):
        return self.library.strlen(ctypes.c_void_p(pointer))


def decode(mail):
    time.sleep(0.2)
    buffer = ctypes.create_string_buffer(b"part" * (mail + 1))
    pointer = ctypes.addressof(buffer) if mail != 7 else 8
    return Decoder().length(pointer)


def price(mail, prices):
    time.sleep(0.1)
    return mail, prices[mail % len(prices)]


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            first = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
            table = {part: round(3.5 * part, 2) for part in range(500)}
            [prices] = client.scatter([table], workers=[first], hash=False)
            lengths = {}
            for mail in range(12):
                future = client.submit(
                    decode, mail, key=f"decode-{mail}", workers=[first]
                )
                try:
                    lengths[mail] = future.result()
                except KilledWorker:
                    log.warning("mail %d cannot be decoded, left for the clerk", mail)
                    client.wait_for_workers(2)
                    first = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
            log.info("decoded: %s", lengths)
            priced = [
                client.submit(price, mail, prices, key=f"price-{mail}")
                for mail in lengths
            ]
            log.info("total: %.2f", sum(amount for _, amount in client.gather(priced)))


if __name__ == "__main__":
    main()
