"""`accelbench time`, as a user types it."""

import json
import signal
import subprocess
from time import sleep

import psutil
import pytest
from click.testing import CliRunner

from accelbench.cli import main


def time(*arguments):
    return CliRunner().invoke(main, ["time", *arguments], prog_name="accelbench")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument 'COMMANDS...'; see accelbench time --help"),
        (["true"], "got 1 command; expected two or more"),
        (["true", "no-such-command"], "'no-such-command' was not run: there is no command 'no-such-command'"),
        (["true", "false"], "'false' ended with exit status 1"),
        (["true", "true", "--budget", "soon"], "--budget: 'soon' is not a time such as 60s, 5m or 1h"),
        (["true", "true", "-n", "a", "-n", "b", "-n", "c"], "-n: got 3 names for 2 commands"),
        (["true", "true", "--prepare", "false"], "'false' ended with exit status 1"),
    ],
)
def test_what_cannot_be_timed_is_one_line(arguments, words):
    result = time(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert words in line


@pytest.mark.slow
def test_the_table_has_a_row_for_each_command_also_where_one_is_given_twice():
    result = time("echo a", "echo a", "-n", "mine", "--budget", "1s")
    assert result.exit_code == 0, result.output
    header, _, *rows = result.stdout.splitlines()
    assert header.split() == ["command", "memory", "time", "speedup", "interval", "verdict"]
    assert [row.partition("  ")[0] for row in rows[:2]] == ["mine", "echo a"]
    assert ["not known" in row for row in rows[:2]] == [True, True]  # echo takes less memory than what starts it
    twice = json.loads(time("true", "true", "--budget", "1s", "--ignore-output", "--json").stdout)
    assert [each["name"] for each in twice["commands"]] == ["true", "true (2)"]
    assert twice["warnings"][:1] != ["the commands wrote nothing to standard output"]


def test_json_says_what_ran_and_that_a_wrong_answer_has_no_speed():
    result = time("seq 1 2", "seq 1 3", "--budget", "1s", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    baseline, wrong = document["commands"]
    assert (document["baseline"], baseline["command"]) == ("seq 1 2", "seq 1 2")
    assert baseline["median_s"] > 0
    assert (wrong["speedup"], wrong["verdict"], wrong["median_s"]) == (None, None, None)
    assert "first in line 3: '3' instead of nothing" in wrong["reason"]


def is_running(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_ctrl_c_ends_the_command_that_runs_with_what_it_has_started(tmp_path, monkeypatch):
    def interrupted(*_):
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        while not (started.exists() and started.read_text().strip()):
            sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    started = tmp_path / "started"
    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    result = time(f"sleep 300 & echo $! > {started}; wait", "true", "--shell")
    assert (result.exit_code, result.stderr.strip()) == (1, "Aborted!")
    for _ in range(1000):
        if not is_running(int(started.read_text())):
            return
        sleep(0.01)
    pytest.fail("the command that was interrupted goes on")
