import csv, pathlib, random, sys
day, seed, dest = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
rng = random.Random(seed)
dest.mkdir(parents=True, exist_ok=True)
for depot in "abcdef":
    with open(dest / f"trips-{depot}.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["line", "zone_from", "zone_to", "card", "transfers"])
        for _ in range(int(40000 * rng.uniform(0.87, 1.13))):
            w.writerow([rng.choice(["1", "2", "4", "7", "11"]), rng.randint(1, 6), rng.randint(1, 6),
                        rng.choices(["adult", "child", "senior"], [7, 2, 1])[0], rng.choice([0, 0, 1, 1, 2, 3])])
