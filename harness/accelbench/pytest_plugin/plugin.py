"""The pytest plugin: hooks and fixtures. A session without accelbench's marks is left as it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator
from inspect import isfunction
from typing import Any

import pytest
from pytest_benchmark.fixture import FixtureAlreadyUsed

from accelbench.core import Workload, keywords, load_builtins
from accelbench.errors import BadInput, BadLevels
from accelbench.progress import Progress
from accelbench.pytest_plugin.collection import (
    function_id,
    parametrize,
    parametrize_without_levels,
    techniques_of_test,
)
from accelbench.pytest_plugin.markers import FACTORIAL, TOGGLES, uses_accelbench
from accelbench.pytest_plugin.measure_fixture import (
    ReplayClock,
    install_clock,
    measure_arm,
    plan_requests,
    require_measured,
)
from accelbench.pytest_plugin.options import Options, RunConfig, add_options, count_images, image_lines, read_options
from accelbench.pytest_plugin.session import UNFINISHED_STATUS, Session
from accelbench.pytest_plugin.storage import HOST, Storage, keeps_results, without_readings
from accelbench.pytest_plugin.terminal import (
    ReporterScreen,
    fold_skips,
    header_line,
    hide_table,
    spending_line,
)
from accelbench.run_summary import Judging, summary_lines
from accelbench.schema.environment_difference import differing_facts
from accelbench.schema.result import KEY, ArmRecord
from accelbench.schema.result_json import to_json

BAD_INPUT_STATUS = 2

OPTIONS = pytest.StashKey[Options]()
STORAGE = pytest.StashKey[Storage]()
SESSION = pytest.StashKey[Session]()
CLOCK = pytest.StashKey[ReplayClock]()
START_LINES = pytest.StashKey[list[str]]()
REFUSAL = pytest.StashKey[str]()
SIDE_BY_SIDE = (
    "tests that pytest-xdist runs side by side disturb each other's measurements; leave out its -n, or add -n 0 "
    "(PYTEST_XDIST_WORKER must not be set either), or add --benchmark-disable, which checks the arms and times nothing"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and check the folder of images before anything is collected."""
    config.addinivalue_line("markers", f"{TOGGLES}(framework, technique): run and compare the technique's levels")
    config.addinivalue_line("markers", f"{FACTORIAL}(framework, on): estimate the effect of each technique of a bundle")
    config.stash[OPTIONS] = read_options(config)
    if folder := config.stash[OPTIONS].data_dir:
        try:
            count_images(folder)
        except BadInput as error:
            raise pytest.UsageError(f"--accel-data-dir: {error}") from None
    config.stash[STORAGE] = Storage(config)
    config.pluginmanager.register(config.stash[STORAGE], "accelbench-storage")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Show how many of the user's own images can be used."""
    folder = config.stash[OPTIONS].data_dir
    return list(image_lines(folder)) if folder else []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare the session. If pytest-benchmark is disabled, every arm is run once and not timed."""
    config = session.config
    host = config.pluginmanager.get_plugin(HOST)
    run_config = RunConfig(config.stash[OPTIONS], rehearse=host is None or host.disabled)
    config.stash[SESSION] = Session(run_config, Progress(ReporterScreen(config)), config.stash[STORAGE])


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> None:
    """Keep a class of tests from binding one that ``versions`` made, which takes no instance."""
    if isinstance(collector, pytest.Class) and isfunction(obj) and isinstance(vars(obj).get("compared"), Workload):
        setattr(collector.obj, name, staticmethod(obj))


@pytest.hookimpl(trylast=True)  # after pytest's own parameters, so that the tests of a trial's arms stand together
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a marked test once per arm."""
    if not uses_accelbench(metafunc.definition):
        return
    load_builtins()
    session, nodeid = metafunc.config.stash[SESSION], metafunc.definition.nodeid
    try:
        techniques = techniques_of_test(metafunc.definition)
        try:
            session.tests[nodeid] = parametrize(metafunc, techniques, session.host_for(techniques))
        except BadLevels as error:
            session.refusals[nodeid] = error
            parametrize_without_levels(metafunc, techniques)
    except BadInput as error:
        session.usage_errors.append(error)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let ``-k`` find a test by what else people call its techniques: ``-k num_workers`` selects those of workers."""
    session = item.config.stash.get(SESSION, None)
    if session and (test := session.tests.get(function_id(item))):
        item.extra_keyword_matches.update(keywords(test.techniques))


@pytest.hookimpl(tryfirst=True)  # before the terminal shows what was collected
def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the trials among the selected tests, and prepare to measure them.

    A technique that does not exist ends the session here: while tests are collected, pytest would bury it among errors.
    A worker of pytest-xdist ends with its first test, since its controller waits for the tests that it has collected.
    """
    own = session.config.stash[SESSION]
    own.storage.has_trials = bool(own.tests or own.usage_errors)
    try:
        if own.usage_errors:
            raise own.usage_errors[0]
        own.collect(session.items)
        if own.trials and _runs_side_by_side(session.config):
            if not hasattr(session.config, "workerinput"):
                raise BadInput(SIDE_BY_SIDE)
            session.config.stash[REFUSAL] = f"accelbench: {SIDE_BY_SIDE}"
            return
        if own.trials and not own.config.rehearse and not session.config.option.collectonly:
            session.config.stash[START_LINES] = own.start(session)
    except BadInput as error:
        pytest.exit(f"accelbench: {error}", returncode=BAD_INPUT_STATUS)


