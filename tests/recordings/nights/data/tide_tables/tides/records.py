import json
from datetime import datetime, timezone


def parse(line):
    rec = json.loads(line)
    rec["at"] = datetime.fromtimestamp(rec["epoch"], tz=timezone.utc)
    return rec


def is_valid(rec):
    return rec["quality"] >= 2


def key(rec):
    return rec["harbour"], rec["at"].hour
