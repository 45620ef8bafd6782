"""Burdens taken off one at a time: what is switched is what the reading of a result explains."""

from harness.experiment import Host, find_technique
from harness.reading import bottleneck


def test_every_burden_that_can_be_taken_off_has_a_cause_and_every_cause_a_burden() -> None:
    relief = find_technique("torch", bottleneck.TECHNIQUE)
    assert relief.levels_on(Host()) == (bottleneck.NOTHING_OFF, *bottleneck.CAUSES)
