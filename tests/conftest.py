"""What the tests share."""

import signal

import pytest
from project import Project

pytest_plugins = ["pytester", "apart"]

# Whoever starts the tests in the background may have had Ctrl-C ignored, which processes started from here inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A project whose benchmark compares a quick pace with a slow one."""
    project = Project(pytester)
    project.configure()
    project.benchmark("slow", "quick")
    return project
