"""A calibration: what it plans, what it measures, and how it ends."""

import os
import signal
from collections import Counter
from dataclasses import replace
from functools import partial
from io import StringIO

import pytest

from accelbench.calibrate import comparisons
from accelbench.calibrate import session as session_module
from accelbench.calibrate.comparisons import SUITE_CASES
from accelbench.calibrate.session import FULL, QUICK, CalibrationSession, Task, calibrate, open_session, plan_tasks
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.measuring.machine_state import MachineState, StateReader
from accelbench.measuring.workers import interpreter
from accelbench.progress import ConsoleScreen, Progress
from accelbench.schema.certificate import KnownComparison, Timer
from certificates import comparison

EVERY = ("numpy", "torch", "tensorflow", "cupy")


@pytest.fixture
def plan(monkeypatch):
    """Make these steps the whole calibration."""

    def plan(*steps):
        tasks = [Task(part="identical code", guess_s=1.0, measure=step) for step in steps]
        monkeypatch.setattr(session_module, "plan_tasks", lambda *_: tasks)

    return plan


def quiet():
    return Progress(ConsoleScreen(StringIO()))


def compare_once():
    return [comparison()], {}


def without_cores(found):
    """Return comparisons without how far apart the cores of this machine lay."""
    return [replace(each, core_latency_s=None, cores_are_far=None) for each in found]


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupted_calibration_has_what_was_measured_until_then(plan):
    plan(compare_once, press_ctrl_c, compare_once)
    certificate = calibrate(quiet(), quick=True)
    assert certificate.interrupted
    assert without_cores(certificate.comparisons) == [comparison()]


def test_a_whole_calibration_is_not_interrupted(plan):
    plan(compare_once, compare_once)
    certificate = calibrate(quiet(), quick=True)
    assert not certificate.interrupted
    assert without_cores(certificate.comparisons) == 2 * [comparison()]


def test_the_first_line_says_what_the_progress_counts(plan):
    plan(compare_once, compare_once)
    stream = StringIO()
    calibrate(Progress(ConsoleScreen(stream)), quick=True)
    first, second, *_ = stream.getvalue().splitlines()
    assert first == "2 measurements: 2 of identical code"
    assert second.startswith("[1/2] ")


def test_a_calibration_that_compared_nothing_has_no_certificate(plan):
    plan(press_ctrl_c, compare_once)
    with pytest.raises(KeyboardInterrupt):
        calibrate(quiet(), quick=True)


def test_a_framework_that_is_unknown_or_not_installed_is_one_line(monkeypatch):
    progress = quiet()
    with pytest.raises(BadInput, match="'jax' is no framework; expected one of: numpy, torch, tensorflow, cupy"):
        calibrate(progress, frameworks=["jax"])
    monkeypatch.setattr(interpreter, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match="torch is not installed: pip install"):
        calibrate(progress, frameworks=["torch"])


def test_an_interpreter_of_a_framework_that_is_not_wanted_does_not_matter(monkeypatch, plan):
    plan(compare_once)
    monkeypatch.setenv(interpreter.variable_of("tensorflow"), "/no/such/python")
    assert calibrate(quiet(), frameworks=["numpy"]).settings["frameworks"] == "numpy"
    with pytest.raises(BadInput, match="no such program"):
        calibrate(quiet(), frameworks=["tensorflow"])


def in_worker(function, *arguments):
    return Task(part="", guess_s=1.0, measure=partial(function, *arguments), framework="numpy")


def test_a_session_measures_in_a_worker_and_reports_a_lost_one_in_one_line():
    with open_session("example-2c-8g") as session:
        session.run(in_worker(comparisons.compare_known, "short Python loop", 0.1, 0, 0.1))
        session.run(in_worker(comparisons.measure_timer))
        os.kill(session.workers["numpy"].pid, signal.SIGKILL)
        with pytest.raises(AccelbenchError, match=r"^numpy: SIGKILL killed the worker .*; calibrate again$"):
            session.run(in_worker(comparisons.measure_timer))
    assert [each.effect_size for each in session.of(KnownComparison)] == [0.1]
    assert len(session.of(Timer)) == 1


def test_a_comparison_says_how_far_apart_the_cores_lay_before_or_after_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path))
    readings_s = iter([200e-9, 210e-9, 205e-9, 430e-9])
    states = StateReader("example-2c-8g", lambda: MachineState(core_latency_s=next(readings_s)))
    session = CalibrationSession(states=states)
    for _ in range(2):
        session.run(Task(part="", guess_s=1.0, measure=compare_once))
    found = [(each.core_latency_s, each.cores_are_far) for each in session.of(KnownComparison)]
    assert found == [(210e-9, False), (430e-9, True)]


def test_an_accelerator_that_is_missing_is_named_once():
    def compare_in_suite():
        raise Unavailable("heat of cupy on an accelerator: there is no accelerator")

    session = CalibrationSession()
    for _ in range(2):
        session.run(Task(part="", guess_s=1.0, measure=compare_in_suite))
    assert session.not_measured == ["heat of cupy on an accelerator: there is no accelerator"]
    assert session.records == []


def refuse_slow_step():
    raise BadInput("the baseline 'baseline' has no speed: one step takes 194 ms")


def test_a_comparison_that_a_busy_machine_makes_too_slow_does_not_lose_the_others():
    with open_session("example-2c-8g") as session:
        session.run(in_worker(refuse_slow_step))
        session.run(in_worker(comparisons.measure_timer))
    assert session.not_measured == ["the baseline 'baseline' has no speed: one step takes 194 ms"]
    assert len(session.of(Timer)) == 1


def test_a_calibration_in_which_every_comparison_is_refused_has_no_certificate(plan):
    plan(refuse_slow_step, refuse_slow_step)
    with pytest.raises(Unavailable, match=r"^nothing could be compared: the baseline 'baseline' has no speed"):
        calibrate(quiet())


def planned_calls(tasks, name):
    """Return the first argument and the keywords of every planned call of a function of that name."""
    measures = [task.measure for task in tasks if isinstance(task.measure, partial)]
    return [(each.args[0], each.keywords) for each in measures if each.func.__name__ == name]


def test_a_full_calibration_makes_enough_comparisons_for_what_it_claims():
    calls = planned_calls(plan_tasks(FULL, EVERY, 0), "compare_known")
    counts = Counter(options["effect_size"] for _, options in calls)
    assert counts[0.0] >= 150
    assert counts[0.03] >= 100
    assert set(counts) == {0.0, 0.01, 0.02, 0.03, 0.05, 0.1}


def test_every_kind_of_identical_work_is_compared_about_equally_often():
    calls = planned_calls(plan_tasks(FULL, EVERY, 0), "compare_known")
    counts = Counter(work for work, options in calls if options["effect_size"] == 0)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_what_busy_processes_cannot_disturb_is_measured_without_them_only():
    tasks = plan_tasks(QUICK, EVERY, 1)
    assert {task.measure.func.__name__ for task in tasks} == {"compare_known", "compare_in_suite"}
    assert {task.measure.keywords["busy_processes"] for task in tasks} == {1}


@pytest.mark.parametrize("framework", EVERY)
def test_one_framework_can_be_chosen(framework):
    tasks = plan_tasks(QUICK, [framework], 0)
    known = [task for task in tasks if task.part in ("identical code", "more work")]
    assert {task.framework for task in known} <= {framework}
    cases = [case for case, _ in planned_calls(tasks, "compare_in_suite")]
    assert cases == [case for case in SUITE_CASES if case.framework == framework]
