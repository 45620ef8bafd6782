"""What the tests of single figures share."""

import pytest
from runs import run, save

from harness.reading import find_results, load


@pytest.fixture
def arms_of(tmp_path):
    """Return a function that gives the arms of a run of these trials."""

    def of(*trials):
        return load(find_results(save(run(*trials), tmp_path / "0001_a.json")).results)

    return of
