"""The statistics of certificates, and the newest certificate of a machine."""

import pytest

from accelbench.results.certificates import (
    Share,
    count_covered,
    count_verdicts,
    find_certificates,
    spread,
    time_to_decide_s,
)
from certificates import certificate, comparison, store


@pytest.mark.parametrize(
    ("count", "total", "lower", "upper"),
    [  # none and all have closed forms; 3 of 10 is the example of Clopper and Pearson (1934)
        (0, 300, 0.0, 1 - 0.05 ** (1 / 300)),
        (100, 100, 0.05 ** (1 / 100), 1.0),
        (3, 10, 0.0873, 0.6066),
    ],
)
def test_bounds_on_a_share_are_exact(count, total, lower, upper):
    share = Share(count=count, total=total)
    assert (share.lower_bound, share.upper_bound) == pytest.approx((lower, upper), abs=5e-5)


def test_verdicts_are_counted():
    comparisons = [comparison("faster"), comparison("slower"), comparison("same"), comparison("undecided")]
    assert count_verdicts(comparisons, "faster", "slower") == Share(count=2, total=4)


def test_an_interval_contains_the_known_speedup_or_does_not():
    right, wrong = comparison("slower", 1 / 1.03, effect_size=0.03), comparison("slower", 1 / 1.05, effect_size=0.03)
    unbounded = comparison("undecided", 1.0, effect_size=0.03, low=0.0, high=None)
    assert count_covered([right, wrong, unbounded]) == Share(count=2, total=3)


def test_the_spread_between_workers_needs_two_of_them():
    assert spread([comparison()]) is None
    assert spread([comparison(speedup=1.01), comparison(speedup=1 / 1.01)]) == pytest.approx(0.01407, abs=1e-5)


def test_the_time_to_decide_is_a_median_and_a_95th_percentile():
    assert time_to_decide_s([comparison(spent_s=second) for second in range(1, 101)]) == pytest.approx(
        (50.5, 95.05), abs=1
    )
    assert time_to_decide_s([comparison(spent_s=2.0)]) == (2.0, 2.0)


def test_the_newest_certificate_of_the_machine_counts(tmp_path):
    for name, machine, created in (
        ("0001", "a", "2026-03-01"),
        ("0002", "a", "2026-02-01"),
        ("0003", "b", "2026-04-01"),
    ):
        store(certificate(created=f"{created}T00:00:00+00:00"), tmp_path / machine / f"{name}.json")
    assert find_certificates(tmp_path, "a").path == tmp_path / "a" / "0001.json"
    assert find_certificates(tmp_path, "c").newest is None
    assert find_certificates(tmp_path, "../" + tmp_path.name + "/b").newest is None


def test_a_certificate_that_cannot_be_read_is_reported(tmp_path):
    store(certificate(), tmp_path / "a" / "0001.json")
    (tmp_path / "a" / "0002.json").write_text('{"schema')
    found = find_certificates(tmp_path, "a")
    assert found.newest == certificate()
    assert [str(error).partition(":")[0] for error in found.unreadable] == [str(tmp_path / "a" / "0002.json")]
