"""Energy per iteration, from counters that step, stand still, start over or are somebody else's."""

import os
from pathlib import Path

import pytest

from harness import nvml
from harness.frameworks.fake import FakeClock
from harness.measuring import energy
from harness.measuring.energy import Counter, Meter

POWER_W = 200.0


def stepping(clock: FakeClock, every_s: float) -> Meter:
    """Return a meter of a device at 200 W, whose counter steps so often."""
    return Meter([Counter(read_j=lambda: POWER_W * every_s * (clock() // every_s))])


def per_iteration_j(clock: FakeClock, meter: Meter, step_s: float) -> float | None:
    return energy.per_iteration_j(lambda iterations: clock.advance(iterations * step_s), meter, clock, step_s)


@pytest.mark.parametrize("every_s", [1e-3, 0.01, 0.1])
@pytest.mark.parametrize("step_s", [3e-6, 1.7e-3, 0.031])
def test_the_length_of_a_counters_steps_does_not_matter(every_s: float, step_s: float) -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, stepping(clock, every_s), step_s) == pytest.approx(POWER_W * step_s, rel=0.1)


def test_an_iteration_that_is_longer_than_the_stretch_is_made_a_few_times() -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, stepping(clock, 0.1), 2.0) == pytest.approx(POWER_W * 2.0, rel=0.1)
    assert clock() <= 6.0


def test_a_counter_that_stands_still_counts_nothing_and_costs_little() -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, Meter([Counter(read_j=lambda: 7.0)]), 1e-3) is None
    assert clock() < 2 * energy.STILL_S


def test_a_counter_that_starts_over_goes_on() -> None:
    told_j = iter([95.0, 99.0, 2.0, 3.0])
    meter = Meter([Counter(read_j=lambda: next(told_j), range_j=100.0)])
    assert [meter.taken_j() for _ in range(3)] == [4.0, 7.0, 8.0]


def test_packages_are_added_up() -> None:
    first, second = iter([0.0, 1.0]), iter([5.0, 7.5])
    assert Meter([Counter(read_j=lambda: next(first)), Counter(read_j=lambda: next(second))]).taken_j() == 3.5


def zone(folder: Path, name: str, kind: str, energy_uj: int) -> Path:
    place = folder / name
    place.mkdir()
    for file, text in (("name", kind), ("energy_uj", energy_uj), ("max_energy_range_uj", 10_000_000)):
        (place / file).write_text(f"{text}\n")
    return place


def test_linux_tells_of_the_processors_packages_and_the_parts_are_not_added_again(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 5_000_000)
    zone(tmp_path, "intel-rapl:1", "psys", 1_000_000)
    meter = Meter(energy.of_processor(tmp_path))
    (package / "energy_uj").write_text("1000000\n")
    assert meter.taken_j() == pytest.approx(2.0)


def test_what_may_not_be_read_counts_nothing(tmp_path: Path) -> None:
    assert not Meter(energy.of_processor(tmp_path / "absent")).counts
    (zone(tmp_path, "intel-rapl:0", "package-0", 1) / "energy_uj").unlink()
    assert not Meter(energy.of_processor(tmp_path)).counts
    assert not Meter([Counter(read_j=lambda: None)]).counts


@pytest.mark.parametrize(
    ("processes", "taken_j"),
    [([(1,), (os.getpid(),)], 20.0), ([()], 10.0), ([(), ()], None)],
    ids=["ours", "hidden", "hidden-among-several"],
)
def test_only_our_gpu_is_counted(
    processes: list[tuple[int, ...]], taken_j: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_j = [0.0 for _ in processes]
    gpus = [nvml.GpuState(name="NVIDIA Test", process_ids=ids) for ids in processes]
    monkeypatch.setattr(nvml, "gpus", lambda: gpus)
    monkeypatch.setattr(nvml, "energies_j", lambda: list(told_j))
    meter = energy.meter_of("GPU")
    told_j[:] = [10.0 * (place + 1) for place in range(len(processes))]
    assert meter.counts == (taken_j is not None)
    assert meter.taken_j() == (taken_j or 0.0)


def test_where_nothing_tells_on_what_an_arm_computed_nothing_is_counted() -> None:
    assert not energy.meter_of("").counts
