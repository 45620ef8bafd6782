"""Where runs are kept, whether there is room, and what happens when saving fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import BadInput
from harness.hosting.aside import storage_folder, written_aside
from harness.hosting.journal import SUFFIX, Heading, Journal
from harness.hosting.machine import this_machine
from harness.hosting.options import RESULTS_INI
from harness.hosting.resuming import continued, differences, resumed, unfinished
from harness.identity import machine_key
from harness.record import KEY
from harness.units import plural, size

HOST_STORAGE = "file://./.benchmarks"  # pytest-benchmark's default, where the user named no other
ROOM_BYTES = 8 * 2**20  # a run of hundreds of arms takes about one mebibyte
UNSAVED_STATUS = 2
FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def keeps_results(config: pytest.Config) -> bool:
    """Say whether the project keeps runs in a folder per machine, and the user named no other storage."""
    return bool(config.getini(RESULTS_INI)) and config.getoption("benchmark_storage", None) == HOST_STORAGE


def choose_folder(config: pytest.Config) -> bool:
    """Point pytest-benchmark's storage at this machine's folder where it should be, and say whether it was.

    Raises:
        BadInput: the run is to be saved and cannot be.
    """
    saving = config.getoption("benchmark_save", None) or config.getoption("benchmark_autosave", None)
    chosen = keeps_results(config) and bool(saving or config.getoption("benchmark_compare", None))
    if chosen:
        folder = config.rootpath / config.getini(RESULTS_INI) / machine_key(this_machine())
        config.option.benchmark_storage = f"file://{folder}"
    if saving and (place := _folder(config.getoption("benchmark_storage"))):
        _require_room(place, "--benchmark-storage")
    if file := config.getoption("benchmark_json", None):
        _require_room(file.parent, "--benchmark-json")
    return chosen


class Saving:
    """Follows a run into its journal and its file.

    Registered when pytest is configured, so that its hooks run inside the terminal reporter's and around
    pytest-benchmark's: a failure is known before the summary is printed.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._document: dict[str, Any] | None = None
        self.in_own_folder = choose_folder(config)
        self.measures = False
        self.interrupted = False
        self.journal: Journal | None = None
        self.saved: list[Path] = []
        self.failure = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Keep pytest-benchmark from adding its own folder below this machine's: it tells no two GPUs apart."""
        if self.in_own_folder:
            self._host.storage.default_machine_id = ""

    def begin(self, heading: Callable[[str], Heading], *, resume: bool, in_parts: bool) -> Iterator[str]:
        """Begin the journal of a run that is to be saved, or take that of an unfinished one, and yield what to say.

        Raises:
            BadInput: the run cannot be continued.
        """
        self.measures = True
        folder = self._folder
        if folder is None:
            if resume:
                raise BadInput("--resume: nothing is saved; repeat the command of the unfinished run, and add --resume")
            if in_parts:
                raise BadInput(
                    "--accel-minutes: nothing is saved that a next part could go on with; add --benchmark-save=NAME"
                )
            return
        now, left = heading(self._name), unfinished(folder)
        self.journal = resumed(left, now, self._shown(folder)) if resume else continued(left, now) if in_parts else None
        if self.journal:
            yield f"accelbench: {_counted(self.journal)} come from {self._shown(self.journal.path)}"
            return
        started = re.sub(r"[^0-9T]", "", now.started.partition("+")[0])
        self.journal = Journal(folder / f"{now.name}-{started}-{os.getpid()}{SUFFIX}", now)
        if left:
            more = f", and {len(left) - 1} more" if left[1:] else ""
            if in_parts:
                more += f"; it is another run: {next(differences(left[0].heading, now), 'it has another name')}"
            yield (
                f"accelbench: an unfinished run lies in {self._shown(left[0].path)} ({_counted(left[0])}){more}; its "
                "command and --resume continue it, deleting the file gives it up"
            )

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Remember what is about to be saved."""
        self._document = output_json

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Bring the run's file to disk, and then let go of its journal; keep the run elsewhere when that fails."""
        self.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED  # also where the session was refused
        if self.interrupted:
            warnings.filterwarnings("ignore", message="Not saving anything")  # pytest puts the filters back at its end
        try:
            aside: AbstractContextManager[list[Path]] = written_aside(self._host) if self.measures else nullcontext([])
            with aside as placed:
                result = yield
        except OSError as error:
            if self._document is None:
                raise
            session.exitstatus = UNSAVED_STATUS
            self.failure = self._rescued(error, self._document)
            return None
        self.saved = placed
        if self.journal and placed:
            self._replace_parts(self.journal)
            if exitstatus in FINISHED:
                self.journal.remove()
            else:
                self.journal.note(placed)
        return result

    def _replace_parts(self, journal: Journal) -> None:
        """Remove the files of earlier parts, where all that is finished is in the file that is on disk now."""
        trials = (self._document or {}).get(KEY, {}).get("trials", [])
        if journal.finished.keys() <= {trial["id"] for trial in trials}:
            journal.remove_parts()

    def told(self) -> Iterator[str]:
        """Yield what to say of the files at the session's end."""
        if self.failure:
            yield self.failure
        for file in self.saved:
            shown = self._shown(file)
            yield f"saved in {shown}; render it with: accelbench report{'' if self.in_own_folder else f' {shown}'}"
        if self.journal and self.journal.failure and not self.saved:
            yield f"not every trial could be kept in {self._shown(self.journal.path)} ({self.journal.failure})"
        if self.journal and self.journal.path.exists():
            yield f"what is finished is kept in {self._shown(self.journal.path)}; the same command and --resume go on"

    @property
    def _host(self) -> Any:
        """pytest-benchmark's session, which is there from the end of configuring on."""
        return self._config.pluginmanager.get_plugin("pytest-benchmark")

    @property
    def _folder(self) -> Path | None:
        """Where the run is saved, None where it is not saved in a folder."""
        json_file = self._host.json
        return storage_folder(self._host) or (json_file.absolute().parent if json_file else None)

    @property
    def _name(self) -> str:
        """What the run is called in all of its sessions; the name that --benchmark-autosave gives holds the time."""
        host = self._host
        return str(host.save or ("autosave" if host.autosave else host.json.stem))

    def _shown(self, path: Path) -> Path:
        here = self._config.invocation_params.dir
        return path.relative_to(here) if path.is_relative_to(here) else path

    def _rescued(self, error: OSError, document: dict[str, Any]) -> str:
        """Write the run to the temporary folder, and say in one line what happened."""
        failed = f"the run could not be saved ({error.strerror or error})"
        try:
            with tempfile.NamedTemporaryFile("w", prefix="accelbench-", suffix=".json", delete=False) as kept:
                json.dump(document, kept, default=repr)
        except OSError as another:
            return f"{failed}, nor kept in {tempfile.gettempdir()} ({another.strerror}); make room and run again"
        return f"{failed}; it is kept in {kept.name}: make room and move it into the results folder"


def _counted(journal: Journal) -> str:
    return f"{len(journal.finished)} of {plural(len(journal.heading.selection), 'trial')}"


def _folder(storage: str) -> Path | None:
    """Return the folder behind a storage address, None where it is not one."""
    kind, separator, rest = storage.partition("://")
    if separator and kind != "file":
        return None
    return Path(rest if separator else storage)


def _require_room(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"room")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise BadInput(
            f"{folder}: results cannot be written there ({error.strerror}); make it writable or name another folder "
            f"with {option}"
        ) from None
    if free < ROOM_BYTES:
        raise BadInput(
            f"{folder}: only {size(free)} free, {size(ROOM_BYTES)} are needed to keep results; make room or name "
            f"another folder with {option}"
        )
