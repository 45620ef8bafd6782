"""Where runs are kept, whether there is room, and what happens when saving fails."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.errors import BadInput
from harness.hosting.machine import this_machine
from harness.hosting.options import RESULTS_INI
from harness.units import size

HOST_STORAGE = "file://./.benchmarks"  # pytest-benchmark's default, where the user named no other
ROOM_BYTES = 8 * 2**20  # a run of hundreds of arms takes about one mebibyte
UNSAVED_STATUS = 2


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
        from harness.environment import machine_key

        folder = config.rootpath / config.getini(RESULTS_INI) / machine_key(this_machine())
        config.option.benchmark_storage = f"file://{folder}"
    if saving and (place := _folder(config.getoption("benchmark_storage"))):
        _require_room(place, "--benchmark-storage")
    if file := config.getoption("benchmark_json", None):
        _require_room(file.parent, "--benchmark-json")
    return chosen


class Saving:
    """Follows a run into its file.

    Registered when pytest is configured, so that its hooks run inside the terminal reporter's and around
    pytest-benchmark's: a failure is known before the summary is printed.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._document: dict[str, Any] | None = None
        self.in_own_folder = choose_folder(config)
        self.interrupted = False
        self.saved: Path | None = None
        self.failure = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Keep pytest-benchmark from adding its own folder below this machine's: it tells no two GPUs apart."""
        if self.in_own_folder:
            self._host.storage.default_machine_id = ""

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Remember what is about to be saved."""
        self._document = output_json

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Keep the run elsewhere when it cannot be saved."""
        self.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
        try:
            result = yield
        except OSError as error:
            if self._document is None:
                raise
            session.exitstatus = UNSAVED_STATUS
            self.failure = self._rescued(error, self._document)
            return None
        if self._document is not None:
            self.saved = self._newest()
        return result

    def told(self) -> Iterator[str]:
        """Yield what to say of the file at the session's end."""
        if self.failure:
            yield self.failure
        elif self.saved is not None:
            here = self._config.invocation_params.dir
            shown = self.saved.relative_to(here) if self.saved.is_relative_to(here) else self.saved
            yield f"saved in {shown}; render it with: accelbench report{'' if self.in_own_folder else f' {shown}'}"

    @property
    def _host(self) -> Any:
        """pytest-benchmark's session, which is there from the end of configuring on."""
        return self._config.pluginmanager.get_plugin("pytest-benchmark")

    def _rescued(self, error: OSError, document: dict[str, Any]) -> str:
        """Write the run to the temporary folder, and say in one line what happened."""
        if (file := self._newest()) is not None:
            _remove_truncated(file)
        failed = f"the run could not be saved ({error.strerror or error})"
        try:
            with tempfile.NamedTemporaryFile("w", prefix="accelbench-", suffix=".json", delete=False) as kept:
                json.dump(document, kept, default=repr)
        except OSError as another:
            return f"{failed}, nor kept in {tempfile.gettempdir()} ({another.strerror}); make room and run again"
        return f"{failed}; it is kept in {kept.name}: make room and move it into the results folder"

    def _newest(self) -> Path | None:
        """Return the newest run of this name in the storage, whose file names are pytest-benchmark's choice."""
        name, folder = self._host.save or self._host.autosave, getattr(self._host.storage, "path", None)
        if not name or folder is None:
            return None
        files = folder.rglob(f"[0-9][0-9][0-9][0-9]_{name}.json")
        return max(files, key=lambda file: file.stat().st_mtime, default=None)


def _remove_truncated(file: Path) -> None:
    with suppress(OSError):
        try:
            json.loads(file.read_bytes())
        except ValueError:
            file.unlink()


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
