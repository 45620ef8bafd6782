"""The run configuration: how far a sweep goes depends on the machine, unless an option says it."""

from types import SimpleNamespace

import pytest

from accelbench.pytest_plugin import options as plugin_options
from accelbench.pytest_plugin.options import RunConfig, read_options


def largest_batch(pytester: pytest.Pytester, *options: str) -> int:
    asked = read_options(pytester.parseconfig(*options))
    return RunConfig(asked, rehearse=False).host.max_batch


@pytest.fixture
def with_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(plugin_options, "this_machine", lambda: SimpleNamespace(gpus=("NVIDIA H200",)))


@pytest.mark.usefixtures("with_a_gpu")
@pytest.mark.parametrize(
    ("options", "largest"),
    [((), 16384), (("--accel-size=small",), 64), (("--accel-max-batch=256",), 256)],
)
def test_on_a_gpu_batches_double_beyond_what_its_memory_holds(
    pytester: pytest.Pytester, options: tuple[str, ...], largest: int
) -> None:
    assert largest_batch(pytester, *options) == largest


@pytest.mark.usefixtures("with_a_gpu")
def test_a_hidden_gpu_is_none(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert largest_batch(pytester) == 64
    assert largest_batch(pytester, "--accel-size=full") == 1024
