"""What a command runs, behind what starts it: `uv run`, `env`, `nice`, `srun`, a shell, Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from dask_blackbox.patterns import bounded

_ASSIGNMENT = bounded(r"[A-Za-z_]\w*=")
_PYTHON = bounded(r"(?:python|pypy)[\d.]*w?(?:\.exe)?")
_SHELLS = frozenset(("bash", "dash", "ksh", "sh", "zsh"))
_DURATION = bounded(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DEEPEST = 12  # wrappers in each other


class _Wrapper(NamedTuple):
    """A program that runs the command at its end.

    Attributes:
        one: Options that take the next word.
        two: Options that take the next two words.
        verbs: Subcommands that run a command; without one it is a command itself.
        own: How many words of its own stand before the command.
    """

    one: str = ""
    two: str = ""
    verbs: tuple[str, ...] = ()
    own: int = 0


_CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
_CONTAINER_OPTIONS = frozenset(
    [
        "-v",
        "--volume",
        "-e",
        "--env",
        "-w",
        "--workdir",
        "-u",
        "--user",
        "--name",
        "--network",
        "--net",
        "--entrypoint",
        "-p",
        "--publish",
        "--memory",
        "-m",
        "--cpus",
        "-c",
        "--cpu-shares",
        "--cpuset-cpus",
        "--gpus",
        "--mount",
        "--env-file",
        "--hostname",
        "-h",
        "--platform",
        "--pull",
        "--shm-size",
        "--add-host",
        "--label",
        "-l",
        "--restart",
        "--log-driver",
        "--log-opt",
        "--ulimit",
        "--cap-add",
        "--cap-drop",
        "--ipc",
        "--pid",
        "--runtime",
        "--device",
        "--tmpfs",
        "--volumes-from",
        "--security-opt",
        "--userns",
        "--dns",
        "--ip",
        "--stop-signal",
        "--stop-timeout",
        "--cidfile",
        "--group-add",
        "--memory-swap",
        "--secret",
    ]
)
"""Options of `docker run` that take the next word."""
_CONDA = _Wrapper("-n --name -p --prefix --cwd -e --env", verbs=("run",))
_MPI = _Wrapper(
    "-n -np -c -N -H --host -hosts -f -ppn -x -wdir --wdir -wd --map-by --bind-to --rank-by"
    " -hostfile --hostfile -machinefile --machinefile --report-bindings --prefix",
    two="-mca --mca -env -genv",
)
_WRAPPERS: Mapping[str, _Wrapper] = {
    "uv": _Wrapper(
        "-p --python --with --with-editable --with-requirements --extra --no-extra --group"
        " --no-group --only-group --env-file --package --directory --project --index"
        " --default-index -i --index-url --extra-index-url -f --find-links --config-file"
        " --cache-dir --color --link-mode -w --refresh-package --reinstall-package",
        verbs=("run",),
    ),
    "poetry": _Wrapper("-C --directory -P --project", verbs=("run",)),
    "pdm": _Wrapper("-p --project -s --site-packages", verbs=("run",)),
    "pipenv": _Wrapper("--python", verbs=("run",)),
    "hatch": _Wrapper("-e --env -p --project", verbs=("run",)),
    "pixi": _Wrapper("-e --environment --manifest-path", verbs=("run",)),
    "rye": _Wrapper("--pyproject", verbs=("run",)),
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "coverage": _Wrapper("--source --omit --include --rcfile", verbs=("run",)),
    "memray": _Wrapper("-o --output", verbs=("run",)),
    "env": _Wrapper("-u --unset -C --chdir"),
    "nice": _Wrapper("-n --adjustment"),
    "ionice": _Wrapper("-c -n --class --classdata"),
    "time": _Wrapper("-f --format -o --output"),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "exec": _Wrapper("-a"),
    "command": _Wrapper(),
    "stdbuf": _Wrapper("-i -o -e"),
    "timeout": _Wrapper("-s --signal -k --kill-after", own=1),
    "taskset": _Wrapper("", own=1),
    "numactl": _Wrapper("-m --membind -N --cpunodebind -C --physcpubind -i --interleave"),
    "sudo": _Wrapper("-u --user -g --group -D --chdir -h --host"),
    "chrt": _Wrapper(own=1),
    "flock": _Wrapper("-w --wait --timeout -E --conflict-exit-code", own=1),
    "chronic": _Wrapper(),
    "tini": _Wrapper("-p -e"),
    "dumb-init": _Wrapper("-r --rewrite"),
    "xvfb-run": _Wrapper("-e --error-file -f --auth-file -n --server-num -s --server-args -w"),
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "srun": _Wrapper(
        "-n --ntasks -N --nodes -c --cpus-per-task -p --partition -A --account -t --time -J"
        " --job-name -w --nodelist -x --exclude -G --gpus -D --chdir -o --output -e --error -i"
        " --input -C --constraint -q --qos -m --distribution --gres --mem --mem-per-cpu --mpi"
        " --cpu-bind --ntasks-per-node --gpus-per-node --gpus-per-task --jobid --export"
    ),
}  # fmt: skip

# Programs that run a file given to them, which then names the job.
_RUNNERS = frozenset(
    ("Rscript", "accelerate", "cProfile", "debugpy", "ipython", "julia", "jupyter", "kernprof",
     "nbconvert", "papermill", "pdb", "perl", "profile", "pyinstrument", "pytest", "run", "ruby",
     "scalene", "spark-submit", "torchrun", "trace", "viztracer")
)  # fmt: skip
_RUN_FILE = bounded(r"[^-].*\.(?:py|ipynb|R|r|jl|pl|rb)(?:::.*)?")


def argv_of(command: Sequence[str]) -> list[str]:
    """Return a command as the program in it sees it: without what starts it.

    Without wrappers, shell and interpreter; of a module, its name comes first.
    """
    return _program(command)[0]


def started_as(command: Sequence[str]) -> list[str]:
    """Return the same with a module as the path that Python makes of it."""
    argv, is_module = _program(command)
    if not is_module:
        return argv
    path = argv[0].removesuffix(".__main__").replace(".", "/")
    return [f"{path}.py", *argv[1:]]


def time_limit_of(command: Sequence[str]) -> float | None:
    """Return the seconds after which `timeout` ends what a command runs; None: it has no limit.

    Of several, the shortest one.
    """
    words: list[str] | None = list(command)
    found: list[float] = []
    for _ in range(_DEEPEST):
        if not words:
            break
        inner = _inside(words)
        if PurePath(words[0]).name == "timeout" and inner:
            found += _seconds(words[-len(inner) - 1])
        words = inner
    return min(found, default=None)


def _seconds(word: str) -> list[float]:
    """Return the duration that a word is for `timeout`, if it is one; 0 is no limit."""
    found = _DURATION.fullmatch(word)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    return [seconds] if seconds else []


def _program(command: Sequence[str]) -> tuple[list[str], bool]:
    """Return the program's words, and whether the first of them is a module."""
    words = list(command)
    for _ in range(_DEEPEST):
        inner = _inside(words)
        if inner is None:
            break
        words = inner
    name = PurePath(words[0]).name if words else ""
    if len(words) > 1 and _PYTHON.fullmatch(name):
        argv, is_module = _run_by_python(name, words[1:])
        # `python -m coverage run etl.py` does what `coverage run etl.py` does.
        tool = argv[0].rpartition(".")[2]
        if is_module and (tool in _WRAPPERS or tool in _RUNNERS):
            inner, inner_is_module = _program([tool, *argv[1:]])
            if inner[0] != tool:
                return inner, inner_is_module
        return argv, is_module
    return _run_by_runner(name, words), False


