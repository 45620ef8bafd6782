"""A logged run trains as one without a log does, and reads its loss exactly as often and by the call that was asked."""

from collections.abc import Iterator
from typing import Any

import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.frameworks.torch import thread_count
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch.training_loop import READERS
from accelbench.workloads.torch.training_workloads import LOGGED_ROWS

framework = load("torch")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Steps this small are slower on several threads, and much slower where other processes take the cores."""
    with thread_count(1):
        yield


def built(**options: Any) -> Arm:
    return find_workload("logged-training").build(Setting(), device="cpu", **options)


@pytest.mark.parametrize(("interval", "reads"), [(0, 0), (100, 1), (10, 10), (1, 100)])
def test_a_run_of_a_hundred_steps_prints_its_loss_as_often_as_asked(
    interval: int, reads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = built(log_interval=interval, log_by="print")
    arm.step()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == reads
    assert all(line.startswith("tensor(") for line in printed)
    assert len(set(printed)) == reads
    assert arm.items == 100


def test_the_stated_work_is_that_of_all_steps() -> None:
    arm, step = built(), find_workload("mlp-train").build(Setting(), device="cpu")
    assert arm.work is not None
    assert step.work is not None
    assert arm.work.operations / (100 * LOGGED_ROWS) == step.work.operations / step.items


def test_within_a_block_nothing_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    arm = built(log_by="print")
    with arm.enter():
        arm.step()
    assert capsys.readouterr().out == ""


def test_reading_the_loss_changes_nothing_in_the_training() -> None:
    silent, *others = (check.output_of(built(log_by=log_by), framework) for log_by in READERS)
    assert check.find_invalid_values(silent) is None
    assert [relative_error(other, silent) for other in others] == [0] * (len(READERS) - 1)


@pytest.mark.parametrize("log_by", [name for name in READERS if name not in ("none", "print")])
def test_every_way_of_reading_brings_the_loss(log_by: str) -> None:
    losses, _ = built().step()
    assert READERS[log_by](losses[-1]) == losses[-1].item()


def test_a_reset_run_repeats_and_the_next_one_goes_on_learning() -> None:
    arm = built()
    first = framework.to_host(arm.step())
    assert relative_error(framework.to_host(arm.step()), first) > 1e-3
    assert relative_error(check.output_of(arm, framework), first) == 0


def test_an_unknown_way_of_reading_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="'tolist'; expected one of: none, item, float, print, numpy, cpu"):
        built(log_by="tolist")
