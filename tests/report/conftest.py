"""What the tests of the report share."""

import pytest
from runs import STORED

from harness.reading import find_results
from harness.report import write_report


@pytest.fixture(scope="package")
def stored_report(tmp_path_factory):
    """The page of the stored run."""
    return write_report(find_results(STORED).results[0], tmp_path_factory.mktemp("reports"))
