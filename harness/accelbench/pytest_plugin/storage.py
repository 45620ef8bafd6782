"""Where runs are saved, whether there is room, and what happens when saving fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.storage.file import FileStorage
from pytest_benchmark.utils import safe_dumps

from accelbench.errors import BadInput, UnreadableResult
from accelbench.files import destination, hide_from_git, is_special, require_writable, write_atomically
from accelbench.locations import JOURNAL, RESULTS, RESULTS_INI, UNCONFIGURED, configured_results, number_of
from accelbench.pytest_plugin.options import Options, this_machine
from accelbench.pytest_plugin.resume import (
    Journal,
    JournalHeader,
    differences,
    find_resumable,
    find_same,
    unfinished_runs,
)
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import describe_error, message_line
from accelbench.schema.result import KEY
from accelbench.schema.result_json import from_bytes
from accelbench.text import list_some
from accelbench.units import plural, size

HOST = "pytest-benchmark"  # the name under which pytest-benchmark registers its session
DEFAULT_STORAGE = f"file://./{UNCONFIGURED}"  # pytest-benchmark's, where the user named no other
UNNAMED = "unnamed"  # the name of a run that the user gave none
ROOM_BYTES = 8 * 2**20  # a run of hundreds of arms takes about one mebibyte
UNSAVED_STATUS = 2
FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def keeps_results(config: pytest.Config) -> bool:
    """Return whether the project keeps runs in a folder per machine and the user named no other storage."""
    return bool(config.getini(RESULTS_INI)) and _is_default(config)


def _is_default(config: pytest.Config) -> bool:
    return bool(config.getoption("benchmark_storage", None) == DEFAULT_STORAGE)


class AtomicStorage(FileStorage):  # type: ignore[misc]  # pytest-benchmark has no types
    """pytest-benchmark's storage in a folder, whose files get their names when they are complete and on disk."""

    def __init__(self, host: Any, folder: Path, machine_id: str = "") -> None:
        super().__init__(folder, logger=host.logger, default_machine_id=machine_id)
        self.saved: list[Path] = []

    @property
    def folder(self) -> Path:
        """The folder of this machine."""
        return Path(self.get(""))

    def numbered_files(self) -> dict[int, Path]:
        """Return the files of runs by their numbers."""
        return {number: file for file in self.folder.glob("*.json") if (number := number_of(file))}

    def save(self, output_json: dict[str, Any], save: str) -> None:
        """Save a run under the next number.

        Raises:
            OSError: the file cannot be written; nothing is left of it.
        """
        number = max(self.numbered_files(), default=0) + 1
        place = self.folder / f"{number:04}_{save}.json"
        write_atomically(place, _compact(safe_dumps(output_json)))
        self.saved.append(place)


