"""What a killed session leaves, how it is continued, and that one session measures at a time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from project import Project

from accelbench.machine_lock import lock_machine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL to send")

BAD_INPUT = 2
THREE_TRIALS = """
import signal


@pytest.mark.parametrize("hills", [0, 1, 2])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("hike", hills=hills)


@workload("numpy", unit="step")
def hike(setting, *, pace, hills):
    with open("hikes", "a") as file:
        file.write(str(hills))
    if len(set(open("hikes").read())) > int(os.environ.get("KILLED_AFTER", 3)):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    if hills == 1 and not os.path.exists("stumbled") and "STUMBLES" in os.environ:
        open("stumbled", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return Arm(step=lambda: 1.0)
"""


@pytest.fixture
def hikes(project: Project) -> Project:
    """A project of three trials that notes which of them were built."""
    project.configure("accelbench_results = results")
    project.benchmark("slow", "quick", tests=THREE_TRIALS)
    return project


def killed(project: Project, monkeypatch: pytest.MonkeyPatch, *, after: int) -> Path:
    """Kill a session after so many of its trials, and return the journal that it leaves."""
    monkeypatch.setenv("KILLED_AFTER", str(after))
    assert project.run_subprocess("--benchmark-save=quick").ret == -signal.SIGKILL
    monkeypatch.delenv("KILLED_AFTER")
    assert list((project.path / "results").rglob("*.json")) == []
    (journal,) = (project.path / "results").rglob("*.journal")
    return journal


def shape(path: Path) -> dict[str, Any]:
    """Return what a result file holds, without the samples and what rests on them."""
    document = json.loads(path.read_text())
    run = document["accelbench"]
    return {
        "run": {name: run[name] for name in ("schema_version", "machine", "settings", "interrupted")},
        "environment": {name: run["environment"][name] for name in ("identity", "configuration")},
        "trials": [
            {name: trial[name] for name in ("id", "workload", "summary", "unit", "techniques", "problem", "fixed")}
            | {"arms": [(arm["levels"], arm["outcome"], arm["items"], bool(arm["effects"])) for arm in trial["arms"]]}
            for trial in run["trials"]
        ],
        "entries": [(entry["fullname"], entry["group"], entry["params"]) for entry in document["benchmarks"]],
    }


@pytest.mark.slow
def test_a_killed_run_is_continued_without_measuring_what_it_finished(
    hikes: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = killed(hikes, monkeypatch, after=2)
    begun = (hikes.path / "hikes").read_text()
    (hikes.path / "hikes").unlink()
    result = hikes.run("--benchmark-save=quick", "--accel-resume")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"accelbench: 2 visits of 3 trials come from {journal.relative_to(hikes.path)}"])
    assert set((hikes.path / "hikes").read_text()) == {begun[-1]}
    assert not journal.exists()
    hikes.run("--benchmark-save=unbroken")
    resumed, unbroken = sorted((hikes.path / "results").rglob("*.json"))
    assert shape(resumed) == shape(unbroken)


@pytest.mark.slow
def test_an_unfinished_run_is_continued_under_its_own_conditions_only_and_else_announced_and_kept(
    hikes: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = killed(hikes, monkeypatch, after=1)
    before = journal.read_bytes()
    for argument, difference in (
        ("--accel-noise=0.02", "noise was 0.01, is 0.02"),
        ("-k=not 2-", "test_pace.py::test_walk[[]2[]] is not selected"),
        ("--benchmark-save=other", "no unfinished run 'other' is in results/*"),
    ):
        result = hikes.run("--benchmark-save=quick", "--accel-resume", argument)
        assert result.ret == BAD_INPUT
        result.stdout.fnmatch_lines([f"*accelbench: --accel-resume: *{difference}*"])
    announced = hikes.run("--benchmark-save=quick", "-k=0-")
    shown = journal.relative_to(hikes.path)
    announced.stdout.fnmatch_lines([f"accelbench: an unfinished run is in {shown} (1 visit of 3 trials); repeat*"])
    assert list((hikes.path / "results").rglob("*.journal")) == [journal]
    assert journal.read_bytes() == before


@pytest.mark.slow
def test_a_run_is_not_continued_once_imported_code_of_the_project_was_edited(
    hikes: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ".venv/lib/site-packages/boots.py"
    imports = 'import sys\n\nsys.path.append(".venv/lib/site-packages")\nimport boots\nimport trails\n'
    hikes.benchmark("slow", "quick", tests=f"{imports}{THREE_TRIALS}")
    for name in (installed, "trails.py"):
        hikes.write(name, "SIZE = 1\n")
    killed(hikes, monkeypatch, after=2)
    for name in (installed, "trails.py"):
        hikes.write(name, "SIZE = 2\n")
    refused = hikes.run("--benchmark-save=quick", "--accel-resume")
    assert refused.ret == BAD_INPUT
    refused.stdout.fnmatch_lines(["*accelbench: --accel-resume: *: trails.py was edited; restore what changed*"])
    hikes.write("trails.py", "SIZE = 1\n")
    assert hikes.run("--benchmark-save=quick", "--accel-resume").ret == 0


def test_resuming_without_saving_is_refused(hikes: Project) -> None:
    result = hikes.run("--accel-resume", f"--benchmark-json={os.devnull}")
    assert result.ret == BAD_INPUT
    result.stdout.fnmatch_lines(["*--accel-resume: this run is not saved; repeat the whole command*"])


@pytest.mark.slow
def test_a_worker_that_is_killed_from_outside_costs_nothing(hikes: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUMBLES", "once")
    hikes.run("--benchmark-save=quick").assert_outcomes(passed=6)
    (path,) = (hikes.path / "results").rglob("*.json")
    trial = json.loads(path.read_text())["accelbench"]["trials"][1]
    assert [arm["outcome"] for arm in trial["arms"]] == ["measured", "measured"]
    (twice,) = [remark["values"]["cause"] for remark in trial["remarks"] if remark["code"] == "measured-twice"]
    assert (twice["code"], twice["values"]["signal"]) == ("worker-killed", "SIGKILL")


@pytest.mark.slow
def test_a_machine_that_is_taken_is_refused_by_name_or_waited_for(
    hikes: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # the wait is told of in a pipe too
    lock = lock_machine(wait=False, say=pytest.fail)
    assert lock is not None
    refused = hikes.run_subprocess()
    assert refused.ret == BAD_INPUT
    refused.stdout.fnmatch_lines([f"*accelbench: this machine is busy: process {os.getpid()} (since *) is measuring*"])
    hikes.run("--benchmark-disable").assert_outcomes(passed=6)
    command = [sys.executable, "-m", "pytest", "--accel-budget=0.05", "--accel-visits=1", "--accel-wait", "-k", "0-"]
    with subprocess.Popen(command, cwd=hikes.path, stdout=subprocess.PIPE, text=True) as waiting:
        patience = Timer(60, waiting.kill)
        patience.start()
        assert waiting.stdout is not None
        assert any(f"waiting for process {os.getpid()}" in line for line in waiting.stdout)
        lock.release()
        waiting.communicate(timeout=30)
        patience.cancel()
    assert waiting.returncode == 0
