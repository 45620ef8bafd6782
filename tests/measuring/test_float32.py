"""Float32 is float32 in every arm of the suite; a user's own workload computes as it was written."""

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

import accelbench
from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, Workload, register_techniques
from accelbench.measuring.workers.pool import Pool


def _coarse() -> float:
    """Return the share of products and convolutions that may be computed in TensorFloat-32: neither, one, or both."""
    from torch.backends import cuda, cudnn

    return [cuda.matmul.fp32_precision, cudnn.conv.fp32_precision].count("tf32") / 2  # the older names may raise


def _watched(build: Build, level: str) -> Arm:  # noqa: ARG001  there is one level
    arm, built = build(), _coarse()
    return replace(arm, work=None, observe=lambda: {"built": built, "timed": _coarse()})


def _own(_: Setting, *, high: bool = False, newer: str = "") -> Arm:
    import torch
    from torch.backends import cuda

    if high:
        torch.set_float32_matmul_precision("high")
    if newer:
        cuda.matmul.fp32_precision = newer
    return Arm(step=lambda: torch.ones(3).sum())


WATCHED = Technique(name="watched", framework="torch", levels=("on",), summary="Watched.", apply=_watched)
OWN = Workload(name="own", frameworks=("torch",), unit="number", summary="Sum ones.", builder=_own)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["accelbench.core.technique"], "_TECHNIQUES", {})
        register_techniques(WATCHED)
        pool = Pool(Plan())
        yield pool
        pool.close()


def observed(pool: Pool, workload: str | Workload, **problem: int | str) -> tuple[float, float]:
    """Return what may be coarse where an arm is built and where it is timed."""
    trial = Trial(
        framework="torch",
        workload=workload,
        arms=({"watched": "on"},),
        problem=problem,
        techniques=(WATCHED,),
        plan=Plan(budget_s=1.0, builds=1, min_span_s=0.02),
    )
    (arm,) = pool.measure(trial).arms
    assert arm.outcome == "measured", arm.reason
    return arm.observed["built"], arm.observed["timed"]


@pytest.mark.slow
def test_the_suites_arms_are_built_and_timed_in_full_float32_and_the_run_says_so(pool: Pool) -> None:
    assert observed(pool, "mlp-train", batch_size=1) == (0, 0)
    told = pool.configuration()
    assert (told["torch.float32_matmul_precision"], told["torch.cudnn_conv_precision"]) == ("highest", "ieee")


@pytest.mark.slow
def test_a_users_workload_computes_as_it_was_written_and_changes_nothing_for_the_suites(pool: Pool) -> None:
    assert observed(pool, OWN) == (0.5, 0.5)  # PyTorch's own: convolutions alone
    assert observed(pool, OWN, high=True) == (1, 1)
    assert observed(pool, "mlp-train", batch_size=1) == (0, 0)


def test_a_users_workload_may_set_the_newer_switches_and_changes_nothing_for_the_next_trial(pool: Pool) -> None:
    assert observed(pool, OWN, newer="tf32") == (1, 1)
    assert observed(pool, "mlp-train", batch_size=1) == (0, 0)
    assert observed(pool, OWN) == (0.5, 0.5)


@pytest.fixture
def _switches_restored() -> Iterator[None]:
    from accelbench.frameworks.torch import float32_switches_restored

    with float32_switches_restored():
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_switches_restored")
def test_a_program_that_has_set_the_newer_switches_can_compare_and_keeps_them() -> None:
    import torch
    from torch.backends import cuda, cudnn

    cuda.matmul.fp32_precision = cudnn.conv.fp32_precision = "tf32"
    numbers = torch.rand(64, 64)
    arms = {"operator": lambda: numbers @ numbers, "function": lambda: torch.mm(numbers, numbers)}
    result = accelbench.compare(arms, budget_s=0.3)["function"]
    assert result.verdict in ("faster", "slower", "same", "undecided"), result.reason
    assert (cuda.matmul.fp32_precision, cudnn.conv.fp32_precision) == ("tf32", "tf32")
