"""Commands are read as hyperfine reads them, run as they are, and compared by what they write."""

import sys
from pathlib import Path

import pytest

from accelbench.errors import BadInput
from accelbench.measuring.commands import Command, OutputDifference, time_commands


def command(text: str, **options: object) -> Command:
    return Command(name=text, text=text, **options)  # type: ignore[arg-type]


def python(code: str) -> Command:
    return Command(name="program", text=f"{sys.executable} -S -c {code!r}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' names no program; expected a command line such as 'python a.py'"),
        ("A=1", "'A=1' names no program"),
        ("echo 'a", '"echo \'a" is no command line: no closing quotation'),
        ("cat a | sort", "'cat a | sort' contains |, which only a shell understands; pass --shell, or quote it"),
        ("python a.py $DATA/x", "contains $DATA/x, which only a shell understands"),
        ("python a.py *.csv ~/b", "contains *.csv and ~/b, which only a shell understands"),
        ("make > log 2>&1", "contains 2>&1 and >, which only a shell understands"),
    ],
)
def test_what_is_no_command_line_is_refused_before_anything_runs(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        command(text)
    assert sentence in str(raised.value)


def test_a_sign_of_the_shell_in_quotes_is_an_argument() -> None:
    assert command("grep '|' a").arguments == ("grep", "|", "a")
    assert command(r"python a.py '*.csv' \$5 a~b --cost=5$").arguments[2:] == ("*.csv", "$5", "a~b", "--cost=5$")


def test_variables_come_before_the_program_and_a_shell_runs_what_needs_one() -> None:
    assert command("WORD=hello env").output().splitlines()[-1] == b"WORD=hello"
    assert command("echo b a | wc -w", shell=True).output().strip() == b"2"


def test_standard_input_is_empty() -> None:
    assert command("cat").output() == b""


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (command("no-such-command --fast"), "'no-such-command --fast' was not run: there is no command 'no-such-com"),
        (command("/"), "'/' was not run: /: Permission denied"),
        (python("import sys; sys.exit('no data\\n')"), "'program' ended with exit status 1: no data"),
        (python("import os; os.kill(os.getpid(), 9)"), "'program' was killed by SIGKILL"),
    ],
)
def test_a_command_that_fails_is_one_line_with_its_last_words(run: Command, sentence: str) -> None:
    for way in [run.run, *([] if "was not run" in sentence else [run.output_and_memory])]:
        with pytest.raises(BadInput) as raised:
            way()
        assert sentence in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_failure_may_be_ignored() -> None:
    assert command("false", ignore_failure=True).output() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of other programs is known on Linux")
def test_the_memory_of_a_command_is_its_own() -> None:
    large, small = (python(f"print(len(b'x' * {size}))").output_and_memory() for size in (80_000_000, 1))
    assert large[0] == b"80000000\n"
    assert large[1] is not None
    assert 80_000_000 < large[1] < 160_000_000
    assert small[1] is None or small[1] < 40_000_000


@pytest.mark.parametrize(
    ("expected", "found", "line", "shown"),
    [
        (b"a\nb\n", b"a\nc\n", 2, ("'b'", "'c'")),
        (b"a\n", b"a\nb\n", 2, ("nothing", "'b'")),
        (b"a\n", b"a", 1, (r"'a\n'", "'a'")),
        (b"", b"\xff\n", 1, ("nothing", r"'\\xff'")),
        (b"x" * 100 + b"1", b"x" * 100 + b"2", 1, ("'…" + "x" * 30 + "1'", "'…" + "x" * 30 + "2'")),
    ],
)
def test_the_first_difference_of_two_outputs_is_shown(
    expected: bytes, found: bytes, line: int, shown: tuple[str, str]
) -> None:
    assert OutputDifference.between(expected, found) == OutputDifference(line=line, expected=shown[0], found=shown[1])


def test_equal_outputs_have_no_difference() -> None:
    assert OutputDifference.between(b"a\n", b"a\n") is None


@pytest.mark.slow
def test_a_command_that_waits_longer_is_slower() -> None:
    timed = time_commands([command("sleep 0.01"), command("sleep 0.1")], budget_s=12)  # a busy machine needs most of it
    assert timed.comparison["sleep 0.1"].verdict == "slower"
    assert timed.comparison.warnings[0].startswith("the commands wrote nothing to standard output")


def test_a_command_that_writes_something_else_has_no_speed_and_one_that_changes_is_not_compared() -> None:
    timed = time_commands(
        [command("echo a"), command("echo b"), command("cat /proc/sys/kernel/random/uuid")], budget_s=1
    )
    assert timed.comparison["echo b"].verdict is None
    assert timed.comparison["echo b"].reason == (
        "its standard output is not that of 'echo a', first in line 1: 'b' instead of 'a'; --ignore-output compares "
        "the times alone"
    )
    changing = timed.comparison["cat /proc/sys/kernel/random/uuid"]
    assert changing.verdict is not None
    assert timed.comparison.warnings[0].startswith(
        "the output of 'cat /proc/sys/kernel/random/uuid' was not compared, since that of"
    )


@pytest.mark.slow
def test_a_preparation_runs_before_every_run(tmp_path: Path) -> None:
    options = {"prepare": f"rm -rf {tmp_path}/made", "shell": True}
    made = [Command(name=name, text=f"mkdir {tmp_path}/made", **options) for name in ("one", "other")]  # type: ignore[arg-type]
    assert time_commands(made, budget_s=1).comparison["other"].pairs >= 6


def test_a_command_that_fails_while_it_is_timed_has_no_speed(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    failing = Command(name="failing", text=f"echo >> {runs}; test $(wc -l < {runs}) -lt 8", shell=True)
    timed = time_commands([command("true"), failing], budget_s=2)
    assert timed.comparison["failing"].reason == "'failing' ended with exit status 1"


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(BadInput, match="got 1 command; expected two or more, of which the first is the baseline"):
        time_commands([command("true")])
    with pytest.raises(BadInput, match="two commands are named 'true'; give each a name of its own by -n"):
        time_commands([command("true"), command("true")])
    with pytest.raises(BadInput, match=r"--budget: 100 ms is too short for 10 runs of each .*; pass --budget \d+s"):
        time_commands([command("sleep 0.1"), command("sleep 0.11")], budget_s=0.1)


def test_a_budget_that_the_first_command_alone_exceeds_is_refused_before_the_second_is_run(tmp_path: Path) -> None:
    second = Command(name="second", text=f"touch {tmp_path / 'ran'}", shell=True)
    with pytest.raises(BadInput, match=r"too short for 10 runs of each .*, which take [2-9]\.\d+ s; pass"):
        time_commands([command("sleep 0.1"), second], budget_s=0.1)
    assert not (tmp_path / "ran").exists()


def test_a_budget_counts_the_preparations_too() -> None:
    prepared = [command(text, prepare="sleep 0.2") for text in ("sleep 0.01", "sleep 0.011")]
    with pytest.raises(BadInput, match=r"too short for 10 runs of each .*, which take [4-9]\.\d+ s"):
        time_commands(prepared, budget_s=1.0)
