"""Publishing: what changed is written, what did not is left, and nothing is deleted, in a folder and in a bucket."""

import fsspec
import pytest

from accelbench.errors import BadInput
from accelbench.locations import Published, publish

FILES = {"index.html": b"<p>1", "figures/a.svg": b"<svg/>", "effects.csv": b"run\n"}


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """Where to publish, and what reads it back."""
    if request.param == "folder":
        yield tmp_path / "pages", lambda: held(fsspec.filesystem("file"), str(tmp_path / "pages"))
        return
    system = fsspec.filesystem("memory")
    yield "memory://pages/run", lambda: held(system, "/pages/run")
    system.rm("/pages", recursive=True)


def held(system, root):
    return {path.removeprefix(f"{root}/"): system.cat_file(path) for path in system.find(root)}


def test_every_file_is_written_where_there_is_none(place):
    where, read = place
    assert publish(FILES, where) == Published(wrote=3, unchanged=0)
    assert read() == FILES


def test_only_what_changed_is_written_again(place):
    where, read = place
    publish(FILES, where)
    changed = FILES | {"index.html": b"<p>2", "effects.csv": b"run\n1\n"}
    assert str(publish(changed, where)) == "wrote 2 files, left 1 unchanged"
    assert read() == changed
    assert str(publish(changed, where)) == "wrote 0 files, left 3 unchanged"


def test_what_others_put_there_stays(place):
    where, read = place
    publish(FILES, where)
    publish({"index.html": b"another"}, where)
    assert read() == FILES | {"index.html": b"another"}


def test_a_file_that_is_written_once_is_never_replaced(place):
    where, read = place
    publish({"conf.json": b"mine"}, where)
    assert publish(FILES | {"conf.json": b"theirs"}, where, once=["conf.json"]) == Published(wrote=3, unchanged=1)
    assert read()["conf.json"] == b"mine"


def test_unchanged_files_are_not_touched(tmp_path):
    publish(FILES, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    publish(FILES | {"index.html": b"<p>2"}, tmp_path)
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path.name for path in before if before[path] != after[path]} == {"index.html"}
    assert len(after) == len([path for path in tmp_path.rglob("*") if path.is_file()])


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("s3://bucket/pages", "cannot be written (Install s3fs to access S3)"),
        ("nosuchthing://bucket", "cannot be written (Protocol not known: nosuchthing)"),
    ],
)
def test_a_storage_that_cannot_be_reached_is_one_line(where, words):
    with pytest.raises(BadInput) as refused:
        publish(FILES, where)
    assert str(refused.value).startswith(f"{where}: {words}")


def test_an_archive_that_is_read_only_is_one_line(tmp_path):
    system = fsspec.filesystem("zip", fo=str(tmp_path / "a.zip"), mode="w")
    system.pipe("index.html", b"before")
    system.close()
    with pytest.raises(BadInput, match="cannot be written"):
        publish(FILES, f"zip://::{(tmp_path / 'a.zip').as_uri()}")


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "pages").write_text("")
    with pytest.raises(BadInput, match=r"pages: cannot be written \(.*\); name another place with --output"):
        publish(FILES, tmp_path / "pages")
