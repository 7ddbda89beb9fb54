import csv, pathlib, random, shutil, sys

seed, pieces = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
box = pathlib.Path("landing")
shutil.rmtree(box, ignore_errors=True)
for region in ["north", "south", "east", "west", "city"]:
    (box / region).mkdir(parents=True)
    n = int(14000 * rng.uniform(0.88, 1.12))
    for k in range(pieces):
        name = "readings.csv" if pieces == 1 else f"readings_{k * 2:02d}h.csv"
        with open(box / region / name, "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["meter", "hour", "kwh"])
            for i in range(n // pieces):
                h = rng.randrange(24) if pieces == 1 else k * 2 + rng.randrange(2)
                w.writerow(
                    [
                        f"{region[0]}{rng.randint(1, 3000):05d}",
                        h,
                        round(rng.gammavariate(2, 0.2), 3),
                    ]
                )
