"""The machine's part of the page."""

from runs import run

from harness.report.machine import configuration_in_words


def test_where_the_time_went_is_told_in_shares_what_took_most_first() -> None:
    spent = run(spent_s={"harness": 5.0, "timed blocks": 195.0})
    assert dict(configuration_in_words(spent))["Where the time went"] == [
        ("timed blocks", "3 min 15 s, 98 %"),
        ("harness", "5 s, 2.5 %"),
    ]


def test_a_run_that_does_not_tell_where_its_time_went_has_no_such_part() -> None:
    assert "Where the time went" not in dict(configuration_in_words(run()))
