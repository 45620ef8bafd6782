"""What the machine can do at most stands on the page, and how near each arm came."""

import pytest
from pages import write_report
from runs import arm, effect, run, save, trial

from accelbench.results import find_results
from accelbench.schema.result import Ceiling, Rate


def rate(ceiling: str, share: float) -> Rate:
    return Rate(ceiling=ceiling, per_s=1e9, share=share)


@pytest.fixture
def page(tmp_path):
    measured = trial(
        arm({"pace": "slow"}, 2.0, rates=[rate("cpu memory", 0.02), rate("cpu matrix fp32", 0.314)]),
        arm({"pace": "quick"}, 1.0, effect=effect(2.0, 1.9, 2.1, "faster"), rates=[rate("cpu matrix fp32", 0.628)]),
    )
    ceilings = [
        Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation"),
        Ceiling(name="cpu memory", per_s=1.5e11, unit="byte"),
        Ceiling(name="cpu memory", per_s=4e10, unit="byte", working_set_bytes=2**25),
    ]
    path = save(run(measured, ceilings=ceilings), tmp_path / "0001_a.json")
    return write_report(find_results(path).results[0], tmp_path).read_text()


def test_each_arm_shows_the_largest_share_of_a_ceiling_and_of_which(page):
    for share in ("31 % of cpu matrix fp32", "63 % of cpu matrix fp32"):
        assert f">{share}<" in page
    assert "of cpu memory" not in page


def test_the_machine_lists_its_ceilings_with_the_working_set_from_which_on_they_hold(page):
    assert "<dt>cpu matrix fp32</dt><dd>200 G operations/s</dd>" in page
    assert "<dt>cpu memory</dt><dd>150 GB/s</dd>" in page
    assert "<dt>cpu memory, from 32.0 MiB</dt><dd>40.0 GB/s</dd>" in page
