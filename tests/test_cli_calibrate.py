"""`accelbench calibrate`, as a user types it; what it measures is stood in for."""

import json
import sys
from dataclasses import replace

import pytest
from calibrated import whole
from click.testing import CliRunner
from runs import arm, run, save, trial

from harness.certificate import from_json, read_certificate
from harness.cli import main
from harness.report import certificate_page


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def measured(monkeypatch):
    asked = []

    def calibrate(_, **options):
        asked.append(options)
        return whole()

    monkeypatch.setattr("harness.calibration.calibrate", calibrate)
    return asked


def test_a_calibration_leaves_a_certificate_and_says_what_it_shows(accelbench, measured, tmp_path):
    result = accelbench("calibrate", "--quick", "--busy", "--framework", "torch")
    assert result.exit_code == 0, result.output
    assert measured == [{"quick": True, "busy": True, "frameworks": ("torch",)}]
    assert result.stdout.startswith("Of 403 comparisons of identical code, 1 called it different")
    assert result.stdout.endswith("0001.json, page certificates/example-2c-8g/0001.html\n")
    assert (tmp_path / "certificates" / "example-2c-8g" / "0001.html").is_file()


@pytest.mark.usefixtures("measured")
def test_programs_read_the_certificate(accelbench):
    result = accelbench("calibrate", "--json", "--output", "elsewhere")
    assert from_json(json.loads(result.stdout), source="stdout") == whole()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--framework", "jax"], "'jax' is no framework; expected one of: numpy, torch, tensorflow, cupy"),
        (["--output", "taken"], "taken: certificates cannot be written"),
        (["--busily"], "No such option '--busily'"),
    ],
)
def test_bad_input_is_one_line(accelbench, tmp_path, arguments, words):
    (tmp_path / "taken").write_text("")
    result = accelbench("calibrate", *arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.usefixtures("measured")
def test_a_certificate_made_where_nothing_draws_gets_its_page_with_the_next_report(accelbench, tmp_path, monkeypatch):
    folder = tmp_path / "certificates" / "example-2c-8g"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "harness.report.certificate", None)
        said = accelbench("calibrate").stdout
    assert said.startswith("certificate certificates/example-2c-8g/0001.json; accelbench report draws its page where ")
    assert [path.name for path in folder.iterdir()] == ["0001.json"]
    save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "results" / "0001_a.json")
    accelbench("report", "--format", "markdown")
    assert not (folder / "0001.html").exists()
    accelbench("report")
    assert (folder / "0001.html").read_text() == certificate_page(whole())


def test_an_interrupted_calibration_keeps_what_it_had_measured(accelbench, monkeypatch, tmp_path):
    found = replace(whole(), interrupted=True)
    monkeypatch.setattr("harness.calibration.calibrate", lambda *_, **__: found)
    result = accelbench("calibrate")
    assert result.exit_code == 1
    assert "The calibration was interrupted; this is what it had measured until then." in result.stdout
    assert read_certificate(tmp_path / "certificates" / "example-2c-8g" / "0001.json") == found


def test_a_calibration_interrupted_before_anything_was_compared_leaves_no_file(accelbench, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.calibration.calibrate", interrupted)
    assert accelbench("calibrate").exit_code == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_help_says_how_long_it_takes(accelbench):
    said = " ".join(accelbench("calibrate", "--help").stdout.split())
    assert "about ten minutes, twenty with --busy" in said
    assert "Example: accelbench calibrate --busy" in said


def test_a_folder_of_certificates_that_is_not_there_is_one_line(accelbench):
    result = accelbench("report", "--certificates", "nowhere")
    assert result.exit_code == 2
    assert "'nowhere' does not exist" in result.stderr
