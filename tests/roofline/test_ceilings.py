"""The ceilings of a machine: how peaks are measured, which ceilings follow from them, and when the cache is used."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice
from hypothesis import given
from hypothesis import strategies as st

from accelbench.core import Arm, Plan, Setting, Trial, Work, Workload
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.workers.pool import Pool
from accelbench.roofline.ceilings import (
    Ceilings,
    OnProgress,
    envelope,
    find_ceiling,
    highest,
    measure_peaks,
    read_cache,
    write_cache,
)
from accelbench.roofline.probes import PeakProbe
from accelbench.schema import environment
from accelbench.schema.machine_id import machine_key
from accelbench.schema.result import ArmRecord, Ceiling


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


BYTES_PER_S = 9e11


def memory_probe(device: FakeDevice, sizes: tuple[int, ...], per_s: float = BYTES_PER_S) -> PeakProbe:
    def kernels(size: int) -> Iterator[Arm]:
        yield Arm(step=lambda: device.launch(size / per_s), items=size)
        yield Arm(step=lambda: device.launch(size / per_s), items=size / 3)  # a slower kernel

    return PeakProbe(ceiling="fake:0 memory", unit="byte", sizes=sizes, kernels=kernels, by_working_set=True)


def peaks(*probes: PeakProbe, device: FakeDevice) -> list[Ceiling]:
    return measure_peaks(probes, Stopwatch(device.clock, device.synchronize))


def test_a_ceiling_is_the_rate_of_the_fastest_kernel_and_the_synchronise_is_not_forgotten() -> None:
    device = FakeDevice(FakeClock())
    (ceiling,) = peaks(memory_probe(device, (2**28,)), device=device)
    assert ceiling.per_s == pytest.approx(BYTES_PER_S, rel=0.02)
    assert ceiling.working_set_bytes == 2**28


def test_a_noisy_machine_does_not_lower_its_ceiling() -> None:
    random = Random(3)
    device = FakeDevice(FakeClock(), noise=lambda: 1 + abs(random.gauss(0, 0.3)))
    (ceiling,) = peaks(memory_probe(device, (2**24,)), device=device)
    assert ceiling.per_s == pytest.approx(BYTES_PER_S, rel=0.2)


def test_sizes_ascend_until_a_step_takes_long() -> None:
    device = FakeDevice(FakeClock())
    slow = memory_probe(device, (2**10, 2**20, 2**30), per_s=1e6)
    assert {ceiling.working_set_bytes for ceiling in peaks(slow, device=device)} == {2**10, 2**20}


def test_a_kernel_that_fails_sets_no_ceiling_and_stops_nothing_else() -> None:
    device = FakeDevice(FakeClock())

    def kernels(_: int) -> Iterator[Arm]:
        raise TypeError("not supported")
        yield

    impossible = PeakProbe(ceiling="fake:0 matrix fp64", unit="operation", sizes=(256,), kernels=kernels)
    ceilings = peaks(impossible, memory_probe(device, (2**20,)), device=device)
    assert {ceiling.name for ceiling in ceilings} == {"fake:0 memory"}


sizes = st.integers(min_value=1, max_value=2**34)
rates = st.floats(min_value=1e6, max_value=1e13)
rates_at_sizes = st.dictionaries(sizes, rates, min_size=1, max_size=12)


def memory_rates(rates_by_size: dict[int, float]) -> list[Ceiling]:
    return [
        Ceiling(name="cpu memory", per_s=per_s, unit="byte", working_set_bytes=size)
        for size, per_s in rates_by_size.items()
    ]


def ceiling_at(ceilings: list[Ceiling], working_set_bytes: float) -> float:
    found = find_ceiling(ceilings, "cpu memory", working_set_bytes)
    assert found is not None
    return found.per_s


@given(rates_at_sizes, sizes)
def test_a_working_set_may_run_as_fast_as_anything_larger_than_half_of_it_did(
    rates_by_size: dict[int, float], working_set: int
) -> None:
    larger = [per_s for size, per_s in rates_by_size.items() if size > working_set / 2]
    expected = max(larger) if larger else rates_by_size[max(rates_by_size)]
    assert ceiling_at(envelope(memory_rates(rates_by_size)), working_set) == expected


@given(rates_at_sizes, sizes, sizes)
def test_a_larger_working_set_never_has_a_higher_ceiling(
    rates_by_size: dict[int, float], first: int, second: int
) -> None:
    ceilings = envelope(memory_rates(rates_by_size))
    assert ceiling_at(ceilings, max(first, second)) <= ceiling_at(ceilings, min(first, second))


@given(rates_at_sizes, rates_at_sizes, sizes)
def test_of_two_frameworks_the_faster_one_counts_at_every_working_set(
    one: dict[int, float], other: dict[int, float], working_set: int
) -> None:
    both = envelope(memory_rates(one)), envelope(memory_rates(other))
    assert ceiling_at(highest(*both), working_set) == max(ceiling_at(each, working_set) for each in both)


def test_names_are_kept_apart() -> None:
    matrix = Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation")
    ceilings = highest(envelope([matrix, *memory_rates({1024: 1e11})]), envelope(memory_rates({1024: 2e11})))
    assert find_ceiling(ceilings, "cpu matrix fp32", 10**9) == matrix
    assert ceiling_at(ceilings, 0) == 2e11
    assert find_ceiling(ceilings, "cuda:0 memory") is None


CACHED = [Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation")]


def test_ceilings_come_back_with_the_configuration_under_which_they_were_measured() -> None:
    write_cache("a-machine", "torch", {"torch.version": "2.9"}, CACHED)
    found = read_cache("a-machine", "torch")
    assert found is not None
    assert (found.configuration, found.ceilings) == ({"torch.version": "2.9"}, CACHED)
    assert read_cache("a-machine", "numpy") is None
    assert read_cache("another-machine", "torch") is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[" * 100_000,
        '{"schema_version": 1}',
        '{"schema_version": 99, "configuration": {}, "ceilings": [{"name": "m", "per_s": 1.0, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": [{"name": "m", "per_s": 0.0, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": [{"name": "m", "per_s": NaN, "unit": "byte"}]}',
        '{"schema_version": 1, "configuration": {}, "ceilings": []}',
    ],
)
def test_a_cache_file_that_cannot_be_trusted_counts_as_none(cache: Path, content: str) -> None:
    write_cache("a-machine", "numpy", {}, CACHED)
    (file,) = cache.rglob("*.json")
    file.write_text(content)
    assert read_cache("a-machine", "numpy") is None


def test_a_cache_that_cannot_be_written_is_no_error(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    write_cache("a-machine", "numpy", {}, CACHED)
    assert read_cache("a-machine", "numpy") is None


class Machine:
    """A machine with given rates that records which frameworks were measured."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.per_s = {"numpy": 1e11, "torch": 2e11}
        self.version = "1"

    def session(self) -> Ceilings:
        """Return the ceilings of a new session."""
        return Ceilings(self._measure, lambda framework: {f"{framework}.version": self.version})

    def _measure(self, framework: str, on_progress: OnProgress, name: str) -> list[Ceiling]:
        on_progress("measuring")
        self.measured.append(f"{framework}: {name}" if name else framework)
        per_s = self.per_s.get(framework)
        if not per_s:
            return []
        rates = [
            Ceiling(name="cpu matrix fp32", per_s=per_s, unit="operation"),
            Ceiling(name="cpu memory", per_s=per_s / 4, unit="byte"),
        ]
        return [rate for rate in rates if name in ("", rate.name)]


