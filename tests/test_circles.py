"""No module needs itself to be imported: circles hide which of two modules is the lower one."""

from __future__ import annotations

import grimp

PACKAGES = ("hadash", "hadash_sandbox", "spark", "tasks")


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other, also through others (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        path.append(module)
        for other in sorted(imports[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            at = path.index(module)
            circle = path[at:]
            del path[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for module in sorted(imports):
        if module not in number:
            visit(module)
    return found


def test_circles_are_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}
    assert circles(imports) == [["a", "b", "c"]]


def test_no_module_imports_itself_through_others() -> None:
    """Neither within functions nor for types only."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 900
    assert circles(imports) == []
