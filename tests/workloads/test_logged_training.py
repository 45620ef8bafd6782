"""A logged run trains as one without a log does, and reads its loss exactly as often and by the call that was asked."""

from collections.abc import Iterator
from typing import Any

import pytest

import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput
from harness.experiment import Arm, Setting, find_workload
from harness.frameworks import load
from harness.measuring import check
from harness.techniques.torch.computing import thread_count
from harness.workloads.torch.logged_training import READERS

framework = load("torch")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Steps this small are slower on several threads, and much slower where other processes take the cores."""
    with thread_count(1):
        yield


def built(**options: Any) -> Arm:
    return find_workload("logged-training").build(Setting(), device="cpu", **options)


@pytest.mark.parametrize(("interval", "reads"), [(None, 0), (100, 1), (10, 10), (1, 100)])
def test_a_run_of_a_hundred_steps_prints_its_loss_as_often_as_asked(
    interval: int | None, reads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = built(log_interval=interval, log_by="print")
    arm.step()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == reads
    assert all(line.startswith("tensor(") for line in printed)
    assert len(set(printed)) == reads
    assert arm.items == 100


def test_within_a_block_nothing_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    arm = built(log_by="print")
    with arm.entered():
        arm.step()
    assert capsys.readouterr().out == ""


def test_reading_the_loss_changes_nothing_in_the_training() -> None:
    silent, *others = (check.output_of(built(log_by=log_by), framework) for log_by in READERS)
    assert check.fault(silent) is None
    assert [check.relative_error(other, silent) for other in others] == [0] * (len(READERS) - 1)


@pytest.mark.parametrize("log_by", [name for name in READERS if name not in ("none", "print")])
def test_every_way_of_reading_brings_the_loss(log_by: str) -> None:
    loss, _ = built().step()
    assert READERS[log_by](loss) == loss.item()


def test_a_reset_run_repeats_and_the_next_one_goes_on_learning() -> None:
    arm = built()
    first = framework.to_host(arm.step())
    assert check.relative_error(framework.to_host(arm.step()), first) > 1e-3
    assert check.relative_error(check.output_of(arm, framework), first) == 0


def test_an_unknown_way_of_reading_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="'tolist'; expected one of: none, item, float, print, numpy, cpu"):
        built(log_by="tolist")
