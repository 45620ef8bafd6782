"""Float32 is float32 in every arm of the suite; a user's own workload computes as it was written."""

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.experiment import Arm, Build, Plan, Setting, Technique, Trial, Workload, adopt
from harness.measuring.pool import Pool


def _coarse() -> float:
    """Return the share of products and convolutions that may be computed in TensorFloat-32: neither, one, or both."""
    import torch

    return (torch.backends.cuda.matmul.allow_tf32 + torch.backends.cudnn.allow_tf32) / 2


def _watched(build: Build, level: str) -> Arm:  # noqa: ARG001  there is one level
    arm, built = build(), _coarse()
    return replace(arm, work=None, observe=lambda: {"built": built, "timed": _coarse()})


def _own(_: Setting, *, high: bool = False) -> Arm:
    import torch

    if high:
        torch.set_float32_matmul_precision("high")
    return Arm(step=lambda: torch.ones(3).sum())


WATCHED = Technique(name="watched", framework="torch", levels=("on",), summary="Watched.", apply=_watched)
OWN = Workload(name="own", frameworks=("torch",), unit="number", summary="Sum ones.", builder=_own)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["harness.experiment.technique"], "_TECHNIQUES", {})
        adopt(WATCHED)
        pool = Pool(Plan())
        yield pool
        pool.close()


def observed(pool: Pool, workload: str | Workload, **problem: int) -> tuple[float, float]:
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


def test_the_suites_arms_are_built_and_timed_in_full_float32_and_the_run_says_so(pool: Pool) -> None:
    assert observed(pool, "mlp-train", batch_size=1) == (0, 0)
    told = pool.configuration()
    assert (told["torch.float32_matmul_precision"], told["torch.cudnn_conv_precision"]) == ("highest", "ieee")


def test_a_users_workload_computes_as_it_was_written_and_changes_nothing_for_the_suites(pool: Pool) -> None:
    assert observed(pool, OWN) == (0.5, 0.5)  # PyTorch's own: convolutions alone
    assert observed(pool, OWN, high=True) == (1, 1)
    assert observed(pool, "mlp-train", batch_size=1) == (0, 0)
