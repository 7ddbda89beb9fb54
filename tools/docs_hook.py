"""For MkDocs: links that leave docs/ lead to the repository; the nav lists whole folders."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]*)")
_FOLDERS = ("findings", "decisions")


def on_config(config: Any) -> Any:
    """Write out the folders of the nav."""
    config["nav"] = [_written_out(each) for each in config["nav"]]
    return config


def _written_out(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_written_out(each) for each in entry]
    if isinstance(entry, dict):
        return {
            name: _pages(what.rstrip("/"))
            if isinstance(what, str) and what.rstrip("/") in _FOLDERS
            else _written_out(what)
            for name, what in entry.items()
        }
    return entry


def _pages(folder: str) -> list[str]:
    found = sorted((ROOT / "docs" / folder).glob("*.md"))
    found.sort(key=lambda path: path.name not in ("README.md", "index.md"))
    return [f"{folder}/{path.name}" for path in found]


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Point links to files outside docs/ to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def outside(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link[2]))
        if target.startswith("docs/"):
            return link[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{link[1]}{config['repo_url']}/{kind}/main/{target}"

    return _LINK.sub(outside, markdown)
