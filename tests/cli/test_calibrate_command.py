"""`accelbench calibrate`, as a user types it; its measurements are replaced."""

import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner
from runs import arm, run, save, trial

from accelbench.cli import main
from accelbench.report.certificate import render_certificate
from accelbench.schema.certificate import from_bytes, read_certificate
from certificates import whole


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

    monkeypatch.setattr("accelbench.calibrate.calibrate", calibrate)
    return asked


def test_a_calibration_writes_a_certificate_and_prints_what_it_shows(accelbench, measured, tmp_path):
    result = accelbench("calibrate", "--quick", "--busy", "--framework", "torch")
    assert result.exit_code == 0, result.output
    assert measured == [{"quick": True, "busy": True, "frameworks": ("torch",)}]
    assert result.stdout.startswith("Of 403 comparisons of identical code, 1 called it different")
    assert result.stdout.endswith("0001.json, page certificates/example-2c-8g/0001.html\n")
    assert (tmp_path / "certificates" / "example-2c-8g" / "0001.html").is_file()


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("option", ["--format=json", "--json"])
def test_programs_read_the_certificate(accelbench, option):
    result = accelbench("calibrate", option, "--output", "elsewhere")
    assert from_bytes(result.stdout.encode(), source="stdout") == whole()


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
def test_a_certificate_without_a_page_gets_one_with_the_next_report(accelbench, tmp_path, monkeypatch):
    folder = tmp_path / "certificates" / "example-2c-8g"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "accelbench.report.certificate", None)
        output = accelbench("calibrate").stdout
    assert output.startswith(
        "certificate certificates/example-2c-8g/0001.json; accelbench report writes its page where "
    )
    assert [path.name for path in folder.iterdir()] == ["0001.json"]
    save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "results" / "0001_a.json")
    accelbench("report", "--format", "markdown")
    assert not (folder / "0001.html").exists()
    accelbench("report")
    assert (folder / "0001.html").read_text() == render_certificate(whole())


def test_an_interrupted_calibration_keeps_what_it_had_measured(accelbench, monkeypatch, tmp_path):
    interrupted = replace(whole(), interrupted=True)
    monkeypatch.setattr("accelbench.calibrate.calibrate", lambda *_, **__: interrupted)
    result = accelbench("calibrate")
    assert result.exit_code == 1
    assert "The calibration was interrupted; this is what it had measured until then." in result.stdout
    assert read_certificate(tmp_path / "certificates" / "example-2c-8g" / "0001.json") == interrupted


def test_a_calibration_interrupted_before_anything_was_compared_leaves_no_file(accelbench, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("accelbench.calibrate.calibrate", interrupted)
    assert accelbench("calibrate").exit_code == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_help_says_how_long_it_takes(accelbench):
    output = " ".join(accelbench("calibrate", "--help").stdout.split())
    assert "about ten minutes, twenty with --busy" in output
    assert "Example: accelbench calibrate --busy" in output


def test_a_folder_of_certificates_that_is_not_there_is_one_line(accelbench):
    result = accelbench("report", "--certificates", "nowhere")
    assert result.exit_code == 2
    assert "'nowhere' does not exist" in result.stderr
