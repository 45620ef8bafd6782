"""Image files: a user's own, whose broken ones are named, and cached crops, which are written whole or not at all."""

import ctypes
import json
import mmap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from accelbench.core import Setting
from accelbench.errors import BadInput
from accelbench.workloads.data.files import resident_share
from accelbench.workloads.data.images import crops, image_folder, scan


def write_image(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def test_every_subfolder_is_a_class(tmp_path: Path) -> None:
    dog = write_image(tmp_path / "dogs" / "a.jpg")
    cats = [write_image(tmp_path / "cats" / name) for name in ("a.JPG", "deep/b.png")]
    (tmp_path / "cats" / "notes.txt").write_text("not an image")
    found = scan(tmp_path)
    assert found.classes == ("cats", "dogs")
    assert found.paths == (*cats, dog)
    assert found.labels == (0, 0, 1)
    assert found.broken == ()


def test_a_truncated_image_is_named_and_left_out(tmp_path: Path) -> None:
    sound, cut = (write_image(tmp_path / "cats" / name) for name in ("a.jpg", "b.jpg"))
    cut.write_bytes(cut.read_bytes()[:-200])
    found = scan(tmp_path)
    assert found.paths == (sound,)
    assert found.broken == (cut,)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>"])
def test_a_file_that_is_no_image_is_named_and_left_out(tmp_path: Path, content: bytes) -> None:
    write_image(tmp_path / "cats" / "a.jpg")
    wrong = tmp_path / "cats" / "b.jpg"
    wrong.write_bytes(content)
    assert scan(tmp_path).broken == (wrong,)


def test_a_folder_that_does_not_exist_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing: no such folder; expected one subfolder of images per class"):
        scan(tmp_path / "missing")


def test_a_file_given_for_a_folder_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a\.jpg: not a folder"):
        scan(write_image(tmp_path / "a.jpg"))


def test_images_without_class_folders_are_reported_in_one_line(tmp_path: Path) -> None:
    write_image(tmp_path / "a.jpg")
    with pytest.raises(BadInput, match=r"holds no images .*; expected one subfolder of images per class"):
        scan(tmp_path)


def test_a_folder_of_broken_images_only_is_reported_in_one_line(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg"):
        write_image(tmp_path / "cats" / name).write_bytes(b"")
    with pytest.raises(BadInput, match=r"none of its 2 images can be decoded, such as .*a\.jpg"):
        scan(tmp_path)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_crops_lie_in_one_folder_per_photograph() -> None:
    tree = crops(6)
    files = sorted(tree.rglob("*.jpg"))
    assert [path.parent.name for path in files] == ["china"] * 3 + ["flower"] * 3
    with Image.open(files[0]) as image:
        assert (image.format, image.size) == ("JPEG", (256, 256))


def test_crops_differ_from_each_other() -> None:
    contents = [path.read_bytes() for path in crops(8).rglob("*.jpg")]
    assert len(set(contents)) == 8


def test_the_recipe_with_its_seed_lies_beside_the_images() -> None:
    recipe = json.loads((crops(4) / "recipe.json").read_text(encoding="utf-8"))
    assert (recipe["count"], recipe["seed"], recipe["quality"]) == (4, 0, 90)


def test_crops_are_written_once() -> None:
    tree = crops(4)
    marked = next(tree.rglob("*.jpg"))
    marked.write_bytes(b"mine")
    assert crops(4) == tree
    assert marked.read_bytes() == b"mine"


def test_the_same_images_come_out_of_the_same_seed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [path.read_bytes() for path in sorted(crops(4).rglob("*.jpg"))]
    monkeypatch.setenv("ACCELBENCH_CACHE", str(cache.with_name("other")))
    assert [path.read_bytes() for path in sorted(crops(4).rglob("*.jpg"))] == first


def test_an_interrupted_write_leaves_nothing_to_be_mistaken_for_images(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Image.Image, "save", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            crops(4)
    assert list(cache.iterdir()) == []
    assert len(list(crops(4).rglob("*.jpg"))) == 4


def test_a_full_disk_is_reported_in_one_line_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image.Image, "save", _fill_the_disk)
    with pytest.raises(
        BadInput, match=r"cannot keep the images there \(No space left on device\); set ACCELBENCH_CACHE"
    ):
        crops(4)


def test_a_cache_that_is_a_file_is_reported_in_one_line(cache: Path) -> None:
    cache.write_text("")
    with pytest.raises(BadInput, match="set ACCELBENCH_CACHE to a folder with room"):
        crops(4)


def test_the_users_own_folder_is_used_as_it_is(tmp_path: Path) -> None:
    assert image_folder(Setting(data_dir=tmp_path)) == tmp_path


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _fill_the_disk(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


without_mincore = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mincore"), reason="no mincore here")


@without_mincore
def test_pages_that_were_written_are_resident_and_holes_that_nobody_read_are_not(tmp_path: Path) -> None:
    half, whole = tmp_path / "half", tmp_path / "whole"
    for path in (half, whole):
        path.write_bytes(b"x" * 64 * mmap.PAGESIZE)
    with half.open("r+b") as file:
        file.truncate(128 * mmap.PAGESIZE)
    assert resident_share([whole]) == 1
    assert resident_share([half]) == 0.5
    assert resident_share([half, whole]) == pytest.approx(128 / 192)


def test_nothing_is_said_of_files_that_are_empty_or_gone(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert resident_share([tmp_path / "empty"]) is None
    assert resident_share([tmp_path / "gone"]) is None
