"""Pipes, devices and huge files where a certificate, a journal or a file that people write is expected."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelbench.errors import BadInput
from accelbench.history.policy import Subject, read_thresholds, read_waivers, write_waiver
from accelbench.pytest_plugin.resume import read_journal, unfinished_runs
from accelbench.schema.certificate import read_certificate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are neither pipes with names nor /dev/zero")
MACHINE = Subject(kind="machine", key="example")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


@pytest.fixture(params=[pipe, endless, huge], ids=["pipe", "endless", "huge"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path at which something else than a file of the usual size lies."""
    path = tmp_path / "0001_odd.journal"
    request.param(path)
    return path


def accept(path: Path) -> None:
    write_waiver(path, MACHINE, "example/0007_run", 0.9, "a new processor")


@pytest.mark.parametrize("read", [read_waivers, read_thresholds, read_certificate, accept])
def test_it_is_refused_in_one_line_that_names_it(path: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(BadInput, match=r"0001_odd.journal: cannot be (read|written)") as raised:
        read(path)
    assert "\n" not in str(raised.value)


def test_it_is_no_journal(path: Path) -> None:
    assert read_journal(path) is None
    assert unfinished_runs(path.parent) == []


def test_tables_within_tables_without_end_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "accepted-changes.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(BadInput, match=r"accepted-changes.toml: is n") as raised:
        read_waivers(tmp_path / "accepted-changes.toml")
    assert "\n" not in str(raised.value)
