import re

__version__ = "0.4.2"
_SEP = re.compile(r"[^a-z0-9]+")


def slug(text):
    return _SEP.sub("-", text.lower()).strip("-")