class Storage:
    """Saves a run: into its journal while it is measured, and into its file at the end.

    It is registered when pytest is configured, so that its hooks run inside the terminal reporter's and around
    pytest-benchmark's, and a failure is known before the summary is printed. Until a journal is opened, which happens
    only in sessions that measure, it leaves everything to pytest-benchmark.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._document: dict[str, Any] | None = None
        self._keeps_results, self._is_default = keeps_results(config), _is_default(config)
        wanted = any(config.getoption(f"benchmark_{name}", None) for name in ("save", "autosave", "compare"))
        self.in_own_folder = self._keeps_results and wanted
        if self.in_own_folder:
            config.option.benchmark_storage = f"file://{self._machines_folder()}"
        self.has_trials = False
        self.interrupted = False
        self._in_parts = False  # the same command continues an unfinished run
        self.journal: Journal | None = None
        self.saved: list[Path] = []
        self.failure = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Keep pytest-benchmark from adding a folder of its own, whose name does not distinguish GPUs."""
        if self.in_own_folder:
            self._host.storage = AtomicStorage(self._host, self._host.storage.path)

    def _machines_folder(self) -> Path:
        """Return this machine's folder among the results that the project keeps."""
        folder: Path = self._config.rootpath / self._config.getini(RESULTS_INI) / machine_key(this_machine())
        return folder

    def open_journal(self, header: Callable[[str], JournalHeader], options: Options) -> Iterator[str]:
        """Open the journal of a run that is to be saved, or of the unfinished run; yield lines for the terminal.

        Raises:
            BadInput: the run cannot be saved, or the unfinished one cannot be continued.
        """
        host, self._in_parts = self._host, options.minutes is not None
        if host.save or host.autosave or host.json:
            self._require_room()
        else:
            yield from self._name_run()
        if isinstance(host.storage, FileStorage) and not isinstance(host.storage, AtomicStorage):
            host.storage = AtomicStorage(host, host.storage.path, machine_id=host.storage.default_machine_id)
        folder = self._folder
        if folder and self._is_default and (host.save or host.autosave):
            self._hide_from_git(folder)
        if folder is None:
            if options.resume:
                raise BadInput("--accel-resume: this run is not saved; repeat the whole command of the unfinished run")
            if self._in_parts:
                raise BadInput(
                    "--accel-minutes: the next part needs a saved run to continue; add --benchmark-save=NAME"
                )
            return
        # The name that --benchmark-autosave gives contains the time.
        now = header(str(host.save or ("autosave" if host.autosave else host.json.stem)))
        unfinished = unfinished_runs(folder)
        if options.resume:
            self.journal = find_resumable(unfinished, now, self._relative(folder))
        elif self._in_parts:
            self.journal = find_same(unfinished, now)
        if self.journal:
            yield f"accelbench: {_count_finished(self.journal)} come from {self._relative(self.journal.path)}"
            return
        started = re.sub(r"[^0-9T]", "", now.started.partition("+")[0])
        self.journal = Journal(folder / f"{now.name}-{started}-{os.getpid()}{JOURNAL}", now)
        if unfinished:
            runs = list_some((f"{self._relative(each.path)} ({_count_finished(each)})" for each in unfinished), 1)
            if self._in_parts:
                runs += f"; it is another run: {next(differences(unfinished[0].header, now), 'it has another name')}"
            yield (
                f"accelbench: an unfinished run is in {runs}; "
                "repeat its command with --accel-resume to continue it, or delete the file to discard it"
            )

    def _name_run(self) -> Iterator[str]:
        """Save a run that the user gave no name where named ones are saved; yield a line if that is impossible.

        Raises:
            BadInput: it is impossible in the storage that the user named.
        """
        host = self._host
        if self._keeps_results and not self.in_own_folder:
            self.in_own_folder = True
            host.storage = AtomicStorage(host, self._machines_folder())
        if not isinstance(host.storage, FileStorage):  # a database gets only what the user sends there
            yield "accelbench: this run is not saved; --benchmark-save=NAME saves it"
            return
        host.save = UNNAMED
        try:
            self._require_room()
        except BadInput as error:
            if not self._is_default:
                raise
            host.save = None
            yield f"accelbench: this run is not saved: {error}"

    def _hide_from_git(self, folder: Path) -> None:
        """Hide runs from Git where the project names no folder for them, and elsewhere those without a name."""
        with suppress(OSError):  # saving will say it
            if configured_results(self._config.invocation_params.dir):
                hide_from_git(folder, ".gitignore", f"*_{UNNAMED}.*", f"*{JOURNAL}")
            else:
                hide_from_git(folder if self.in_own_folder else self._host.storage.path, "*")

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Remember the document that is about to be saved."""
        self._document = output_json

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Write the run's file, then remove its journal; if writing fails, save the run elsewhere."""
        self.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED  # also if the session was refused
        if not (self.has_trials and self._host):
            return (yield)
        try:
            with warnings.catch_warnings(), self._atomic_json():
                # If warnings are errors, a run without any result would end in a traceback of pytest-benchmark's.
                is_expected = self.interrupted or self._host.save == UNNAMED
                warnings.filterwarnings("ignore" if is_expected else "default", message="Not saving anything")
                result = yield
        except (OSError, TypeError, ValueError, LookupError, RecursionError) as error:  # also of a test's extra_info
            if self._document is None:
                raise
            result, session.exitstatus = None, UNSAVED_STATUS
            saved = [*getattr(self._host.storage, "saved", ())]
            if not saved or self._host.json:
                self.saved, self.failure = saved, self._rescue(error, self._document)
                return None
            self.failure = (
                f"pytest-benchmark failed after the run was saved ({describe_error(error)}); check its options, such "
                "as --benchmark-group-by"
            )
        self.saved = [*getattr(self._host.storage, "saved", ()), *self.saved]
        if why := _why_unreadable(self._document):
            session.exitstatus = UNSAVED_STATUS
            self.failure = why
            return result
        if self.journal and self.saved:
            trials = (self._document or {}).get(KEY, {}).get("trials", [])
            if self.journal.visits.keys() <= {trial["id"] for trial in trials}:
                self.journal.remove_parts()
            if exitstatus in FINISHED:
                self.journal.remove()
            else:
                self.journal.note_parts(self.saved)
        return result

    def leave_out(self, entry: Any) -> None:
        """Keep pytest-benchmark from saving a run in which nothing was measured for this entry of a failed test."""
        if self._host and entry in self._host.benchmarks:
            self._host.benchmarks.remove(entry)

    @contextmanager
    def _atomic_json(self) -> Iterator[None]:
        """Have pytest-benchmark write its --benchmark-json into a draft, and rename the draft when it is complete.

        pytest-benchmark has no hook for this, and would announce the draft.
        """
        host = self._host
        if not host.json:
            yield
            return
        place, level = host.json.absolute(), host.logger.level
        with nullcontext(self._folder) if self._folder else tempfile.TemporaryDirectory() as folder:
            draft = Path(folder, f".{place.name}.draft")
            host.json, host.logger.level = draft, host.logger.QUIET
            try:
                yield
                if draft.exists():
                    write_atomically(place, _compact(draft.read_text()))
                    self.saved = [] if is_special(place) else [place]
            finally:
                host.json, host.logger.level = place, level
                with suppress(OSError):  # where there can be no draft
                    draft.unlink(missing_ok=True)

    @property
    def earlier_files(self) -> list[Path]:
        """The files of earlier runs in the folder of this one, newest first; none where the run gets no number."""
        host = self._host
        if host is None or not (host.save or host.autosave) or not isinstance(host.storage, AtomicStorage):
            return []
        return [file for _, file in sorted(host.storage.numbered_files().items(), reverse=True)]

    def closing_lines(self) -> Iterator[str]:
        """Yield what the terminal shows about the files at the session's end."""
        if self.failure:
            yield self.failure
        for file in self.saved:
            shown = self._relative(file)
            place = "" if self._is_found(file) else f" {shown}"
            is_run = KEY in (self._document or {})  # not where only pytest-benchmark has measured
            yield f"saved in {shown}" + (f"; render it with: accelbench report{place}" if is_run else "")
        if self.interrupted and self.journal and self._document is None and not self.journal.path.exists():
            yield "nothing was measured, so no run is saved"
        if self.journal and self.journal.failure and not self.saved:
            yield f"not every trial could be kept in {self._relative(self.journal.path)} ({self.journal.failure})"
        if self.journal and self.journal.path.exists():
            again = "the same command" if self._in_parts else "the same command with --accel-resume"
            yield f"what was measured is kept in {self._relative(self.journal.path)}; {again} continues the run"

    def _is_found(self, file: Path) -> bool:
        """Return whether ``accelbench report`` finds a file by itself, called where pytest was."""
        here = self._config.invocation_params.dir
        return file.is_relative_to(configured_results(here) or here / RESULTS) or file.is_relative_to(
            here / UNCONFIGURED
        )

    @property
    def _host(self) -> Any:
        """pytest-benchmark's session, which exists once pytest is configured; None if the plugin is switched off."""
        return self._config.pluginmanager.get_plugin(HOST)

    @property
    def _folder(self) -> Path | None:
        """The folder in which the run is saved, None if there is none, as where it is written into a device."""
        host = self._host
        if host is None:
            return None
        if (host.save or host.autosave) and isinstance(host.storage, AtomicStorage):
            return host.storage.folder
        with suppress(OSError):  # refused before anything is measured, or changed since
            place = destination(host.json) if host.json else None
            return place.parent if place and not is_special(place) else None
        return None

    def _require_room(self) -> None:
        host = self._host
        if (host.save or host.autosave) and isinstance(host.storage, FileStorage):
            _require_room(host.storage.path, "--benchmark-storage")
        if host.json:
            try:
                place = destination(host.json)
            except OSError as error:
                raise BadInput(
                    f"--benchmark-json={host.json}: results cannot be written there ({error.strerror}); name a file"
                ) from None
            if not is_special(place):
                _require_room(place.parent, "--benchmark-json")

    def _relative(self, path: Path) -> Path:
        here = self._config.invocation_params.dir
        return path.relative_to(here) if path.is_relative_to(here) else path

    def _rescue(self, error: Exception, document: dict[str, Any]) -> str:
        """Write the run to the temporary folder, and return what happened in one line.

        Other tests' facts are left out where they are what cannot be written.
        """
        failed = f"the run could not be saved ({getattr(error, 'strerror', None) or message_line(error)})"
        try:
            body = _compact(json.dumps(document, default=repr))
        except (TypeError, ValueError, RecursionError):
            body = _compact(json.dumps({KEY: document.get(KEY)}, default=repr))
        kept = None
        try:
            with tempfile.NamedTemporaryFile(prefix="accelbench-", suffix=".json", delete=False) as kept:
                kept.write(body)
        except OSError as another:
            if kept:
                Path(kept.name).unlink(missing_ok=True)
            return f"{failed}, nor kept in {tempfile.gettempdir()} ({another.strerror}); make room and run again"
        return f"{failed}; it is kept in {kept.name}: make room and move it into the results folder"