def _runs_side_by_side(config: pytest.Config) -> bool:
    """Return whether pytest-xdist runs tests side by side that are to be measured; a rehearsal measures nothing."""
    is_distributed = config.getoption("dist", "no") != "no" or "PYTEST_XDIST_WORKER" in os.environ
    rehearses = config.getoption("benchmark_disable", False) and not config.getoption("benchmark_enable", False)
    return is_distributed and not (rehearses or config.option.collectonly)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """End a worker of pytest-xdist instead of running a test beside others that would disturb it."""
    if refusal := item.config.stash.get(REFUSAL, ""):
        item.session.shouldstop = refusal
        return True
    return None


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Show what is going to be measured, and how."""
    session = config.stash[SESSION]
    lines = [header_line(session.config, session.arms.values())] if session.trials else []
    return [*lines, *config.stash.get(START_LINES, [])]


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """Measure all trials before the tests report them.

    End like an interrupted session if the time of this part was up before everything was measured, or after Ctrl-C.
    """
    own = session.config.stash[SESSION]
    if own.trials and not (own.config.rehearse or session.testsfailed or session.config.option.collectonly):
        plan_requests(session, own)
        own.measure_all()
    result = yield
    if own.has_been_interrupted:
        raise KeyboardInterrupt
    time_slice = own.time_slice
    if time_slice.rest:
        time_slice.is_over = True
        raise session.Interrupted(time_slice.rest)
    return result


@pytest.hookimpl(tryfirst=True)  # before the benchmark fixture reads the marker
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a trial's test the clock that replays its samples."""
    if item.nodeid in item.config.stash[SESSION].trials:
        if not item.config.pluginmanager.has_plugin(HOST):
            pytest.fail(
                "measure needs pytest-benchmark, which is switched off; leave out -p no:benchmark", pytrace=False
            )
        item.stash[CLOCK] = install_clock(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Refuse a test that calls pytest-benchmark's fixture besides ``measure``, and one that calls neither."""
    try:
        result = yield
        if CLOCK in item.stash:
            require_measured(item.config.stash[SESSION], item, item.stash[CLOCK])
        return result
    except FixtureAlreadyUsed:
        if CLOCK not in item.stash:
            raise
        error = BadInput("the test calls benchmark and measure, which measures by itself; call one of them in a test")
        item.config.stash[SESSION].usage_errors.append(error)
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture
def measure(request: pytest.FixtureRequest, benchmark: Any) -> Callable[..., ArmRecord]:
    """Measure the test's arm of its trial: ``measure("cnn-train")``.

    The workload, given by name or as a :class:`accelbench.Workload`, is built at the level that this test has of each
    technique in ``@toggles``. A keyword holds another technique of the same framework at one level in every arm, as in
    ``measure("cnn-train", memory_format="channels-last")``, or sets an option of the workload, as in
    ``measure("heat", elements=10_000)``. All trials are measured before the first test reports, so the lines before
    this call run twice in the first test of a trial. Each test reports its own arm, and ``measure`` returns that arm's
    record.
    """
    item = request.node
    session = request.config.stash[SESSION]

    def measure(workload: str | Workload, /, **keywords: Any) -> ArmRecord:
        __tracebackhide__ = True
        return measure_arm(session, item, benchmark, item.stash.get(CLOCK, None), workload, keywords)

    return measure


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Remove the host's name and clock readings from the files that accelbench writes."""
    session = config.stash.get(SESSION, None)
    if keeps_results(config) or config.stash[STORAGE].in_own_folder or (session and session.visits):
        without_readings(machine_info)


@pytest.hookimpl(optionalhook=True, tryfirst=True)  # before pytest-benchmark compares and warns
def pytest_benchmark_compare_machine_info(
    config: pytest.Config, benchmarksession: Any, machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Compare with a run of accelbench's: ignore readings, and name what else differs."""
    if not (config.stash[STORAGE].in_own_folder or KEY in compared_benchmark):
        return
    then = compared_benchmark["machine_info"]
    for facts in (machine_info, then):
        without_readings(facts)
    here = json.loads(json.dumps(machine_info, default=str))  # as a file holds it
    if changed := differing_facts([here, then], missing=True):
        benchmarksession.logger.info(
            f"the earlier run was made with another {', '.join(changed)}; accelbench compare explains it", newline=False
        )
        compared_benchmark["machine_info"] = machine_info  # pytest-benchmark would print both as dictionaries


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Add the run to the file, including the arms that could not be measured."""
    session = config.stash[SESSION]
    if session.visits:
        output_json[KEY] = to_json(session.run(interrupted=config.stash[STORAGE].interrupted))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Set the exit status if a test asked for something that does not exist, or if trials are left."""
    own = session.config.stash[SESSION]
    if own.usage_errors:
        session.exitstatus = BAD_INPUT_STATUS
    elif own.time_slice.is_over:
        session.exitstatus = UNFINISHED_STATUS


@pytest.hookimpl(wrapper=True)  # below pytest-benchmark's own tables
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, Any, Any]:
    """Print what paid, and where the run was saved."""
    session, storage = config.stash[SESSION], config.stash[STORAGE]
    records = session.records
    if config.get_verbosity() <= 0:
        skipped = terminalreporter.stats.get("skipped", ())
        fold_skips((report for report in skipped if report.nodeid in session.trials), records)
    hide_table(config.pluginmanager.get_plugin(HOST), config, session.trials)
    try:
        return (yield)
    finally:
        if session.visits:
            terminalreporter.ensure_newline()
            terminalreporter.section("accelbench")
            plan = session.config.plan
            visits = plan.visits if storage.interrupted else 1
            judging = Judging(noise=plan.noise, budget_s=plan.budget_s, visits=visits)
            width = shutil.get_terminal_size().columns if terminalreporter.isatty else None
            rehearsed, verbose = session.config.rehearse, config.get_verbosity() > 0
            for line in summary_lines(records, judging, width=width, rehearsed=rehearsed, verbose=verbose):
                terminalreporter.write_line(line.text, **({line.style: True} if line.style else {}))
            terminalreporter.write_line(spending_line(session.saved_spent_s or session.spending.total()))
        for closing in storage.closing_lines():
            terminalreporter.write_line(closing, red=bool(storage.failure))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the workers and release the machine."""
    if (session := config.stash.get(SESSION, None)) is not None:
        session.close()
