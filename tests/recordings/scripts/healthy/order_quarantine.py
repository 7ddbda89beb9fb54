import json
import sys
import tempfile
import traceback
from pathlib import Path

import dask.bag as db
from distributed import Client


def parse(line):
    try:
        rec = json.loads(line)
        return {"id": int(rec["id"]), "total": float(rec["total"]), "bad": None}
    except (ValueError, KeyError):
        traceback.print_exc(limit=1)
        return {"id": None, "total": 0.0, "bad": line}


def main():
    tmp = Path(tempfile.mkdtemp())
    for p in range(4):
        lines = [
            json.dumps({"id": i, "total": i / 4}) for i in range(p * 100, p * 100 + 100)
        ]
        lines[13] = "{broken"
        lines[50 + p] = json.dumps({"id": "n/a", "total": 1})
        (tmp / f"orders{p}.jsonl").write_text("\n".join(lines))
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ):
        recs = db.read_text(str(tmp / "orders*.jsonl")).map(parse).compute()
    bad = [r["bad"] for r in recs if r["bad"]]
    (tmp / "quarantine.txt").write_text("\n".join(bad))
    print(f"{len(bad)} lines to quarantine", file=sys.stderr)
    share = len(bad) / len(recs)
    print("total", sum(r["total"] for r in recs), f"bad share {share:.1%}")
    if share > 0.05:
        sys.exit("too many bad lines")


if __name__ == "__main__":
    main()
