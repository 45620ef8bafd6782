"""The ceilings on file: what is broken or strange is measured again, never an error."""

from pathlib import Path

import pytest

from harness.ceilings import kept
from harness.record import Ceiling

MATRIX = [Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_ceilings_come_back_with_the_configuration_under_which_they_were_measured() -> None:
    kept.write("a-machine", "torch", {"torch.version": "2.9"}, MATRIX)
    found = kept.read("a-machine", "torch")
    assert found is not None
    assert (found.configuration, found.ceilings) == ({"torch.version": "2.9"}, MATRIX)
    assert kept.read("a-machine", "numpy") is None
    assert kept.read("another-machine", "torch") is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[" * 100_000,
        '{"schema_version": 1}',
        '{"schema_version": 99, "configuration": {}, "ceilings": [{"name": "m", "per_s": 1.0, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": [{"name": "m", "per_s": 0.0, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": [{"name": "m", "per_s": NaN, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": []}',
    ],
)
def test_a_file_that_cannot_be_relied_on_counts_as_none(cache: Path, content: str) -> None:
    kept.write("a-machine", "numpy", {}, MATRIX)
    (file,) = cache.rglob("*.json")
    file.write_text(content)
    assert kept.read("a-machine", "numpy") is None


def test_a_cache_that_cannot_be_written_is_no_error(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    kept.write("a-machine", "numpy", {}, MATRIX)
    assert kept.read("a-machine", "numpy") is None
