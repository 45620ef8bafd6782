"""What the tests share."""

import pytest
from project import Project

pytest_plugins = ["pytester", "apart"]


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A project whose benchmark compares a quick pace with a slow one."""
    project = Project(pytester)
    project.configure()
    project.benchmark("slow", "quick")
    return project
