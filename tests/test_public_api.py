"""The public interface: exports of packages, imports of clients, and documentation of each public name."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ltr_duel

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(ltr_duel.__file__).parent  # the installed package
EXPORTING = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
PACKAGES = [package for package in EXPORTING if package != "papers"]  # papers serves only the command line
MODULES = {path.stem for path in PACKAGE.rglob("_*.py")}  # private modules
IMPORT = re.compile(r"^\s*(?:>>> )?from (ltr_duel[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)


def public(package: str) -> list[str]:
    """Return the public names of a package."""
    return list(importlib.import_module(f"ltr_duel.{package}").__all__)


def exported(package: str) -> set[str]:
    """Return all names of a package's stub."""
    tree = ast.parse((PACKAGE / package / "__init__.pyi").read_text())
    return {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}


NAMES = [(package, name) for package in PACKAGES for name in public(package)]


def documented() -> list[tuple[str, str]]:
    """Return the public functions and classes; constants are explained where they are defined."""
    found = []
    for package, name in NAMES:
        value = getattr(importlib.import_module(f"ltr_duel.{package}"), name)
        if inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value)) or hasattr(value, "py_func"):
            found.append((package, name))
    return found


def value_of(package: str, name: str) -> Any:
    """Return a public object; for a kernel, its Python function."""
    value = getattr(importlib.import_module(f"ltr_duel.{package}"), name)
    return inspect.unwrap(getattr(value, "py_func", value))


def text_of(value: Any) -> str:
    """Return an object's docstring."""
    return inspect.getdoc(value) or ""


def test_the_public_names_stay_few():
    assert 60 <= len({name for _, name in NAMES}) <= 110


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_exported_once_and_there(package):
    names = public(package)
    assert len(set(names)) == len(names)
    assert set(names) <= exported(package)
    for name in sorted(exported(package)):
        assert hasattr(importlib.import_module(f"ltr_duel.{package}"), name)


@pytest.mark.parametrize(("package", "name"), documented())
def test_a_public_name_has_a_docstring_with_parameters_and_an_example(package, name):
    value = value_of(package, name)
    text = text_of(value)
    assert ">>> " in text, "no example"
    if inspect.isclass(value) and (issubclass(value, Exception) or hasattr(value, "_fields") or "Made by `" in text):
        return  # an error's parameter is its message; comments explain the fields of a NamedTuple or a result
    parameters = [
        one
        for one in inspect.signature(value).parameters
        if one not in {"self", "cls"} and not (inspect.isclass(value) and one in {"args", "kwargs"})
    ]
    if parameters:
        section = text.partition("Parameters\n----------")[2]
        assert section, "no section Parameters"
        missing = [one for one in parameters if not re.search(rf"\b{one}\b", section)]
        assert not missing, f"parameters that are not explained: {missing}"


@pytest.mark.parametrize("package", EXPORTING)
def test_no_exported_name_is_that_of_its_module(package):
    """Otherwise, an earlier import of the module would replace the public object."""
    tree = ast.parse((PACKAGE / package / "__init__.pyi").read_text())
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    assert not [node.module for node in imported if node.module in {alias.name for alias in node.names}]


def functions_in(value: Any) -> dict[str, ast.FunctionDef]:
    """Return the functions of the module that defines an object, by name."""
    tree = ast.parse(Path(inspect.getfile(value)).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def raised_by(node: ast.AST, functions: dict[str, ast.FunctionDef], seen: set[str]) -> Iterator[str]:
    """Yield the names of the exceptions that a function raises, itself or in private functions of its module."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise) and inner.exc is not None:
            made = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
            name = made.id if isinstance(made, ast.Name) else getattr(made, "attr", "")
            if name == "unknown_name":
                yield "InputError"
            elif name[:1].isupper():
                yield name
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            called = inner.func.id
            if called == "require_between":
                yield "InputError"
            if called in functions and called.startswith("_") and called not in seen:
                seen.add(called)
                yield from raised_by(functions[called], functions, seen)


@pytest.mark.parametrize(("package", "name"), documented())
def test_what_a_public_function_raises_is_listed(package, name):
    value = value_of(package, name)
    if inspect.isclass(value):
        return
    functions = functions_in(value)
    if value.__name__ not in functions:
        return
    raised = set(raised_by(functions[value.__name__], functions, {value.__name__}))
    section = text_of(value).partition("Raises\n------")[2]
    missing = {one for one in raised if one not in section} - {"AssertionError", "KeyboardInterrupt"}
    assert not missing, f"raised and not listed: {sorted(missing)}"


def clients() -> list[Path]:
    """Return the files outside the library."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("CONTRIBUTING.md")]
    return sorted([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "experiments").glob("*.py"), *pages])


@pytest.mark.parametrize("path", clients(), ids=lambda path: "/".join(path.parts[-2:]))
def test_a_client_imports_public_names_only(path):
    for module, listed in IMPORT.findall(path.read_text()):
        parts = module.split(".")
        if parts[1:2] in (["papers"], ["cli"]):
            continue
        names = set(re.findall(r"\w+", re.sub(r"#.*|\bas \w+", "", listed)))
        assert len(parts) <= 2, f"'{module}' is inside a package"
        listing = exported if path.is_relative_to(ROOT / "benchmarks") else public  # benchmarks measure inner parts
        legal = set(listing(parts[1])) if len(parts) == 2 else {*importlib.import_module("ltr_duel").__all__, *PACKAGES}
        assert names <= legal, f"not public: {sorted(names - legal)}"


@pytest.mark.parametrize("package", [*EXPORTING, "cli"])
def test_a_package_imports_from_another_only_what_that_exports(package):
    whole = EXPORTING if package == "cli" else []  # only commands import whole packages
    for path in sorted((PACKAGE / package).rglob("*.py")):
        for module, listed in IMPORT.findall(path.read_text()):
            parts = module.split(".")
            names = set(re.findall(r"\w+", re.sub(r"#.*|\bas \w+", "", listed)))
            if parts[1:2] == [package]:
                private = {name for name in names if name.startswith("_")} - MODULES
                assert not private, f"{path}: private in '{module}': {sorted(private)}"
                continue
            assert len(parts) <= 2, f"{path}: '{module}' is inside a package"
            of_the_top = {*importlib.import_module("ltr_duel").__all__, "__version__", *whole}
            legal = exported(parts[1]) if len(parts) == 2 else of_the_top
            assert names <= legal, f"{path}: not exported: {sorted(names - legal)}"
        used = names_of_packages(ast.parse(path.read_text()))
        assert all(name in exported(other) for other, name in used), f"{path}: not exported: {used}"


def names_of_packages(tree: ast.Module) -> set[tuple[str, str]]:
    """Return package and name of each attribute of a package that a module imports whole, as in ``logs.check_log``."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "ltr_duel"]
    whole = {one.asname or one.name: one.name for node in imports for one in node.names if one.name in EXPORTING}
    attributes = [
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    return {(whole[node.value.id], node.attr) for node in attributes if node.value.id in whole}
