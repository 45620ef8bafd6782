"""Numbers as a person reads them."""

import pytest

from accelbench import units
from accelbench.errors import BadInput
from accelbench.units import read_bytes, read_fraction, read_seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "12.3 ms"), (1.5, "1.50 s"), (2.5e-6, "2.50 µs"), (3e-10, "0.300 ns"), (0, "0 s"), (0.99999, "1.00 s")],
)
def test_a_duration_is_written_in_the_unit_that_fits_it(value, text):
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.999, "10.0"), (0.0999999, "0.100"), (999.96, "1,000"), (123456, "123,000"), (0, "0"), (-2.5, "-2.50")],
)
def test_three_digits_are_three_digits_also_where_rounding_adds_one(value, text):
    assert units.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1536, "1.50 KiB"), (2**30, "1.00 GiB"), (-(2**20), "-1.00 MiB"), (2**30 - 1, "1.00 GiB")],
)
def test_a_size_is_written_in_powers_of_two(value, text):
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3079, "image", "3.08 k images/s"),
        (12.5, "row", "12.5 rows/s"),
        (0.25, "row", "0.250 rows/s"),
        (2e9, "byte", "2.00 GB/s"),
    ],
)
def test_a_rate_names_what_it_counts(value, unit, text):
    assert units.rate(value, unit) == text


def test_an_interval_without_an_upper_bound_says_so():
    assert units.interval(1.79, 1.88) == "1.79–1.88"
    assert units.interval(0, float("inf")) == "0–∞"


def test_a_speedup_of_thousands_and_its_interval_are_grouped():
    assert units.ratio(1540.2, 1.31, 16432.0) == "1,540× (1.31–16,400)"


@pytest.mark.parametrize(("value", "text"), [(0, "0 %"), (1e-7, "below 0.010 %"), (0.0042, "0.42 %"), (0.31, "31 %")])
def test_a_rounding_error_is_not_written_in_digits(value, text):
    assert units.error(value) == text


@pytest.mark.parametrize(
    ("name", "value", "text", "words"),
    [
        ("span_s", 4.2, "4.20 s", "span"),
        ("peak_rss_bytes", 1024, "1.00 KiB", "peak rss"),
        ("wait_share", 0.4, "40 %", "wait"),
        ("voluntary_switches_per_s", 12.0, "12/s", "voluntary switches"),
        ("gpu0_sm_clock_mhz", 1980.0, "1,980 MHz", "gpu0 sm clock"),
        ("gpu0_temperature_c", 60.0, "60 °C", "gpu0 temperature"),
        ("load_1min", 0.42, "0.420", "load 1min"),
        ("cpu_utilisation", 0.971, "97 %", "cpu utilisation"),
    ],
)
def test_a_value_is_written_in_the_unit_at_the_end_of_its_name(name, value, text, words):
    assert units.with_unit(name, value) == text
    assert units.without_unit(name) == words


def test_counts_are_grouped_in_text_and_short_on_axes():
    assert units.count(1_000_000) == "1,000,000"
    assert units.count(0.5) == "0.500"
    assert [units.short(value) for value in (0, 5, 1000, 2.5e6)] == ["0", "5", "1 k", "2.5 M"]
    assert units.plural(1, "trial") == "1 trial"
    assert units.plural(1200, "trial") == "1,200 trials"


def test_a_waiting_time_is_rough():
    assert units.minutes(39.6) == "40 s"
    assert units.minutes(200) == "3 min 20 s"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 J"), (0.0123, "12.3 mJ"), (2500, "2.50 kJ"), (7e-10, "700 pJ"), (3e-6, "3.00 µJ")]
)
def test_an_energy_is_written_in_the_unit_that_fits_it(value, text):
    assert units.joules(value) == text


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_seconds, "60s", 60),
        (read_seconds, "1.5 min", 90),
        (read_seconds, "20", 20),
        (read_bytes, "8GiB", 8 * 2**30),
        (read_bytes, "500MB", 5e8),
        (read_fraction, "1%", 0.01),
        (read_fraction, "0.002", 0.002),
    ],
)
def test_amounts_are_read_as_people_write_them(read, text, value):
    assert read(text, "--option") == pytest.approx(value)


@pytest.mark.parametrize("read", [read_seconds, read_bytes, read_fraction])
@pytest.mark.parametrize("text", ["", "much", "-1s", "0", "8 parsecs", "nan"])
def test_what_is_no_amount_is_refused_with_an_example(read, text):
    with pytest.raises(BadInput, match=r"^--option: .* is not .* such as "):
        read(text, "--option")