def fastest(ceilings: list[Ceiling]) -> float:
    ceiling = find_ceiling(ceilings, "cpu matrix fp32")
    return ceiling.per_s if ceiling else 0.0


def ignore(_: str) -> None: ...


def test_ceilings_are_measured_once_and_then_read_from_the_cache() -> None:
    machine = Machine()
    first = machine.session().get("torch", ignore)
    assert machine.measured == ["numpy", "torch"]
    assert machine.session().get("torch", ignore) == first
    assert machine.measured == ["numpy", "torch"]


def test_the_highest_ceiling_of_any_framework_counts() -> None:
    machine = Machine()
    machine.session().get("torch", ignore)
    assert fastest(machine.session().get("numpy", ignore)) == 2e11


def test_the_present_bandwidth_of_a_memory_that_neighbours_use_replaces_none_on_file() -> None:
    machine = Machine()
    before = machine.session().get("torch", ignore)
    machine.per_s["torch"] = 1e11
    session = machine.session()
    session.get("torch", ignore)
    present = session.measure_memory("torch", "cpu", ignore)
    assert machine.measured == ["numpy", "torch", "torch: cpu memory"]
    assert ceiling_at(before, 0) == 5e10
    assert ceiling_at(present, 0) == 2.5e10
    assert fastest(present) == fastest(before)
    assert session.on_file() == machine.session().get("torch", ignore) == before


