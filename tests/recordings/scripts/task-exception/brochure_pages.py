"""Preview pictures of the travel brochures, for the web shop.

Each brochure page is exported as text from the layout system; a preview is made
page by page with a converter that marketing uses on their desks. A bag holds all
pages, the index of previews goes to the shop.
"""

import json
import logging
import os
import subprocess
import tempfile

import dask
import dask.bag as db
from distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("brochures")

CONFIG = """
{
  "converter": "brochure2png",
  "resolution": 150,
  "brochures": {"alps": 10, "lakes": 8, "islands": 14}
}
"""


def export_pages(folder, brochures):
    """What the layout system writes over night."""
    pages = []
    for name, count in brochures.items():
        for number in range(1, count + 1):
            path = os.path.join(folder, f"{name}_{number:03d}.page")
            with open(path, "w") as out:
                out.write(f"{name} page {number}\n" + "lorem ipsum " * 200)
            pages.append({"brochure": name, "number": number, "path": path})
    return pages


def count_words(page):
    with open(page["path"]) as text:
        words = len(text.read().split())
    return {**page, "words": words}


def make_preview(page, converter, resolution):
    target = page["path"].replace(".page", ".png")
    subprocess.run(
        [converter, "--dpi", str(resolution), page["path"], target],
        check=True,
        capture_output=True,
        timeout=30,
    )
    return {**page, "preview": target, "bytes": os.path.getsize(target)}


def check_pages(pages):
    """A page without text is a mistake of the layout system: warn about it."""
    thin = [p for p in pages if p["words"] < 50]
    for page in thin:
        log.warning("%(brochure)s page %(number)s is nearly empty", page)
    return len(thin)


def build_index(pages):
    index = {}
    for page in pages:
        index.setdefault(page["brochure"], []).append(page["preview"])
    return index


def main():
    config = json.loads(CONFIG)
    with tempfile.TemporaryDirectory() as folder:
        with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
            client = Client(
                n_workers=2,
                threads_per_worker=2,
                memory_limit="400MB",
                dashboard_address=None,
            )
        try:
            pages = export_pages(folder, config["brochures"])
            bag = db.from_sequence(pages, npartitions=6).map(count_words)
            log.info(
                "%d pages, %d nearly empty", len(pages), check_pages(bag.compute())
            )

            previews = bag.map(
                make_preview,
                converter=config["converter"],
                resolution=config["resolution"],
            )
            index = build_index(previews.compute())
            log.info("index of %d brochures", len(index))
            with open("index.json", "w") as out:
                json.dump(index, out)
        finally:
            client.close()


if __name__ == "__main__":
    main()
