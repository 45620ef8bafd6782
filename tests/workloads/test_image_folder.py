"""A user's image folder: read by class, broken files named and left out, unusable ones refused in one line."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from harness.errors import BadInput
from harness.workloads.data.image_folder import scan


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


def test_a_folder_that_does_not_exist_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing: no such folder; expected one subfolder of images per class"):
        scan(tmp_path / "missing")


def test_a_file_given_for_a_folder_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a\.jpg: not a folder"):
        scan(write_image(tmp_path / "a.jpg"))


def test_images_without_class_folders_are_told_in_one_line(tmp_path: Path) -> None:
    write_image(tmp_path / "a.jpg")
    with pytest.raises(BadInput, match=r"holds no images .*; expected one subfolder of images per class"):
        scan(tmp_path)


def test_a_folder_of_broken_images_only_is_told_in_one_line(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg"):
        write_image(tmp_path / "cats" / name).write_bytes(b"")
    with pytest.raises(BadInput, match=r"none of its 2 images can be decoded, such as .*a\.jpg"):
        scan(tmp_path)
