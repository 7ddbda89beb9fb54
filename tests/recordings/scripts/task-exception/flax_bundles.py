"""Pack the graded flax lots into bundles and write a packing list for each."""

import argparse
import csv
import io
import logging
import random
import sys
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster, wait

log = logging.getLogger("flax")

GRADES = ["A", "B", "C"]
MILLS = ["Kortrijk", "Wevelgem", "Saint-Valery", "Bourgtheroulde"]


def lot_name(number):
    return f"lot-{number:02d}"


def deliver_lots(folder, count, seed=5):
    """The mills' files as they come in over night."""
    rng = random.Random(seed)
    for number in range(1, count + 1):
        rows = [
            f"{rng.choice(MILLS)};{rng.choice(GRADES)};{rng.uniform(8, 25):.2f}"
            for _ in range(250)
        ]
        text = "mill;grade;kg\n" + "\n".join(rows) + "\n"
        coding = "utf-8"
        if number == 7:
            text = text.replace("Bourgtheroulde", "Bourgthéroulde")
            coding = "latin-1"
        (folder / f"{lot_name(number)}.csv").write_bytes(text.encode(coding))


def claim_lot(spool, lot):
    """Only one task may pack a lot: the claim file is made exclusively."""
    claim = Path(spool) / f"{lot}.claim"
    with open(claim, "x") as f:
        f.write("packing\n")
    return claim


def read_lot(inbox, lot):
    raw = (Path(inbox) / f"{lot}.csv").read_bytes()
    text = raw.decode("utf-8")
    return list(csv.DictReader(io.StringIO(text), delimiter=";"))


def bundle_lot(lot, inbox, spool, size):
    """Bundles of at most `size` kg of one grade; returns their number."""
    claim = claim_lot(spool, lot)
    bundles = []
    for grade in GRADES:
        weight = 0.0
        for row in read_lot(inbox, lot):
            if row["grade"] != grade:
                continue
            weight += float(row["kg"])
            if weight >= size:
                bundles.append((grade, round(weight, 1)))
                weight = 0.0
        if weight:
            bundles.append((grade, round(weight, 1)))
    target = Path(spool) / f"{lot}.packing"
    target.write_text("\n".join(f"{g} {w}" for g, w in bundles))
    claim.unlink()
    return len(bundles)


def pack_all(client, lots, inbox, spool, size):
    futures = client.map(
        bundle_lot,
        lots,
        inbox=str(inbox),
        spool=str(spool),
        size=size,
        retries=2,
        pure=False,
    )
    wait(futures)
    done = {lot: f for lot, f in zip(lots, futures) if f.status == "finished"}
    log.info("%d of %d lots are packed", len(done), len(lots))
    return client.gather(futures)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lots", type=int, default=12)
    parser.add_argument("--bundle-kg", type=float, default=120.0)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="flax-") as tmp:
        inbox, spool = Path(tmp) / "inbox", Path(tmp) / "spool"
        inbox.mkdir()
        spool.mkdir()
        deliver_lots(inbox, args.lots)
        lots = [lot_name(n) for n in range(1, args.lots + 1)]
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=2, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            counts = pack_all(client, lots, inbox, spool, args.bundle_kg)
        log.info("%d bundles for the lorry", sum(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
