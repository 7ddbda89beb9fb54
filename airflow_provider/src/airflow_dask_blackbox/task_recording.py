"""The recording of one try of a task: begun before its cluster, ended before that closes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, tab_of
from airflow_dask_blackbox.compat import SIGNALS, AirflowTaskTimeout
from airflow_dask_blackbox.earlier_tries import EarlierTries, remember
from airflow_dask_blackbox.identity import identity_of
from airflow_dask_blackbox.masking import follow_airflow_masks
from airflow_dask_blackbox.progress_lines import ProgressLines, progress_interval
from airflow_dask_blackbox.rendered import cluster_facts
from airflow_dask_blackbox.stopping import (
    GRACE,
    Stop,
    finish_stopped,
    note_stop,
    stop_by_error,
    stop_by_signal,
    text_of_stop_while_closing,
)
from airflow_dask_blackbox.stores import TaskStore, configured_store
from airflow_dask_blackbox.supervisor_watch import watch_supervisor
from airflow_dask_blackbox.task_log import (
    Log,
    exception_note,
    show_beginning,
    show_card,
)
from airflow_dask_blackbox.xcoms import LinkPublisher

if TYPE_CHECKING:
    # The real one brings Dask along, and DAG files are parsed all day.
    from dask_blackbox import Recording, RunCard
    from dask_blackbox.card_data import RunState
    from dask_blackbox.protocol.messages import HostLineage
    from dask_blackbox.store import StoreChoice
    from distributed import Client

__all__ = ["TaskRecording"]


class TaskRecording:
    """What happens around the user's callable; leaves its value and its exception alone.

    Attributes:
        links: What was pushed for the buttons, by XCom key.
        driver_thread: The thread of the user's callable, where it is not the one that
            begins the recording.
        exit_code: Returns that of the command that does the work; None: there is none, or
            it has not ended.
        output: The last lines of that command, each with the time at which it was read.
    """

    def __init__(
        self,
        context: Mapping[str, Any],
        *,
        function: Callable[..., Any] | None,
        job: str | None,
        store: TaskStore,
        parameters: Mapping[str, Any],
        required: bool,
        log: Log,
        command: Sequence[str] | None = None,
        host: Mapping[str, str] | None = None,
        lineage: HostLineage | None = None,
    ) -> None:
        self.links: dict[str, str] = {}
        self.driver_thread: int | None = None
        self.exit_code: Callable[[], int | None] = lambda: None
        self.output: Callable[[], Iterable[tuple[float, str]]] = tuple
        self._context = context
        self._log = log
        self._required = required
        self._store = store
        self._function = function
        self._job, self._command = job, command
        self._host, self._lineage = dict(host or {}), lineage
        self._parameters = dict(parameters)
        self._rec: Recording | None = None
        self._announced = LinkPublisher(context["ti"], buttons=self.links)
        self._lines: ProgressLines | None = None
        self._ended = False
        self._error: BaseException | None = None
        self._stop_text = ""
        self._closes = False
        self._shown = threading.Event()
        self._ending: threading.Thread | None = None

    def __enter__(self) -> Self:
        try:
            if self._required:
                self._start()
            else:
                with guard("recording this task"):
                    self._start()
        except BaseException as error:  # Airflow's timeout may come at any line
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def _start(self) -> None:
        from dask_blackbox import recording
        from dask_blackbox.store import StoreChoice

        follow_airflow_masks()

        who = identity_of(self._context, self._job)
        chosen, refused = StoreChoice(configured_store(self._store.url)), None
        try:
            chosen = self._store.chosen()
        except Exception as error:  # noqa: BLE001 - of Airflow's connections: any at all
            refused = error
        self._announced.begin(who, chosen, conn_id=self._store.conn_id)
        earlier = EarlierTries(self._context, self._log)
        if refused is None:
            earlier.look(who, chosen)
        lines = self._lines = ProgressLines(self._log, interval=progress_interval())
        rec = recording(
            None,
            job=who.job,
            run_id=who.run_id,
            attempt=who.attempt,
            host={**who.host, **self._host},
            parameters=self._parameters,
            callable=self._function,
            required=self._required,
            command=self._command,
            on_progress=lines.update,
        )
        rec.place = partial(_place, chosen, refused)
        rec.host_lineage = self._lineage
        if self.driver_thread is not None:
            rec.driver_thread = self.driver_thread
        self._rec = rec
        rec.start()
        with guard("watching the supervisor of this task"):
            watch_supervisor(self._context["ti"].task)
        earlier.show()
        card = self._announced.addressed(rec.card)
        show_beginning(card, self._log)
        self._publish(card)

    @property
    def recording(self) -> Recording | None:
        """The recording itself, if there is one."""
        return self._rec

    @property
    def stopped(self) -> bool:
        """Whether Airflow has stopped the task, and the recording with it."""
        return self._ending is not None

    @property
    def page(self) -> str:
        """Address of this try's page in Airflow."""
        ti = self._context["ti"]
        return tab_of(TaskKey.of(ti), ti.try_number)

    @property
    def card(self) -> RunCard | None:
        """The card of this try, if it is recorded."""
        rec = self._rec
        return None if rec is None else self._announced.addressed(rec.card)

    @property
    def data(self) -> tuple[Sequence[str], Sequence[str]]:
        """What the task's graphs have read, and what they have written."""
        return ((), ()) if self._rec is None else self._rec.data

    def own(self, cluster: object) -> None:
        """Have the recorder close a cluster that a killed task leaves, from now on.

        Args:
            cluster: That the task has started, and that is closed with it.
        """
        if self._rec is not None:
            self._rec.own(cluster)

    def attach(self, client: Client, *, owned: bool = False) -> dict[str, Any]:
        """Record what this client's cluster does from here on; return what to show of it.

        Args:
            client: Of the cluster.
            owned: The cluster is closed with the task, by the recorder if nobody else is
                left.
        """
        shown: dict[str, Any] = {}
        with guard("what is known of the cluster"):
            shown.update(cluster_facts(client))
        if self._rec is None:
            return shown
        with guard("recording what the cluster does"):
            self._rec.attach(client, owned=owned)
        with guard("the button 'Dask dashboard'"):
            self._announced.cluster(client.dashboard_link)
        with guard("where the task is recorded"):
            links = self._announced.addressed(self._rec.card).links
            names = ("recording", "report")
            shown.update({name: links[name] for name in names if links.get(name)})
        return shown

    def abort(self) -> None:
        """End the recording as stopped, and say so, within seconds: SIGKILL follows.

        Airflow calls from a signal handler, in the middle of whatever the main thread
        was doing, locks and all.  Another thread can be waited for with a limit, and if it
        does not manage, the recorder sees this process go and ends the recording itself.
        """
        if self._rec is None:
            return
        if self._ended:
            if not self._closes:  # Airflow calls after its `execution_timeout`, too
                return
            saying = threading.Thread(target=self._stopped_while_closing, daemon=True)
            saying.start()
            saying.join(GRACE)
            return
        # After its `execution_timeout`, too, which came while the recording ended.
        error, known = sys.exception(), None
        if isinstance(error, AirflowTaskTimeout):
            known = stop_by_error(self._context, error)
        self._ending = threading.Thread(
            target=self._end_stopped, args=(time.time(), known), daemon=True
        )
        self._ending.start()
        self._ending.join(GRACE)

    @contextmanager
    def while_closing(self) -> Iterator[None]:
        """Log it if Airflow ends the task in the block, after the recording has ended.

        The recording contains how the work ended, and nothing after that.
        """
        self._closes = True
        try:
            yield
        except BaseException as error:
            if self._ended and error is not self._error:
                with guard("logging that Airflow stopped this task"):
                    stop = stop_by_error(self._context, error)
                    if stop is not None:
                        self._log_stop_once(stop)
            raise
        finally:
            self._closes = False

    def _stopped_while_closing(self) -> None:
        with guard("logging that Airflow stopped this task"):
            self._log_stop_once(stop_by_signal(self._context))

    def _log_stop_once(self, stop: Stop) -> None:
        # Airflow calls `on_kill` after its `execution_timeout`, too.
        if self._rec is not None and not self._stop_text:
            self._log_stop(text_of_stop_while_closing(stop, self._rec.card))

    def _log_stop(self, text: str) -> None:
        self._stop_text = text
        self._log.error("%s", text)

    def _end_stopped(self, at: float, known: Stop | None) -> None:
        rec, lines = self._rec, self._lines
        assert rec is not None and lines is not None  # noqa: S101, PT018 - `abort` has looked
        with guard("the end of the recording of a stopped task"):
            page = self._announced.address
            ended = finish_stopped(
                rec,
                self._context,
                at,
                self._log_stop,
                page,
                progress=lines.stop(),
                known=known,
                then=self._announced.cluster_ends,
            )
            card = self._announced.addressed(ended)
            if card.state == "running":  # its recorder ends it without this process
                self._shown.set()
            self.show()
            self._publish(card)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        rec = self._rec
        if rec is None:
            return
        if self._ending is not None:
            self._ending.join(GRACE / 2)
            if error is None:
                self._log.warning(
                    "This task continued although it was stopped, and returned a value; "
                    "its recording ends with the SIGTERM"
                )
        with guard("the card of this task"):
            # To Airflow, skipping is a way to end well, and so is coming again later.
            fine = isinstance(error, SIGNALS)
            if self._ending is None and not fine:
                stop = stop_by_error(self._context, error)
                if stop is not None:
                    note_stop(rec, stop)
            ended = self._finish(rec, None if fine else error)
            card = self._announced.addressed(ended)
            self._publish(card)
            if error is not None and not fine:
                unknown = card.state == "running"
                error.add_note(self._stop_text if unknown else exception_note(card))
            # Before the cluster is closed: that may take longer than Airflow waits.
            self.show()
        self._error, self._ended = error, True

    def _finish(self, rec: Recording, error: BaseException | None) -> RunCard:
        # Of a command that failed, Airflow's exception says no more than the code.
        code = None if error is None else self.exit_code()
        if code:
            rec.command_lines(self.output())
            return rec.finish_command(code)
        # A task that exits has failed in Airflow, whatever its exit code.
        exits: RunState | None = "failed" if isinstance(error, SystemExit) else None
        return rec.finish(exception=error, state=exits)

    def show(self) -> None:
        """Print the card in the task's log, once."""
        if self._rec is None or self._shown.is_set():
            return
        self._shown.set()
        with guard("the card in the log"):
            show_card(self._announced.addressed(self._rec.card), self._log)

    def _publish(self, card: RunCard) -> None:
        self._announced.show_state(card)
        if self._ending is None:  # else the next try finds the card in the store
            remember(self._context, card)


def _place(chosen: StoreChoice, refused: Exception | None) -> StoreChoice:
    """Return where a task records to.

    Raises:
        Exception: why that is not known.
    """
    if refused is not None:
        raise refused
    return chosen
