"""Techniques of when work is done: levels become options, and what cannot run here says why."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Arm, Setting, find_technique, find_workload, stack
from harness.workloads.torch.logged_training import READERS

without_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


def arm_with(workload: str, problem: Mapping[str, Any] | None = None, **levels: str) -> Arm:
    switches = [(find_technique("torch", name), level) for name, level in levels.items()]
    declared = find_workload(workload)
    return stack(switches, lambda **options: declared.build(Setting(cores=2), **options, **(problem or {})))


def options_of(technique: str, level: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    find_technique("torch", technique).apply(build, level)
    return passed


@pytest.mark.parametrize(("level", "steps"), [("never", None), ("every-100", 100), ("every-10", 10), ("every-step", 1)])
def test_the_loss_is_read_every_so_many_steps(level: str, steps: int | None) -> None:
    assert options_of("log_interval", level) == {"log_interval": steps}


def test_the_baselines_are_the_ones_that_wait_for_nothing() -> None:
    techniques = (
        "log_interval",
        "log_by",
        "transfers",
        "intermediates",
        "overlap",
        "both_devices",
        "streams",
        "loading",
    )
    baselines = [find_technique("torch", name).levels[0] for name in techniques]  # type: ignore[index]
    assert baselines == ["never", "none", "resident", "resident", "serial", "in-turn", "1", "blocking"]


def test_the_levels_of_reading_the_loss_are_those_of_the_workload() -> None:
    assert find_technique("torch", "log_by").levels == tuple(READERS)
    assert options_of("log_by", "print") == {"log_by": "print"}


@without_accelerator
@pytest.mark.parametrize(
    ("workload", "technique", "level"),
    [
        ("mlp-train", "transfers", "resident"),
        ("mlp-train", "transfers", "per-step"),
        ("operation-chain", "intermediates", "resident"),
        ("operation-chain", "intermediates", "round-trip"),
        ("host-and-device-products", "both_devices", "in-turn"),
        ("chunked-products", "streams", "2"),
    ],
)
def test_without_an_accelerator_nothing_is_sent_and_every_level_says_so(
    workload: str, technique: str, level: str
) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with(workload, **{technique: level})


def test_a_transfer_in_every_step_is_a_round_trip_of_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.techniques.torch.execution.need_accelerator", lambda: None)
    assert options_of("transfers", "per-step") == {"data_location": "round-trip"}
    assert options_of("transfers", "resident") == {"data_location": "resident"}


@pytest.mark.parametrize(("level", "count"), [("serial", 1), ("threads", 1), ("cores", 6)])
def test_in_turn_means_one_core_or_all_and_is_put_back(level: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.techniques.torch.execution.cpu_count", lambda: 6)
    before = torch.get_num_threads()
    arm = arm_with("independent-products", {"side": 16}, overlap=level)
    with arm.entered():
        assert torch.get_num_threads() == count
        arm.step()
    arm.close()
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("level", ["threads", "cores"])
def test_one_core_does_nothing_at_once(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.techniques.torch.execution.cpu_count", lambda: 1)
    arm_with("independent-products", {"side": 16}, overlap="serial")
    with pytest.raises(Unavailable, match="one core, so nothing can run at once"):
        arm_with("independent-products", {"side": 16}, overlap=level)


def test_ways_of_loading_and_streams_are_passed_on() -> None:
    assert options_of("loading", "thread") == {"loading": "thread"}
    assert options_of("streams", "4") == {"streams": 4}
    assert options_of("both_devices", "at-once") == {"at_once": True}
