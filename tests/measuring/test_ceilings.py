"""When a machine's ceilings are measured, and when they are on file."""

from pathlib import Path

import numpy as np
import pytest

from harness import environment
from harness.ceilings import kept
from harness.ceilings.envelope import find
from harness.experiment import Arm, Plan, Setting, Trial, Work, Workload
from harness.frameworks.protocol import FRAMEWORKS
from harness.identity import machine_key
from harness.measuring.ceilings import Ceilings
from harness.measuring.handle import Heard
from harness.measuring.pool import Pool
from harness.record import ArmRecord, Ceiling


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path))


class Machine:
    """A machine that is as fast as it is told to be, and counts who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.per_s = {"numpy": 1e11, "torch": 2e11}
        self.version = "1"

    def session(self) -> Ceilings:
        """Return what a new session knows of it."""
        return Ceilings(self._measure, lambda framework: {f"{framework}.version": self.version})

    def _measure(self, framework: str, heard: Heard) -> list[Ceiling]:
        heard("measuring")
        self.asked.append(framework)
        per_s = self.per_s.get(framework)
        return [Ceiling(name="cpu matrix fp32", per_s=per_s, unit="operation")] if per_s else []


def fastest(ceilings: list[Ceiling]) -> float:
    found = find(ceilings, "cpu matrix fp32")
    return found.per_s if found else 0.0


def quiet(_: str) -> None: ...


def test_ceilings_are_measured_once_and_then_on_file() -> None:
    machine = Machine()
    first = machine.session().holding_for("torch", quiet)
    assert machine.asked == ["numpy", "torch"]
    assert machine.session().holding_for("torch", quiet) == first
    assert machine.asked == ["numpy", "torch"]


def test_an_arm_is_held_against_the_fastest_of_every_framework() -> None:
    machine = Machine()
    machine.session().holding_for("torch", quiet)
    assert fastest(machine.session().holding_for("numpy", quiet)) == 2e11


def test_another_version_has_its_ceilings_measured_again() -> None:
    machine = Machine()
    machine.session().holding_for("numpy", quiet)
    machine.version, machine.per_s["numpy"] = "2", 3e11
    assert fastest(machine.session().holding_for("numpy", quiet)) == 3e11
    assert machine.asked == ["numpy", "numpy"]


def test_another_look_raises_a_ceiling_and_never_lowers_it() -> None:
    machine = Machine()
    machine.session().holding_for("numpy", quiet)
    machine.per_s["numpy"] = 0.5e11
    session = machine.session()
    machine.per_s["torch"] = 0.0
    assert fastest(session.looked_at_again("numpy", quiet)) == 1e11
    machine.per_s["numpy"] = 5e11
    assert fastest(session.looked_at_again("numpy", quiet)) == 1e11  # once a session
    assert fastest(machine.session().looked_at_again("numpy", quiet)) == 5e11


def test_before_an_arm_is_blamed_every_framework_has_its_say() -> None:
    machine = Machine()
    session = machine.session()
    assert fastest(session.holding_for("cupy", quiet)) == 1e11
    assert fastest(session.looked_at_again("cupy", quiet)) == 2e11
    assert sorted(machine.asked) == ["cupy", "numpy", "tensorflow", "torch"]


def test_a_framework_whose_worker_is_lost_is_asked_once_a_session() -> None:
    machine = Machine()
    machine.per_s["torch"] = 0.0
    session = machine.session()
    for _ in range(2):
        assert fastest(session.holding_for("torch", quiet)) == 1e11
    assert machine.asked == ["numpy", "torch"]


def _product(setting: Setting, *, does: str = "everything") -> Arm:
    matrix = np.random.default_rng(setting.seed).random((128, 128))
    work = Work(operations=2 * 128**3, precision="fp64")
    first = matrix @ matrix
    return Arm(step=lambda: matrix @ matrix if does == "everything" else first[0, 0], work=work, device="cpu")


PRODUCT = Workload(name="product", frameworks=("numpy",), unit="product", summary="A product.", builder=_product)


def test_a_ceiling_that_a_neighbour_had_lowered_is_measured_again_before_anybody_is_blamed() -> None:
    pool = Pool(Plan())
    try:
        pool.accelerators("numpy")  # its worker then tells its configuration
        configuration = environment.configuration() | pool.configuration()
        low = [Ceiling(name="cpu matrix fp64", per_s=1e3, unit="operation")]
        for framework in FRAMEWORKS:
            kept.write(machine_key(environment.identify()), framework, configuration, low)
        honest = _measured(pool, "everything")
        cheat = _measured(pool, "nothing")
    finally:
        pool.close()
    assert (honest.outcome, honest.reason) == ("measured", "")
    (rate,) = honest.rates
    assert rate.ceiling in ("cpu matrix fp64", "cpu matrix fp64, cores apart")  # whichever was the higher just now
    assert cheat.outcome == "impossible"
    assert "cpu matrix fp64" in cheat.reason


def _measured(pool: Pool, does: str) -> ArmRecord:
    trial = Trial(
        framework="numpy",
        workload=PRODUCT,
        arms=({"threads": "1"},),
        problem={"does": does},
        plan=Plan(budget_s=0.1, builds=1, min_span_s=0.02),
    )
    return pool.measure(trial).arms[0]