def _run_by_runner(name: str, words: list[str]) -> list[str]:
    if name not in _RUNNERS:
        return words
    files = (n for n, word in enumerate(words) if n and _RUN_FILE.fullmatch(word))
    place = next(files, None)
    if place is None:
        return words
    return [words[place].partition("::")[0], *words[place + 1 :]]


def _inside(words: list[str]) -> list[str] | None:
    """Return the command that a wrapper or a shell runs; None if it is neither."""
    name = PurePath(words[0]).name if words else ""
    if name in _SHELLS:
        return _run_by_shell(words[1:])
    if name in ("su", "runuser") and "-c" in words[:-1]:
        return _last_of(words[words.index("-c") + 1])
    how = _WRAPPERS.get(name)
    if how is not None:
        return _wrapped(how, words[1:])
    if name in _CONTAINERS:
        return _in_container(words) or _python_in(words)
    return None if _PYTHON.fullmatch(name) else _python_in(words)


def _python_in(words: list[str]) -> list[str] | None:
    """Return the script that Python runs at the end of an unknown command.

    `docker run --rm image python etl.py`, `strace -f python -m etl`.
    """
    for place, word in enumerate(words[1:-1], 1):
        runs = words[place + 1].startswith("-") or words[place + 1].endswith(".py")
        if runs and _PYTHON.fullmatch(PurePath(word).name):
            return words[place:]
    return None