def without_readings(machine_info: dict[str, Any]) -> None:
    """Remove the host's name, which is nobody's business, and clock readings, which differ every time."""
    machine_info.pop("node", None)
    cpu = machine_info.get("cpu") or {}
    for reading in [key for key in cpu if key.startswith("hz_")]:
        del cpu[reading]


def _why_unreadable(document: dict[str, Any] | None) -> str:
    """Return in one line why nobody could read the run of a document that was saved; "" if it can be read."""
    if not document or KEY not in document:
        return ""
    try:
        from_bytes(_compact(safe_dumps({KEY: document[KEY]})), source="the saved run")
    except UnreadableResult as error:
        return str(error)
    return ""


def _compact(document: str) -> bytes:
    """Return a JSON document without indentation, with null for any NaN that a test recorded."""
    facts = json.loads(document, parse_constant=lambda _: None)
    return json.dumps(facts, separators=(",", ":"), allow_nan=False).encode()


def _count_finished(journal: Journal) -> str:
    visits = sum(map(len, journal.visits.values()))
    return f"{plural(visits, 'visit')} of {plural(len(journal.header.selection), 'trial')}"


def _require_room(folder: Path, option: str) -> None:
    try:
        require_writable(folder)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise BadInput(
            f"{folder}: results cannot be written there ({error.strerror}); make it writable, or name another folder "
            f"with {option}"
        ) from None
    if free < ROOM_BYTES:
        raise BadInput(
            f"{folder}: only {size(free)} free, and results need {size(ROOM_BYTES)}; make room, or name "
            f"another folder with {option}"
        )
