"""The pytest plugin: hooks and fixtures. What they do is in ``harness.hosting``; there are no statistics here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any, NoReturn

import pytest

from harness.errors import BadInput
from harness.experiment import Workload
from harness.hosting.beginning import begin
from harness.hosting.collecting import fill_catalogue, parametrize, toggled
from harness.hosting.conditions import Conditions
from harness.hosting.images import count_images, images_lines
from harness.hosting.machine import differing, without_readings
from harness.hosting.options import Options, add_options, read_options
from harness.hosting.part import UNFINISHED_STATUS
from harness.hosting.progress import Progress
from harness.hosting.replay import ReplayClock, equip
from harness.hosting.saving import Saving, keeps_results
from harness.hosting.suite import Suite
from harness.hosting.summary import conditions_line, spending_line, summary
from harness.hosting.taking import take
from harness.hosting.toggling import FACTORIAL, MARKER, is_toggling
from harness.record import KEY, ArmRecord
from harness.stored import to_json

BAD_INPUT_STATUS = 2
HOST = "pytest-benchmark"  # the name under which pytest-benchmark registers its session

OPTIONS = pytest.StashKey[Options]()
SAVING = pytest.StashKey[Saving]()
SUITE = pytest.StashKey[Suite]()
CLOCK = pytest.StashKey[ReplayClock]()
BEGINNING = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Check everything that can be checked before anything is measured."""
    config.addinivalue_line("markers", f"{MARKER}(framework, technique): run and compare the technique's levels")
    config.addinivalue_line("markers", f"{FACTORIAL}(framework, on): take the bundle of these techniques apart")
    # Where warnings are errors, a run without a single result would otherwise end in pytest-benchmark's traceback.
    warnings.filterwarnings("default", message="Not saving anything")  # pytest puts the filters back at its end
    try:
        config.stash[OPTIONS] = read_options(config)
        if folder := config.stash[OPTIONS].data_dir:
            count_images(folder)
        config.stash[SAVING] = Saving(config)
    except BadInput as error:
        _refuse(error)
    config.pluginmanager.register(config.stash[SAVING], "accelbench-saving")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what was found in the user's own image folder."""
    folder = config.stash[OPTIONS].data_dir
    return list(images_lines(folder)) if folder else []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin a run; where pytest-benchmark is disabled, the arms are run once and not timed."""
    config = session.config
    host = config.pluginmanager.get_plugin(HOST)
    conditions = Conditions(config.stash[OPTIONS], rehearse=host is None or host.disabled)
    config.stash[SUITE] = Suite(conditions, Progress(config))


@pytest.hookimpl(trylast=True)  # after pytest's own parameters, so that a trial's arms stand together
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a toggling test its levels."""
    if not is_toggling(metafunc.definition):
        return
    fill_catalogue()
    suite = metafunc.config.stash[SUITE]
    try:
        parametrize(metafunc, toggled(metafunc.definition), suite.levels_of)
    except BadInput as error:
        suite.complaints.append(error)


@pytest.hookimpl(tryfirst=True)  # before the terminal says what was collected
def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the trials among the tests that were selected.

    A technique that does not exist ends the session here: while tests are collected, pytest would bury it among errors.
    """
    suite = session.config.stash[SUITE]
    if suite.complaints:
        _refuse(suite.complaints[0])
    suite.collect(session.items)
    if suite.arms and not suite.conditions.rehearse and not session.config.option.collectonly:
        try:
            session.config.stash[BEGINNING] = begin(session, suite, session.config.stash[SAVING])
        except BadInput as error:
            _refuse(error)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is going to be measured, and how."""
    suite = config.stash[SUITE]
    lines = [conditions_line(suite.conditions, suite.arms.values())] if suite.arms else []
    return [*lines, *config.stash.get(BEGINNING, [])]


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """End like an interrupted session where the time of this part was up before all was measured."""
    result = yield
    part = session.config.stash[SUITE].part
    if part.left:
        part.ended = True
        raise session.Interrupted(part.left)
    return result


@pytest.hookimpl(tryfirst=True)  # before the benchmark fixture reads the marker
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a trial's test the clock that replays its samples."""
    if item.nodeid in item.config.stash[SUITE].trials and item.config.pluginmanager.has_plugin(HOST):
        item.stash[CLOCK] = equip(item)


@pytest.fixture
def measure(request: pytest.FixtureRequest, benchmark: Any) -> Callable[..., ArmRecord]:
    """Measure the test's arm of its trial.

    Called as ``measure(workload, amp=amp)``: every toggled technique is passed on; other techniques of the same
    framework may be held at a level, as in ``memory_format="channels_last"``; all else are the workload's options.
    The first test of a trial measures all its arms; each test then reports its own.
    """
    item = request.node
    suite = request.config.stash[SUITE]

    def measure(workload: str | Workload, **keywords: Any) -> ArmRecord:
        __tracebackhide__ = True
        return take(suite, item, benchmark, item.stash.get(CLOCK, None), workload, keywords)

    return measure


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Leave out the host's name and what changes from one reading to the next."""
    suite = config.stash.get(SUITE, None)
    if keeps_results(config) or config.stash[SAVING].in_own_folder or (suite and suite.entries):
        without_readings(machine_info)


@pytest.hookimpl(optionalhook=True, tryfirst=True)  # before pytest-benchmark compares and warns
def pytest_benchmark_compare_machine_info(
    config: pytest.Config, benchmarksession: Any, machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Compare machines, not readings, and say in words what else differs."""
    then = compared_benchmark["machine_info"]
    for facts in (machine_info, then):
        without_readings(facts)
    if config.stash[SAVING].in_own_folder and (changed := differing(machine_info, then)):
        names = ", ".join(changed)
        benchmarksession.logger.info(
            f"the run compared with was made with another {names}; accelbench compare explains it", newline=False
        )
        compared_benchmark["machine_info"] = machine_info  # pytest-benchmark would print both as dictionaries


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Put the run into the file, with the arms that could not be measured."""
    suite = config.stash[SUITE]
    if suite.entries:
        output_json[KEY] = to_json(suite.run(interrupted=config.stash[SAVING].interrupted))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End with the status of bad input where a test asked for what does not exist, and tell whether trials are left."""
    suite = session.config.stash[SUITE]
    if suite.complaints:
        session.exitstatus = BAD_INPUT_STATUS
    elif suite.part.ended:
        session.exitstatus = UNFINISHED_STATUS


@pytest.hookimpl(wrapper=True)  # below pytest-benchmark's own tables
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, Any, Any]:
    """Print what paid, and where the run lies."""
    try:
        return (yield)
    finally:
        suite, saving = config.stash[SUITE], config.stash[SAVING]
        if suite.entries:
            terminalreporter.ensure_newline()
            terminalreporter.section("accelbench")
            for line in summary(suite.records, rehearsed=suite.conditions.rehearse):
                terminalreporter.write_line(line)
            terminalreporter.write_line(spending_line(suite.spending.so_far()))
        for line in saving.told():
            terminalreporter.write_line(line, red=bool(saving.failure))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers and let the machine go."""
    if (suite := config.stash.get(SUITE, None)) is not None:
        suite.close()


def _refuse(error: BadInput) -> NoReturn:
    pytest.exit(f"accelbench: {error}", returncode=BAD_INPUT_STATUS)