def test_a_device_whose_memory_no_probe_of_the_framework_measures_has_its_ceilings_on_file() -> None:
    session = Machine().session()
    known = session.get("torch", ignore)
    assert session.measure_memory("torch", "cuda:0", ignore) == known


def test_another_version_is_measured_again() -> None:
    machine = Machine()
    machine.session().get("numpy", ignore)
    machine.version, machine.per_s["numpy"] = "2", 3e11
    assert fastest(machine.session().get("numpy", ignore)) == 3e11
    assert machine.measured == ["numpy", "numpy"]


def test_remeasuring_raises_a_ceiling_and_never_lowers_it() -> None:
    machine = Machine()
    machine.session().get("numpy", ignore)
    machine.per_s["numpy"] = 0.5e11
    session = machine.session()
    machine.per_s["torch"] = 0.0
    assert fastest(session.remeasure("numpy", ignore)) == 1e11
    machine.per_s["numpy"] = 5e11
    assert fastest(session.remeasure("numpy", ignore)) == 1e11  # once per session
    assert fastest(machine.session().remeasure("numpy", ignore)) == 5e11


def test_remeasuring_includes_every_framework() -> None:
    machine = Machine()
    session = machine.session()
    assert fastest(session.get("cupy", ignore)) == 1e11
    assert fastest(session.remeasure("cupy", ignore)) == 2e11
    assert sorted(machine.measured) == ["cupy", "numpy", "tensorflow", "torch"]


def test_a_framework_whose_worker_is_lost_is_measured_once_per_session() -> None:
    machine = Machine()
    machine.per_s["torch"] = 0.0
    session = machine.session()
    for _ in range(2):
        assert fastest(session.get("torch", ignore)) == 1e11
    assert machine.measured == ["numpy", "torch"]


def _product(setting: Setting, *, does: str = "everything") -> Arm:
    matrix = np.random.default_rng(setting.seed).random((128, 128))
    work = Work(operations=2 * 128**3, precision="fp64")
    first = matrix @ matrix
    return Arm(step=lambda: matrix @ matrix if does == "everything" else first[0, 0], work=work, device="cpu")


PRODUCT = Workload(name="product", frameworks=("numpy",), unit="product", summary="A product.", builder=_product)


@pytest.mark.slow
def test_a_ceiling_that_is_too_low_is_measured_again_before_an_arm_is_impossible() -> None:
    pool = Pool(Plan())
    try:
        pool.accelerators("numpy")  # starts the worker, which then describes its configuration
        configuration = environment.configuration() | pool.configuration()
        low = [Ceiling(name="cpu matrix fp64", per_s=1e3, unit="operation")]
        for framework in FRAMEWORKS:
            write_cache(machine_key(environment.identify()), framework, configuration, low)
        honest = _measured(pool, "everything")
        cheat = _measured(pool, "nothing")
    finally:
        pool.close()
    assert (honest.outcome, honest.reason) == ("measured", None)
    (rate,) = honest.rates
    assert rate.ceiling in ("cpu matrix fp64", "cpu matrix fp64, cores apart")  # whichever was the higher just now
    assert cheat.outcome == "impossible"
    assert "cpu matrix fp64" in str(cheat.reason)


def _measured(pool: Pool, does: str) -> ArmRecord:
    trial = Trial(
        framework="numpy",
        workload=PRODUCT,
        arms=({"threads": "1"},),
        problem={"does": does},
        plan=Plan(budget_s=0.1, builds=1, min_span_s=0.02),
    )
    return pool.measure(trial).arms[0]
