"""A calibration, whole, interrupted or refused."""

import signal
from io import StringIO

import pytest
from calibrated import duel

from harness.calibration import calibrating
from harness.calibration.calibrating import calibrate
from harness.calibration.progress import Progress
from harness.calibration.schedule import Task
from harness.errors import BadInput, Unavailable


@pytest.fixture
def planned(monkeypatch):
    """Let a calibration consist of these steps."""

    def plan(*steps):
        tasks = [Task(part="identical code", guess_s=1.0, measure=step) for step in steps]
        monkeypatch.setattr(calibrating, "tasks", lambda *_: tasks)

    return plan


def meets(found):
    found.duels.append(duel())


def ctrl_c(_):
    signal.raise_signal(signal.SIGINT)


def test_an_interrupted_calibration_has_what_was_measured_until_then(planned):
    planned(meets, ctrl_c, meets)
    certificate = calibrate(Progress(StringIO()), quick=True)
    assert certificate.interrupted
    assert certificate.duels == [duel()]


def test_a_whole_one_is_not_interrupted(planned):
    planned(meets, meets)
    certificate = calibrate(Progress(StringIO()), quick=True)
    assert not certificate.interrupted
    assert certificate.duels == 2 * [duel()]


def test_there_is_no_certificate_of_nothing(planned):
    planned(ctrl_c, meets)
    with pytest.raises(KeyboardInterrupt):
        calibrate(Progress(StringIO()), quick=True)


def test_a_framework_that_is_none_or_not_installed_is_one_line(monkeypatch):
    progress = Progress(StringIO())
    with pytest.raises(BadInput, match="'jax' is no framework; expected one of: numpy, torch, tensorflow, cupy"):
        calibrate(progress, frameworks=["jax"])
    monkeypatch.setattr("harness.calibration.calibrating.find_spec", lambda _: None)
    with pytest.raises(Unavailable, match="torch is not installed: pip install"):
        calibrate(progress, frameworks=["torch"])