def _wrapped(how: _Wrapper, words: list[str]) -> list[str] | None:
    verbs, own, place = list(how.verbs), how.own, 0
    while place < len(words):
        word = words[place]
        if how.verbs and not verbs and word in ("-m", "--module"):
            return ["python", "-m", *words[place + 1 :]]
        if word == "--":
            place += 1
            break
        if word.startswith("-") and word != "-":
            place += _words_of_option(how, word)
        elif _ASSIGNMENT.match(word):
            place += 1
        elif verbs:
            if word not in verbs:
                return None
            verbs, place = [], place + 1
        elif own:
            own, place = own - 1, place + 1
        else:
            break
    inner = words[place:]
    return None if not inner or verbs else _environment_command(how, inner)


def _words_of_option(how: _Wrapper, option: str) -> int:
    """Return how many words an option of a wrapper is, its values included."""
    if option in how.two.split():
        return 3
    return 2 if option in how.one.split() else 1


def _in_container(words: list[str]) -> list[str] | None:
    """Return the command after the image, or else the image, which has one of its own."""
    place = 2
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _CONTAINER_OPTIONS else 1
    if words[1:2] != ["run"] or place >= len(words):
        return None
    inner = words[place + 1 :]
    if inner and not inner[0].startswith("-"):
        return inner
    name = words[place].rpartition("/")[2].partition("@")[0].partition(":")[0]
    return [name, *inner]


def _environment_command(how: _Wrapper, inner: list[str]) -> list[str]:
    if how is _WRAPPERS["hatch"] and bounded(r"[\w.-]+:").match(inner[0]):
        # `hatch run prod:python etl.py`
        inner = [inner[0].partition(":")[2], *inner[1:]]
    # `uv run etl.py` runs a script as `python etl.py` does.
    return ["python", *inner] if how.verbs and inner[0].endswith(".py") else inner


def _run_by_shell(words: list[str]) -> list[str] | None:
    """Return the script of a shell, or the last command of a text; None: it is interactive."""
    for place, word in enumerate(words):
        if word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            return _run_by_shell(words[place + 2 :])
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return _last_of(words[place + 1]) if len(words) > place + 1 else None
        if not word.startswith(("-", "+")):
            return words[place:]
    return None


def _last_of(text: str) -> list[str] | None:
    """Return the last simple command of a shell's text: what comes before it prepares."""
    lexer = shlex.shlex(
        text.strip().rstrip(";"), posix=True, punctuation_chars=";&|<>()\n"
    )
    lexer.whitespace_split = True
    found: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set(";&\n"):
                found = []
            elif set(word) <= set("|<>()"):
                break
            else:
                found.append(word)
    except ValueError:  # quotes that are not closed
        return None
    while found and _ASSIGNMENT.match(found[0]):
        found = found[1:]
    return found or None


def _run_by_python(name: str, words: list[str]) -> tuple[list[str], bool]:
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--check-hash-based-pycs":
            place += 2
            continue
        if not word.startswith("-") or word == "-":
            return words[place:], False
        flags = "" if word.startswith("--") else word[1:]
        taking = next((n for n, flag in enumerate(flags) if flag in "cmWX"), None)
        place += 1
        if taking is None:
            continue
        attached = flags[taking + 1 :]
        value = [attached] if attached else words[place : place + 1]
        place += 0 if attached else 1
        if flags[taking] == "c":  # a text is no name
            return [f"{name} -c", *words[place:]], False
        if flags[taking] == "m" and value:
            return [*value, *words[place:]], True
    return [name, *words], False
