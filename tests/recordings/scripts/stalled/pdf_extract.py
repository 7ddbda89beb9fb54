import signal
import subprocess
import sys

import psutil
from distributed import Client

CONVERTER = "import sys\nn=int(sys.argv[1])\nfor i in range(n): sys.stdout.write('page %06d lorem ipsum dolor\\n' % i)\n"


def convert(doc, pages):
    p = subprocess.Popen(
        [sys.executable, "-c", CONVERTER, str(pages)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if p.wait() != 0:
        raise RuntimeError(f"converter failed for {doc}")
    return doc, len(p.stdout.read())


def index_terms(item):
    doc, size = item
    return {"doc": doc, "bytes": size}


def main():
    docs = {"contract.pdf": 12, "annex.pdf": 80, "audit_2025.pdf": 9000, "memo.pdf": 3}
    client = Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    )

    def stop(*_):
        raise TimeoutError("extraction window of 20 s is over")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    futs = [
        client.submit(index_terms, client.submit(convert, d, n))
        for d, n in docs.items()
    ]
    try:
        for rec in client.gather(futs):
            print(rec)
    finally:
        for child in psutil.Process().children():
            child.kill()
        client.close()


if __name__ == "__main__":
    main()
