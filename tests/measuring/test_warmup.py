"""Warm-up ends by evidence, or says that a cap ended it."""

import random

from harness.measuring.warmup import warm_up


def test_a_steady_arm_is_warm_after_two_windows() -> None:
    warmup = warm_up(lambda: 1e-3, cap_s=10)
    assert (len(warmup.blocks_s), warmup.settled) == (40, True)


def test_an_arm_that_speeds_up_is_run_until_it_no_longer_does() -> None:
    times_s = iter([1e-3 * (1 + 5 * 0.95**block) for block in range(1000)])
    warmup = warm_up(lambda: next(times_s), cap_s=10)
    assert warmup.settled
    assert len(warmup.blocks_s) > 80


def test_an_arm_that_never_settles_is_capped_and_says_so() -> None:
    noise = random.Random(1)
    warmup = warm_up(lambda: noise.lognormvariate(-7, 2), cap_s=1000)
    assert not warmup.settled
    assert len(warmup.blocks_s) == 200


def test_a_slow_arm_is_capped_by_time() -> None:
    warmup = warm_up(lambda: 1.0, cap_s=2.5)
    assert (len(warmup.blocks_s), warmup.settled) == (3, False)
