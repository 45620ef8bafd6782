"""Result files are data: whatever somebody wrote costs one line, and reaches neither terminal, page nor path raw."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hostile import damaged, document, mutated
from hypothesis import HealthCheck, given, settings
from runs import STORED, arm, effect, run, save, trial

from accelbench.cli import main
from accelbench.errors import UnreadableResult
from accelbench.report.page import publish_report
from accelbench.results import Findings, find_results

FUZZED = settings(max_examples=40, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
VALID = STORED.with_name("run_every_field.json").read_text()


def with_ours(text):
    """Return a result file whose part of ours begins with this."""
    return VALID.replace('"accelbench": {', f'"accelbench": {{{text},', 1)


def page_of(path, folder):
    """Return the page of a result file, written into a folder."""
    return Path(publish_report([Findings(find_results(path).results[0])], folder, {}, "", None)[0])


def read_or_refused(path):
    """Read a file, or have it refused in one line that a terminal can take."""
    try:
        (result,) = find_results(path).results
    except UnreadableResult as refused:
        said = str(refused)
    else:
        said = json.dumps(Findings(result).as_json(), allow_nan=False)
    assert said.isprintable()


@pytest.mark.slow
@FUZZED
@given(mutated())
def test_a_run_with_strange_values_is_read_or_refused(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("strange") / "0001_a.json"
    path.write_text(json.dumps(document))
    read_or_refused(path)


@FUZZED
@given(damaged())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "0001_a.json"
    path.write_bytes(data)
    read_or_refused(path)


@settings(FUZZED, max_examples=4)
@given(mutated(valid=True))
def test_strange_values_that_the_schema_allows_make_a_page(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("allowed") / "0001_a.json"
    path.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("accelbench.report.page.render", lambda *_: [])  # figures take a second each
        assert page_of(path, path.parent).is_file()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (with_ours('"x": NaN'), "not complete JSON"),
        (with_ours('"x": 1e999'), "does not follow schema version 1: Number out of range"),
        (with_ours('"x": ' + "9" * 30), "integer of more than 64 bits"),
        (with_ours('"x": "' + "y" * 5000 + '"'), "a text of 5,000 characters"),
        (with_ours('"x": ' + "[" * 10**6), "nested too deeply"),
        (VALID.replace('"benchmarks": [', '"benchmarks": [' + '{"a":' * 10**6, 1), "nested too deeply"),
        (VALID.replace('"measured"', '"\\u001b[31mred"', 1), "x1b[31mred' - at `$.trials[0].arms[0].outcome`"),
    ],
)
def test_a_hostile_file_costs_one_line_and_the_others_are_read(tmp_path, text, words):
    (tmp_path / "0001_hostile.json").write_text(text)
    assert words in refused_beside_a_good_one(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_another_encoding_costs_one_line(tmp_path, encoding):
    (tmp_path / "0001_hostile.json").write_text(VALID, encoding=encoding)
    assert "not complete JSON" in refused_beside_a_good_one(tmp_path)


def test_a_file_of_a_gigabyte_is_not_read(tmp_path):
    with (tmp_path / "0001_hostile.json").open("wb") as file:
        file.truncate(2**30)
    assert "it takes 1.00 GiB, at most 256 MiB are read" in refused_beside_a_good_one(tmp_path)


def test_a_run_of_many_mebibytes_is_not_parsed(tmp_path):
    (tmp_path / "0001_hostile.json").write_text('{"accelbench": {"x": [' + "0," * 2**23 + "0]}}")
    assert "at most 16.0 MiB are parsed" in refused_beside_a_good_one(tmp_path)


def test_a_pipe_among_the_results_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "0001_hostile.json")
    assert "it is not a regular file" in refused_beside_a_good_one(tmp_path)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("/dev/zero", "it is not a regular file"),
        ("/proc/self/status", "not complete JSON"),
        ("nowhere", "No such file or directory"),
        ("0001_hostile.json", "symbolic links"),
    ],
)
def test_a_link_to_what_is_no_file_costs_one_line(tmp_path, target, words):
    (tmp_path / "0001_hostile.json").symlink_to(target)
    assert words in refused_beside_a_good_one(tmp_path)


def test_folders_are_not_followed_without_end(tmp_path):
    for name, depth in (("near", 3), ("far", 40)):
        save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path.joinpath(*["d"] * depth, f"0001_{name}.json"))
    assert [result.name for result in find_results(tmp_path).results] == ["near"]


def test_a_path_that_no_file_can_have_is_one_line(tmp_path):
    result = CliRunner().invoke(main, ["report", str(tmp_path / ("x" * 300))])
    assert result.exit_code == 2
    assert result.stderr.endswith("cannot be read (File name too long); give a result file or a folder of them\n")


def test_a_file_name_reaches_the_terminal_as_text(tmp_path):
    name = "0001_\x1b[31mred\u202e.json"
    save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "good" / name)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / name).write_text("{")
    told = [
        CliRunner().invoke(main, ["report", str(tmp_path / kind), "--output", str(tmp_path)])
        for kind in ("good", "bad")
    ]
    assert [result.exit_code for result in told] == [0, 2]
    assert all("0001_\\x1b[31mred\\u202e.json" in result.output for result in told)
    assert all(line.isprintable() for result in told for line in result.output.splitlines())


def test_names_from_a_file_are_never_paths(tmp_path):
    outside = "../../../outside"
    measured = [arm({"batch_size": size}, 1.0, effect=effect(2.0, 1.9, 2.1, "faster")) for size in ("1", "2")]
    hostile = trial(
        *measured, id=outside, module=outside, workload=outside, framework=outside, fixed={outside: outside}
    )
    path = save(run(hostile, machine=outside), tmp_path / "0001_a.json")
    page = page_of(path, tmp_path / "in" / "reports")
    written = {file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*") if file.is_file()}
    assert written == {"in", "0001_a.json"}
    pictures = {"card.svg", "badge.svg"}
    drawn = {found.parent for found in page.parent.rglob("*.svg") if found.name not in pictures}
    assert drawn == {page.parent / "figures"}


MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[a](javascript:alert(1))",
    "http://evil.example",
]


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory) -> Path:
    """The page of a run in which every text that the schema leaves open is hostile."""
    text = " ".join([*MARKUP, "\u202egpj", "| a |", "$\\frac{$", "{{ 7 * 7 }}", "`code`", "# big"])
    why = {"code": "message", "values": {"message": text}}
    unknown = {"code": text, "values": {text: {"code": "host-bound", "values": {"device_busy": text}}}}
    made = document()
    for number, each in enumerate(made["accelbench"]["trials"]):
        each |= dict.fromkeys(("module", "framework", "workload", "summary", "unit"), text) | {
            "id": f"{text} {number}",
            "problem": {text: text}, "fixed": {text: text}, "remarks": [why], "disturbance": {text: 1.0},
        }  # fmt: skip
        for one in each["arms"]:
            one |= {"reason": why, "flags": [why, unknown], "observed": {text: 1.0}}
    made["accelbench"]["environment"] |= {"configuration": {text: text}, "readings": {text: text}}
    made["accelbench"]["environment"]["identity"]["cpu_model"] = text
    path = tmp_path_factory.mktemp("spoiled") / "0001_a.json"
    path.write_text(json.dumps(made))
    return page_of(path, path.parent)


def test_markup_in_a_file_is_text_on_the_page(spoiled):
    html = spoiled.read_text()
    html = html.replace("<script>", "", 1)  # the page's own
    assert re.findall(r"<script|<img|onerror=alert\(1\)>|href=.javascript|href=.http", html) == []
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html


def test_markup_in_a_file_is_text_in_the_summary(spoiled):
    summary = (spoiled.parent / "summary.md").read_text()
    assert re.findall(r"(?<!\\)(?:<|\]\(|`|\$)|https?://|^# big|\u202e", summary, flags=re.MULTILINE) == []
    tables = re.findall(r"(?:^\|.*\n)+", summary, flags=re.MULTILINE)
    bars = [{len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()} for table in tables]
    assert [len(each) for each in bars] == [1] * len(tables) != []


def refused_beside_a_good_one(folder):
    """Return the one line that the hostile file cost."""
    save(run(trial(arm({"amp": "fp32"}, 1.0))), folder / "0002_good.json")
    found = find_results(folder)
    assert [result.name for result in found.results] == ["good"]
    (error,) = found.unreadable
    assert str(error).startswith(str(folder / "0001_hostile.json"))
    assert str(error).isprintable()
    assert len(str(error)) < 600
    return str(error)
