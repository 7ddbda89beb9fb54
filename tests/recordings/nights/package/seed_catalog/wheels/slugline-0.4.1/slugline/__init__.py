import re

__version__ = "0.4.1"


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
