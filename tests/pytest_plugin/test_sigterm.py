"""SIGTERM, by which schedulers and containers end a run: it ends like one that Ctrl-C ends."""

import json
import signal
import subprocess
import sys
import time

import pytest
from project import Project

SECOND_HANGS = """
@pytest.mark.parametrize("hills", [0, 1])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("climb", hills=hills)


@workload("numpy", unit="step")
def climb(setting, *, pace, hills):
    open(f"climbed-{hills}", "w").close()
    is_second = os.path.exists(f"climbed-{1 - hills}") and "HANGS" in os.environ

    def step():
        if is_second:
            open("second.begun", "w").close()
            time.sleep(600)
        return 1.0

    return Arm(step=step)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to send")
def test_sigterm_keeps_what_was_measured_and_says_how_the_run_is_continued(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.benchmark("slow", "quick", tests=SECOND_HANGS)
    options = ["--accel-budget=0.05", "--accel-visits=1", "--benchmark-json=out.json"]
    command = [sys.executable, "-m", "pytest", *options]
    monkeypatch.setenv("HANGS", "yes")
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, text=True) as running:
        for _ in range(600):
            if (project.path / "second.begun").exists():
                break
            time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=30)
    assert running.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "the same command with --accel-resume continues the run" in output
    document = json.loads((project.path / "out.json").read_text())["accelbench"]
    assert document["interrupted"] is True
    assert [arm["outcome"] for trial in document["trials"] for arm in trial["arms"]] == ["measured", "measured"]
    monkeypatch.delenv("HANGS")
    assert project.run(*options, "--accel-resume").ret == 0
    document = json.loads((project.path / "out.json").read_text())["accelbench"]
    assert len(document["trials"]) == 2
