"""A driver that its host stops, and kills, while its recorder cannot listen.

python recorder_suspended.py STORE
"""

from __future__ import annotations

import os
import signal
import sys

from dask_blackbox import recording
from scenario_reports import recorders, report

rec = recording(store=sys.argv[1], job="suspended", run_id="killed")
rec.start()
(recorder,) = recorders(os.getpid())
os.kill(recorder, signal.SIGSTOP)
rec.stopped_by("airflow", "marked-failed")
card = rec.finish(state="aborted", timeout=0.5)
report(recorder=recorder, links=rec.links, state=card.state)
os.kill(os.getpid(), signal.SIGKILL)
