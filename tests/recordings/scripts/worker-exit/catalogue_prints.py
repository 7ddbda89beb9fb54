"""Print files of the mail-order catalogue.

Pages are laid out by an old module of the print shop, which was written as a
program of its own. Step 1 lays out all pages, step 2 joins them to a book and
writes the order for the printer.
"""

import logging
import os
import pathlib
import sys
import textwrap

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

from distributed import Client, LocalCluster  # noqa: E402

log = logging.getLogger("catalogue")

LAYOUT_MODULE = '''
"""layout engine, 2009"""
import os
import sys

COLUMNS = 4


def fatal(code, text):
    sys.stderr.write("LAYOUT: " + text + "\\n")
    sys.stderr.flush()
    os._exit(code)


def layout(page, articles):
    rows = []
    for start in range(0, len(articles), COLUMNS):
        row = articles[start:start + COLUMNS]
        width = sum(a["width"] for a in row)
        if width > 210:
            fatal(12, "row too wide on page %d: %d mm" % (page, width))
        rows.append(row)
    return "\\n".join(" | ".join(a["name"] for a in row) for row in rows)
'''


def articles_of(page):
    articles = [
        {"name": f"article {page}-{i}", "width": 40 + (i * 3 + page) % 12}
        for i in range(16)
    ]
    if page == 23:
        articles[5]["width"] = 95
    return articles


def lay_out_page(page, folder):
    sys.path.insert(0, folder)
    try:
        import layout_engine
    finally:
        sys.path.remove(folder)
    text = layout_engine.layout(page, articles_of(page))
    target = pathlib.Path(folder) / f"page_{page:03d}.txt"
    target.write_text(text)
    return str(target)


def step_layout(client, folder, pages):
    futures = client.map(lay_out_page, range(pages), folder=folder)
    laid_out = 0
    for future in futures:
        try:
            future.result()
            laid_out += 1
        except Exception as problem:
            # single pages are done by hand in the print shop
            log.warning("a page was not laid out: %s", type(problem).__name__)
    log.info("%d of %d pages laid out", laid_out, pages)


def step_join(folder, pages):
    book = []
    for page in range(pages):
        book.append((folder / f"page_{page:03d}.txt").read_text())
    (folder / "book.txt").write_text("\f".join(book))
    return len(book)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    folder = pathlib.Path("catalogue").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "layout_engine.py").write_text(textwrap.dedent(LAYOUT_MODULE))
    pages = 30
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        step_layout(client, str(folder), pages)
    count = step_join(folder, pages)
    print(f"book of {count} pages is ready")


if __name__ == "__main__":
    main()
