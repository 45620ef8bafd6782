"""What the tests of the report share."""

import pytest
from pages import text, write_report
from runs import STORED, run, save

from accelbench.results import find_results


@pytest.fixture(scope="package")
def stored_report(tmp_path_factory):
    """The page of the stored run."""
    return write_report(find_results(STORED).results[0], tmp_path_factory.mktemp("reports"))


@pytest.fixture
def text_of(tmp_path):
    """The text of the page of a run that consists of these trials."""

    def of(*trials, **fields):
        path = save(run(*trials, **fields), tmp_path / "0001_a.json")
        return text(write_report(find_results(path).results[0], tmp_path / "reports").read_text())

    return of
