"""A trial repeated in several fresh workers becomes one."""

from dataclasses import replace

import numpy as np

from harness.experiment import Plan
from harness.measuring.measured import Measured
from harness.measuring.repeats import merged
from harness.record import ArmRecord, Outcome, Timing


def repetition(centre: float, outcome: Outcome = "measured") -> Measured:
    ratios = tuple(centre + np.random.default_rng(1).normal(0, 0.01, 100))
    arms = [ArmRecord(levels={"amp": "off"}, outcome="measured"), ArmRecord(levels={"amp": "on"}, outcome=outcome)]
    return Measured(
        arms=arms,
        samples_s=[(1.0,) * 100, (1.0,) * 100],
        log_ratios=[(), ratios],
        quiet=[(), (True,) * len(ratios)],
        span_s=2.0,
        disturbance={"load_1min": 1.0 + centre},
        remarks=["busy"],
    )


def test_agreeing_workers_make_one_effect_that_says_how_many_they_were() -> None:
    result = merged([repetition(0.20), repetition(0.201), repetition(0.199)], Plan())
    effect = result.arms[1].effect
    assert effect is not None
    assert (effect.verdict, effect.workers, effect.pairs) == ("faster", 3, 300)
    assert (len(result.samples_s[1]), result.span_s, result.remarks) == (300, 6.0, ["busy"])


def test_workers_that_contradict_each_other_decide_nothing() -> None:
    result = merged([repetition(0.2), repetition(-0.2), repetition(0.0)], Plan())
    effect = result.arms[1].effect
    assert effect is not None
    assert effect.verdict == "undecided"


def test_an_arm_that_was_lost_once_is_lost() -> None:
    result = merged([repetition(0.2), repetition(0.2, outcome="crashed")], Plan())
    assert result.arms[1].outcome == "crashed"
    assert result.arms[1].effect is None


def test_the_worst_disturbance_is_kept() -> None:
    assert merged([repetition(0.0), repetition(0.5)], Plan()).disturbance == {"load_1min": 1.5}


def test_of_a_clock_the_lowest_is_the_worst() -> None:
    low, high = (replace(repetition(0.0), disturbance={"gpu0_lowest_clock_share": share}) for share in (0.6, 0.9))
    assert merged([high, low], Plan()).disturbance == {"gpu0_lowest_clock_share": 0.6}


def test_the_samples_and_the_cost_of_starting_are_those_of_all_workers() -> None:
    first, second, third = (timed(cold_s, sample_s) for cold_s, sample_s in ((9.0, 1.0), (0.5, 2.0), (0.4, 3.0)))
    timing = merged([first, second, third], Plan()).arms[0].timing
    assert timing is not None
    assert (timing.cold_s, timing.median_s, timing.blocks) == (0.5, 2.0, 3)
    assert (timing.warmup_blocks, timing.warmup_settled) == (40, True)


def test_a_device_clock_that_one_worker_could_not_read_is_that_of_the_others() -> None:
    timing = merged([timed(0.5, 1.0, device_s) for device_s in (0.25, None, 0.75)], Plan()).arms[0].timing
    assert timing is not None
    assert timing.device_s == 0.5


def timed(cold_s: float, sample_s: float, device_s: float | None = None) -> Measured:
    timing = Timing(
        median_s=sample_s,
        quantiles_s=(sample_s,),
        blocks=1,
        iterations_per_block=1,
        cold_s=cold_s,
        build_s=0.1,
        warmup_blocks=40,
        warmup_settled=True,
        device_s=device_s,
    )
    return Measured(
        arms=[ArmRecord(levels={"amp": "off"}, outcome="measured", timing=timing)],
        samples_s=[(sample_s,)],
        log_ratios=[()],
    )
