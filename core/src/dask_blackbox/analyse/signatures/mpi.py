"""What the launchers of MPI print when they end a job because one of its ranks did."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

RANK_KILLED_BY_SIGNAL = Signature(
    r"(?P<launcher>mpirun|mpiexec|orterun|prterun) noticed that process rank "
    r"(?P<rank>\d{1,7}) with PID (?P<pid>\d{1,9}) on node (?P<node>[^\s]{1,255}) exited on "
    r"signal (?P<signal>\d{1,3})",
    "mpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed).",
    source="mpi",
)
RANK_OF_FIRST_FAILURE = Signature(
    r"^\s{0,8}Process name: \[\[\d{1,9},\d{1,9}\],(?P<rank>\d{1,7})\]",
    "  Process name: [[24976,1],3]",
    source="mpi",
)
EXIT_CODE_OF_FIRST_FAILURE = Signature(
    r"^\s{0,8}Exit code: {1,8}(?P<code>\d{1,3})$",
    "  Exit code:    3",
    source="mpi",
)
