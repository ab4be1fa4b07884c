"""No part of the Gateway knows who uses it: imports, also those for types alone, go one way."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGE = "hadash.gateway"


def test_there_is_no_circle_of_modules() -> None:
    graph = grimp.build_graph("hadash", cache_dir=None)
    modules = {module for module in graph.modules if module.startswith(PACKAGE)}
    assert len(modules) > 50
    imports = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
