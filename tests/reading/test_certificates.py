"""What certificates add up to, and which one is a machine's newest."""

import pytest
from calibrated import certificate, duel, store

from harness.reading.certificates import (
    Share,
    called,
    changed_since,
    find_certificates,
    holding,
    spread,
    time_to_decide_s,
)


@pytest.mark.parametrize(
    ("count", "of", "least", "most", "low", "high"),
    [  # none and all have closed forms; the third row is the textbook's example (Clopper and Pearson 1934, 3 of 10)
        (0, 300, 0.0, 1 - 0.05 ** (1 / 300), 0.0, 1 - 0.025 ** (1 / 300)),
        (100, 100, 0.05 ** (1 / 100), 1.0, 0.025 ** (1 / 100), 1.0),
        (3, 10, 0.0873, 0.6066, 0.0667, 0.6525),
    ],
)
def test_bounds_on_a_share_are_exact(count, of, least, most, low, high):
    share = Share(count=count, of=of)
    assert (share.least, share.most, *share.interval) == pytest.approx((least, most, low, high), abs=5e-5)


def test_verdicts_are_counted():
    duels = [duel("faster"), duel("slower"), duel("same"), duel("undecided")]
    assert called(duels, "faster", "slower") == Share(count=2, of=4)


def test_an_interval_holds_the_known_dose_or_does_not():
    right, wrong = duel("slower", 1 / 1.03, dose=0.03), duel("slower", 1 / 1.05, dose=0.03)
    unbounded = duel("undecided", 1.0, dose=0.03, low=0.0, high=None)
    assert holding([right, wrong, unbounded]) == Share(count=2, of=3)


def test_the_spread_between_workers_needs_two_of_them():
    assert spread([duel()]) is None
    assert spread([duel(speedup=1.01), duel(speedup=1 / 1.01)]) == pytest.approx(0.01407, abs=1e-5)


def test_the_time_to_decide_is_a_median_and_a_95th_percentile():
    assert time_to_decide_s([duel(spent_s=second) for second in range(1, 101)]) == pytest.approx((50.5, 95.05), abs=1)
    assert time_to_decide_s([duel(spent_s=2.0)]) == (2.0, 2.0)


def test_the_newest_certificate_of_the_machine_counts(tmp_path):
    for name, machine, taken in (("0001", "a", "2026-03-01"), ("0002", "a", "2026-02-01"), ("0003", "b", "2026-04-01")):
        store(certificate(taken=f"{taken}T00:00:00+00:00"), tmp_path / machine / f"{name}.json")
    assert find_certificates(tmp_path, "a").path == tmp_path / "a" / "0001.json"
    assert find_certificates(tmp_path, "c").newest is None
    assert find_certificates(tmp_path, "../" + tmp_path.name + "/b").newest is None


def test_a_certificate_that_cannot_be_read_is_told_beside_one_that_can(tmp_path):
    store(certificate(), tmp_path / "a" / "0001.json")
    (tmp_path / "a" / "0002.json").write_text('{"schema')
    found = find_certificates(tmp_path, "a")
    assert found.newest == certificate()
    assert [str(error).partition(":")[0] for error in found.unreadable] == [str(tmp_path / "a" / "0002.json")]


def test_what_has_changed_since_is_what_both_tell():
    now = {"torch.version": "2.10.0", "tensorflow.version": "2.21", "kernel": "6.1"}
    environment = certificate().environment
    environment = type(environment)(identity=environment.identity, configuration=now)
    assert changed_since(certificate(), environment) == {"torch.version": ("2.9.0", "2.10.0")}
