import json, pathlib, random, sys
from datetime import datetime, timezone

day, seed, dest, odd = (
    sys.argv[1],
    int(sys.argv[2]),
    pathlib.Path(sys.argv[3]),
    sys.argv[4] == "1",
)
rng = random.Random(seed)
dest.mkdir(parents=True, exist_ok=True)
t0 = int(datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp())
for k, harbour in enumerate(
    ["cuxhaven", "husum", "emden", "buesum", "norderney", "list"]
):
    n = int(9000 * rng.uniform(0.88, 1.12))
    with open(dest / f"gauge-{k:02d}.jsonl", "w") as f:
        for i in range(n):
            t = t0 + i * 86400 // n
            if odd and k == 3 and i > 0.6 * n:  # firmware of one gauge: microseconds
                t *= 1_000_000
            f.write(
                json.dumps(
                    {
                        "harbour": harbour,
                        "epoch": t,
                        "level_cm": round(rng.gauss(500, 120)),
                        "quality": rng.choice([1, 2, 3, 3]),
                    }
                )
                + "\n"
            )
