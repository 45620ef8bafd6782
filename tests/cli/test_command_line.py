"""The command, as a user types it."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench.cli import main

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--colour"], "No such option '--colour'; see accelbench report --help"),
        (["--colour"], "No such option '--colour'; see accelbench --help"),
        (["render"], "No such command 'render'; see accelbench --help"),
        (["doctor", "a"], "Got unexpected extra argument (a); see accelbench doctor --help"),
    ],
)
def test_a_mistyped_command_is_one_line(arguments, words):
    result = CliRunner().invoke(main, arguments, prog_name="accelbench")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {words}\n")


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_gives_an_example_of_this_command(command):
    result = CliRunner().invoke(main, [*filter(None, [command]), "--help"])
    assert result.exit_code == 0
    first = "accelbench run quick" if command is None else f"accelbench {command}"
    assert re.search(rf"Example:\n    {first}", result.stdout)


def examples():
    """Return every line of a help text's examples, without what follows in a pipe."""
    for name, command in main.commands.items():
        for line in (command.help or "").partition("Example:")[2].split("\n"):
            words = re.split(r" (?:>|\||&&) ", line.strip())[0]
            yield from [(name, words)] if words.startswith("accelbench") else []


@pytest.mark.parametrize(("name", "line"), [*examples()])
def test_the_examples_of_the_help_are_understood(name, line):
    _, command, *arguments = shlex.split(line)
    assert command == name
    main.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("name", sorted(main.commands.keys() - {"accept", "export", "run"}))
def test_json_is_a_format_of_every_command_and_has_an_alias(name):
    (choice,) = (each for each in main.commands[name].params if "--format" in each.opts)
    assert "json" in choice.type.choices
    assert any("--json" in each.opts and each.name == choice.name for each in main.commands[name].params)


def test_list_names_workloads_and_techniques_with_their_levels():
    text = CliRunner().invoke(main, ["list", "--framework", "torch"]).stdout
    assert re.search(r"^cnn-train +torch.* Training step of a small CNN", text, re.MULTILINE)
    assert re.search(r"^amp +torch +fp32, bf16, fp16: ", text, re.MULTILINE)
    found = json.loads(CliRunner().invoke(main, ["list", "techniques", "--framework", "torch", "--json"]).stdout)
    assert set(found) == {"techniques"}
    assert {"name": "amp", "framework": "torch", "levels": ["fp32", "bf16", "fp16"]}.items() <= next(
        each for each in found["techniques"] if each["name"] == "amp"
    ).items()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["num_workers"], [("workers", "torch")]),
        (["techniques", "mixed", "precision"], [("amp", "torch"), ("mixed_precision", "tensorflow")]),
        (["XLA"], [("xla", "tensorflow"), ("loop", "tensorflow")]),
        (["set_num_threads"], [("threads", "torch"), ("threads", "numpy")]),
    ],
)
def test_list_finds_techniques_by_what_people_call_them(words, found):
    listed = json.loads(CliRunner().invoke(main, ["list", *words, "--json"]).stdout)
    assert {(each["name"], each["framework"]) for each in listed["techniques"]} >= set(found)
    assert len(listed["techniques"]) < 8


def test_list_says_what_else_a_technique_is_called():
    assert "Also called: num_workers, DataLoader." in CliRunner().invoke(main, ["list", "num_workers"]).stdout


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        (["num_wokers"], "did you mean 'num_workers'?"),
        (["workloads", "qqq"], "list everything with: accelbench list workloads"),
    ],
)
def test_words_that_find_nothing_are_one_line(words, way_out):
    result = CliRunner().invoke(main, ["list", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: nothing is called '{words[-1]}' here; {way_out}\n"


def test_a_framework_that_there_is_not_is_one_line():
    result = CliRunner().invoke(main, ["list", "--framework", "caffe"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: --framework: 'caffe' is no framework; expected one of: ")


def test_listing_loads_no_framework():
    script = (
        "import sys; from accelbench.cli import main; main(['list'], standalone_mode=False);"
        "print(sorted({'torch', 'tensorflow', 'cupy', 'transformers', 'pandas', 'pytest'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "accelbench", "--help"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("Usage: accelbench [OPTIONS] COMMAND")


@pytest.mark.slow
def test_reporting_loads_no_framework_and_no_pytest(tmp_path):
    path = save(SIMPLE, tmp_path / "0001_a.json")
    script = (
        "import sys; from accelbench.cli import main; assert 'pandas' not in sys.modules;"
        f"main(['report', {str(path)!r}, '--output', {str(tmp_path)!r}], standalone_mode=False);"
        "loaded = {'torch', 'tensorflow', 'cupy', 'transformers', 'pytest', 'accelbench.measuring'};"
        "loaded |= {'accelbench.pytest_plugin'};"
        "print(sorted(loaded & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("width", ["60", "80"])
def test_the_help_lists_every_command_with_its_whole_description(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    text = " ".join(CliRunner().invoke(main, ["--help"]).stdout.partition("Measure:")[2].split())
    for name, command in main.commands.items():
        assert f"{name} {command.get_short_help_str(200)}" in text
    assert "..." not in text


def test_the_catalogue_lies_in_no_folder():
    result = CliRunner().invoke(main, ["list", "techniques", "amp", "--storage", "my results"])
    assert result.stderr == (
        "Error: --storage: only runs and machines are listed from a folder; list them with: accelbench list runs "
        "--storage 'my results'\n"
    )
    assert result.exit_code == 2
