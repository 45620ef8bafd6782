"""What stands at a path before a file is written there: links, folders, devices, FIFOs."""

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from accelbench.files import destination, is_special, write_atomically
from accelbench.locations import write_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights, and there are no FIFOs")


def test_a_link_stays_a_link_and_the_file_at_its_end_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link, link_to_link = tmp_path / "far" / "run.json", tmp_path / "link.json", tmp_path / "far" / "again.json"
    target.write_bytes(b"first")
    link.symlink_to("far/again.json")
    link_to_link.symlink_to("run.json")
    write_atomically(link, b"second")
    assert (link.is_symlink(), link_to_link.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_bytes() == b"second"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["again.json", "far", "link.json", "run.json"]


def test_a_link_to_a_file_that_does_not_exist_yet_makes_it(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "run.json")
    write_atomically(link, b"body")
    assert link.is_symlink()
    assert (tmp_path / "run.json").read_bytes() == b"body"


def test_a_text_that_a_command_writes_follows_links_too(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to("page.md")
    write_text("# Größe\n", str(link))
    assert link.is_symlink()
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == "# Größe\n"


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "one", b"body")
    assert (tmp_path / "one").is_symlink()


def test_a_link_to_a_folder_is_refused_like_the_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for name in ("folder", "link"):
        with pytest.raises(IsADirectoryError):
            write_atomically(tmp_path / name, b"body")
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_device_is_written_into_and_remains_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        write_atomically(device, b"body")
    except PermissionError:
        pytest.skip("this user may not make devices, or use them here")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


def test_a_link_to_a_device_remains_one(tmp_path: Path) -> None:
    link = tmp_path / "run.json"
    link.symlink_to(os.devnull)
    write_atomically(link, b"body")
    assert link.is_symlink()
    assert stat.S_ISCHR(link.stat().st_mode)


def test_who_reads_a_fifo_gets_the_whole_body(tmp_path: Path) -> None:
    fifo, body, read = tmp_path / "fifo", bytes(1_000_000), list[bytes]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    handle = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)  # so that the reader need not have come first
    reader.start()
    write_atomically(fifo, body)
    os.close(handle)
    reader.join(timeout=30)
    assert fifo.is_fifo()
    assert read == [body]


def test_a_fifo_that_nobody_reads_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="nobody reads this FIFO"):
        write_atomically(fifo, b"body")
    assert fifo.is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no such name")
def test_what_the_process_has_open_is_never_replaced_even_if_it_is_a_file() -> None:
    assert destination(Path("/dev/stdout")) == Path("/dev/stdout")
    assert is_special(Path("/dev/stdout"))


def test_a_usual_file_and_one_that_is_still_missing_are_not_special(tmp_path: Path) -> None:
    (tmp_path / "run.json").touch()
    assert [is_special(tmp_path / name) for name in ("run.json", "missing.json")] == [False, False]
