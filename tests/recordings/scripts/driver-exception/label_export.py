"""Create shipping labels and merge them into one print file."""

import tempfile
import threading
from pathlib import Path

from dask.distributed import Client, LocalCluster


def label(order):
    return {
        "order": order,
        "zip": f"{10000 + order * 37 % 90000}",
        "weight": None if order == 41 else 0.2 * order,
    }


class PrintQueue(threading.Thread):
    def __init__(self, labels, target):
        super().__init__(name="print-queue")
        self.labels, self.target = labels, target

    def run(self):
        text = "\n".join(
            f"{lab['order']:06d} {lab['zip']} {lab['weight']:.1f} kg"
            for lab in self.labels
        )
        self.target.write_text(text)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        target = Path(tmp) / "labels.txt"
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            labels = client.gather(client.map(label, range(60)))
            printer = PrintQueue(labels, target)
            printer.start()
            printer.join()
        size = target.stat().st_size
        print("print file", size, "bytes")


if __name__ == "__main__":
    main()
