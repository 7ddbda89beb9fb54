import random

import seedtax
import slugline


def lots(seed, n):
    rng = random.Random(seed)
    return [
        (
            f"{rng.choice(list(seedtax.GENERA))}-{rng.randint(1, 900)}",
            rng.gauss(82, 9),
            rng.randint(0, 5),
        )
        for _ in range(n)
    ]


def entries(seed, n, min_rate):
    """Catalogue entries of one supplier: the lots that germinate well enough."""
    found = {}
    for code, rate, age in lots(seed, n):
        if seedtax.aged_rate(rate, age) >= min_rate:
            name = slugline.slug(f"{seedtax.genus(code)} {code}")
            found[name] = max(rate, found.get(name, 0))
    return found
