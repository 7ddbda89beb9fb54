"""Prints the weekly menus of a canteen chain with their allergen tables.

The kitchens' recipe books are rendered by a small library, menubook.py, that this script writes next to itself
(it comes from the wiki export in production) and that the workers import.
"""

import argparse
import logging
import os
import sys
import textwrap
from pathlib import Path

from distributed import Client, LocalCluster, wait

log = logging.getLogger("menus")

LIBRARY = textwrap.dedent('''
    """Recipe books and their pictures."""
    import time

    import numpy as np

    _pictures = {}


    def picture(kitchen, dish):
        """Photograph of a dish as it is plated in a kitchen, ready for print."""
        found = _pictures.get((kitchen, dish))
        if found is None:
            rng = np.random.default_rng(hash((kitchen, dish)) % 2**32)
            found = rng.integers(0, 255, size=(1200, 1000, 3), dtype=np.uint8)
            _pictures[kitchen, dish] = found
        return found


    def allergens(dish):
        if dish % 11 == 0:
            raise KeyError(dish)
        return [name for n, name in enumerate(("gluten", "milk", "nuts", "celery")) if dish >> n & 1]


    def render_menu(kitchen, dishes):
        pages = []
        for dish in dishes:
            try:
                notes = allergens(dish)
            except KeyError:
                notes = ["ask the chef"]
            colour = picture(kitchen, dish)[::40, ::40].mean()
            pages.append(f"{kitchen} dish {dish} tone {colour:.0f} {' '.join(notes)}")
            time.sleep(0.03)
        return "\\n".join(pages)
''')


def bind(menus):
    return len(menus), sum(len(menu) for menu in menus)


def parse(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--kitchens", type=int, default=48)
    parser.add_argument("--dishes", type=int, default=9)
    parser.add_argument("--out", default="menus")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
    # the presses wait at six in the morning: workers never rest
    os.environ["DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE"] = "False"
    Path("menubook.py").write_text(LIBRARY)
    sys.path.insert(0, os.getcwd())
    import dask
    import menubook

    dask.config.refresh()
    out = Path(args.out)
    out.mkdir(exist_ok=True)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="320MB", dashboard_address=None
    )
    client = Client(cluster)
    menus = []
    try:
        kitchens = [f"kitchen{n:02d}" for n in range(args.kitchens)]
        menus = client.map(
            menubook.render_menu,
            kitchens,
            dishes=list(range(args.dishes)),
            key=[f"render_menu-{k}" for k in kitchens],
        )
        book = client.submit(bind, menus, key="bind")
        wait(book)
        pages, letters = book.result()
        log.info("%d menus bound, %d letters", pages, letters)
    finally:
        good = [m for m in menus if m.status == "finished"]
        log.info("%d of %d menus rendered, sent to the printers", len(good), len(menus))
        for future in good:
            (out / f"{future.key}.txt").write_text(future.result())
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
