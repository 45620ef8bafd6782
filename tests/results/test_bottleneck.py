"""What holds training back: every cause, from effects with their intervals, and nothing made up."""

from functools import partial
from typing import Any

import pytest
from runs import arm, effect, run, save
from runs import trial as trial_of

from accelbench.results import Findings, find_results
from accelbench.results.bottleneck import bottlenecks
from accelbench.schema.result import ArmRecord

trial = partial(trial_of, kinds={"ablation": "ablation"})
Effects = tuple[float, float, float | None, str]
SAME: Effects = (1.0, 0.99, 1.01, "same")
FAST: Effects = (2.3, 2.1, 2.5, "faster")
SOME: Effects = (1.2, 1.15, 1.25, "faster")
OPEN: Effects = (1.1, 0.9, 1.3, "undecided")
NOTHING = {"decoded": SAME, "resident": SAME, "silent": SAME, "larger-batch": SAME}


def arms(effects: dict[str, Effects | str], **observed: float) -> list[ArmRecord]:
    """Return the baseline and a candidate per level: with an effect, or with why there is none."""
    return [
        arm({"ablation": "none"}, 1.0, observed=observed),
        *(
            arm({"ablation": level}, outcome=found)
            if isinstance(found, str)
            else arm({"ablation": level}, 1.0, effect=effect(*found))
            for level, found in effects.items()
        ),
    ]


def found(effects: dict[str, Effects | str], **observed: float) -> Any:
    (only,) = bottlenecks(run(trial(*arms(effects, **observed))))
    return only


@pytest.mark.parametrize(
    ("changed", "causes", "words"),
    [
        (
            {"decoded": FAST, "resident": FAST},
            ("input-bound",),
            "net (torch) is input-bound: without decoding it is 2.30× (2.10–2.50) as fast",
        ),
        (
            {"resident": (3.0, 2.9, 3.1, "faster")},
            ("transfer-bound",),
            "is transfer-bound: with decoded batches on the device instead of the host it is 3.00× (2.87–3.13) as fast",
        ),
        (
            {"silent": FAST},
            ("synchronisation-bound",),
            "is synchronisation-bound: without reading the loss it is 2.30× (2.10–2.50) as fast",
        ),
        (
            {"larger-batch": FAST},
            ("launch-bound",),
            "is launch-bound: with larger batches it is 2.30× (2.10–2.50) as fast per image",
        ),
        ({}, ("compute-bound",), "is compute-bound, since no ablation pays much: without decoding it is 1.00×"),
        (
            {"silent": SOME},
            ("compute-bound", "synchronisation-bound"),
            "is mostly compute-bound: without reading the loss it is 1.20× (1.15–1.25) as fast",
        ),
        (
            {"decoded": (1.6, 1.5, 1.7, "faster"), "resident": (1.6, 1.5, 1.7, "faster"), "larger-batch": SOME},
            ("input-bound", "launch-bound"),
            "is partly input-bound, partly launch-bound: without decoding it is 1.60× (1.50–1.70) as fast; with larger",
        ),
        ({"silent": OPEN, "decoded": OPEN, "larger-batch": OPEN}, (), "it is undecided what holds net (torch) back:"),
    ],
)
def test_the_largest_share_of_the_time_is_the_cause(changed: Any, causes: tuple[str, ...], words: str) -> None:
    said = found(NOTHING | changed)
    assert said.causes == causes
    assert words in said.sentence


def test_a_cause_that_is_only_part_of_the_time_is_not_called_the_whole() -> None:
    said = found(NOTHING | {"decoded": (2.1, 1.9, 2.3, "faster"), "resident": (2.1, 1.9, 2.3, "faster")})
    assert said.causes == ("input-bound",)
    assert "is partly input-bound" in said.sentence


def test_sending_counts_only_beyond_decoding_and_beyond_both_intervals() -> None:
    paired = {"decoded": (2.0, 1.8, 2.2, "faster"), "resident": (2.4, 2.1, 2.7, "faster")}
    assert found(NOTHING | paired).causes == ("input-bound",)
    apart = {"decoded": (2.0, 1.95, 2.05, "faster"), "resident": (4.0, 3.9, 4.1, "faster")}
    assert found(NOTHING | apart).causes == ("input-bound", "transfer-bound")


def test_how_busy_the_machine_was_stands_beside_the_cause() -> None:
    said = found(NOTHING | {"decoded": FAST, "resident": FAST}, cpu_utilisation=0.97, gpu_utilisation=0.31)
    assert said.sentence.endswith("; CPU 97 % busy; GPU 31 % busy")


def test_where_host_and_device_are_one_sending_needs_no_measurement() -> None:
    assert found(NOTHING | {"resident": "unavailable"}).causes == ("compute-bound",)
    assert found(NOTHING | {"resident": "out-of-memory"}).causes == ()


@pytest.mark.parametrize("level", ["decoded", "silent", "larger-batch"])
def test_what_was_not_measured_is_named_and_not_taken_for_nothing(level: str) -> None:
    effects = {name: each for name, each in NOTHING.items() if name != level}
    assert found(effects).causes == ()
    assert f"not measured: {level}" in found(effects).sentence
    assert f"not measured: {level}" in found(effects | {level: "failed"}).sentence


def test_a_burden_that_is_undecided_is_said_beside_the_cause() -> None:
    said = found(NOTHING | {"decoded": FAST, "resident": FAST, "larger-batch": (1.5, 0.0, None, "undecided")})
    assert said.causes == ("input-bound",)
    assert "undecided: with larger batches it is 1.50× (no interval) as fast per image" in said.sentence


def test_an_open_verdict_that_leaves_no_room_for_a_burden_is_none() -> None:
    assert found(NOTHING | {"silent": (1.0, 0.97, 1.03, "undecided")}).causes == ("compute-bound",)


def test_a_slower_candidate_is_no_burden() -> None:
    assert found(NOTHING | {"larger-batch": (0.5, 0.45, 0.55, "slower")}).causes == ("compute-bound",)


def test_other_trials_and_trials_without_a_baseline_say_nothing() -> None:
    other = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(*FAST)))
    lost = trial(arm({"ablation": "none"}), arm({"ablation": "decoded"}, 1.0, effect=effect(*FAST)))
    assert bottlenecks(run(other, lost)) == []


def test_only_arms_that_differ_in_nothing_else_are_compared() -> None:
    levels = [{"ablation": level, "amp": amp} for amp in ("fp32", "bf16") for level in ("none", "decoded")]
    plain, decoded, lower, both = (arm(each, 1.0, effect=effect(*FAST)) for each in levels)
    (said,) = bottlenecks(run(trial(plain, both, lower, decoded)))
    assert said.sentence.count("without decoding") == 1


def test_the_facts_hold_what_was_found(tmp_path: Any) -> None:
    path = save(run(trial(*arms(NOTHING))), tmp_path / "0001_a.json")
    (told,) = Findings(find_results(path).results[0]).as_json()["bottlenecks"]
    assert (told["workload"], told["causes"]) == ("net", ("compute-bound",))
