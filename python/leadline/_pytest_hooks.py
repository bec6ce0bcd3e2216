"""Hooks that a conftest.py may implement, with pytest-benchmark's names and arguments."""

from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_benchmark_scale_unit(config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any) -> Any:
    """(prefix, factor) of a table: unit is "seconds" or "operations"; best and worst are of each column."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_machine_info(config: Any) -> Any:
    """What a kept result says of the machine, as a dictionary."""


def pytest_benchmark_update_machine_info(config: Any, machine_info: Any) -> None:
    """May change it in place."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_commit_info(config: Any) -> Any:
    """What a kept result says of the commit, as a dictionary."""


def pytest_benchmark_update_commit_info(config: Any, commit_info: Any) -> None:
    """May change it in place."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_group_stats(config: Any, benchmarks: Any, group_by: Any) -> Any:
    """Rows for tables: a list of (name of the group or None, list of rows)."""


@pytest.hookspec(firstresult=True)
def pytest_benchmark_generate_json(config: Any, benchmarks: Any, include_data: Any, machine_info: Any, commit_info: Any) -> Any:
    """The whole document that is kept."""


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> None:
    """May change it in place."""


def pytest_benchmark_compare_machine_info(config: Any, benchmarksession: Any, machine_info: Any, compared_benchmark: Any) -> None:
    """Looks at this machine and that of a kept result; benchmarksession.logger.warning(text) tells."""
