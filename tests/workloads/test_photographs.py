"""The cached images: written once, whole or not at all."""

import json
from pathlib import Path

import pytest
from PIL import Image

from harness.errors import BadInput
from harness.experiment import Setting
from harness.workloads.data.photographs import crops, folder


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


def test_a_full_disk_is_told_in_one_line_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image.Image, "save", _fill_the_disk)
    with pytest.raises(
        BadInput, match=r"cannot keep the images there \(No space left on device\); set ACCELBENCH_CACHE"
    ):
        crops(4)


def test_a_cache_that_is_a_file_is_told_in_one_line(cache: Path) -> None:
    cache.write_text("")
    with pytest.raises(BadInput, match="set ACCELBENCH_CACHE to a folder with room"):
        crops(4)


def test_the_users_own_folder_is_used_as_it_is(tmp_path: Path) -> None:
    assert folder(Setting(data_dir=tmp_path)) == tmp_path


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _fill_the_disk(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
