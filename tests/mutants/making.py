"""Make all one-line mutants of a source file: one operator, comparison, constant or word replaced by its neighbour."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("*",)),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
}
WORDS = {"min": "max", "max": "min", "larger": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}
SPEED = {"jobs", "compiled"}  # workers and compilation change only the running time
SKIPPED_CALLS = {"register", "InputError", "unknown_name", "TypeVar", "field", "mkdir", "dataclass"}


@dataclass(frozen=True)
class Mutant:
    """A line of a file, before and after."""

    path: str
    number: int
    before: str
    after: str

    @property
    def digest(self) -> str:
        """Return the sort key of a mutant, which does not depend on other lines of the file."""
        return hashlib.sha256(f"{self.path}\n{self.before.strip()}\n{self.after.strip()}".encode()).hexdigest()

    def of(self, text: str) -> str:
        """Return the file's text with this line changed."""
        lines = text.split("\n")
        assert lines[self.number - 1] == self.before
        return "\n".join([*lines[: self.number - 1], self.after, *lines[self.number :]])


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Yield the mutants of a file, each of them once, in the order of its lines."""
    lines = text.split("\n")
    seen = set()
    for number, start, end, new in changes(ast.parse(text), lines):
        line = lines[number - 1]
        mutant = Mutant(path, number, line, line[:start] + new + line[end:])
        if mutant not in seen:
            seen.add(mutant)
            yield mutant


def changes(tree: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield the line, the columns and the new text of every change; all code is ASCII."""
    for node in worth_changing(tree):
        match node:
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from between(left, right, op, lines)
            case ast.BoolOp(op=op, values=[left, right, *_]):
                yield from between(left, right, op, lines)
            case ast.AugAssign(target=target, op=op, value=value):
                yield from between(target, value, op, lines, suffix="=")
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand) if node.lineno == operand.lineno:
                yield node.lineno, node.col_offset, operand.col_offset, ""
            case ast.Constant(value=bool() as value):
                yield node.lineno, node.col_offset, node.end_col_offset or 0, str(not value)
            case ast.Constant(value=int() | float() as value):
                for new in other_numbers(value):
                    yield node.lineno, node.col_offset, node.end_col_offset or 0, new
            case ast.Call(func=ast.Name(id=name)) if name in WORDS:
                yield node.lineno, node.col_offset, node.col_offset + len(name), WORDS[name]


def other_numbers(value: float) -> tuple[str, ...]:
    """Return the replacements of a number."""
    if isinstance(value, int):
        return (str(value + 1), str(value - 1)) if value > 1 else (str(value + 1),) if value else ("1",)
    return (repr(value * (1.5 if abs(value) > 1e-6 else 1e6)),) if value else ("1.0",)


def between(
    left: ast.expr, right: ast.expr, op: ast.AST, lines: list[str], suffix: str = ""
) -> Iterator[tuple[int, int, int, str]]:
    """Yield the changes of an operator between two expressions on one line."""
    if type(op) not in OPERATORS or left.end_lineno != right.lineno:
        return
    old, news = OPERATORS[type(op)]
    at = lines[right.lineno - 1].index(old + suffix, left.end_col_offset)
    for new in news:
        yield right.lineno, at, at + len(old), new


def called(node: ast.Call) -> str:
    """Return the last name of the called function."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def worth_changing(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of the code without strings, annotations, decorators, rejections, and component declarations."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
            continue
        if isinstance(node, ast.Call) and called(node) in SKIPPED_CALLS:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            continue  # x.shape[1] of a vector is an error at once
        yield node
        if isinstance(node, ast.FunctionDef):
            named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            stack += [*node.args.defaults, *(d for arg, d in named if d and arg.arg not in SPEED), *node.body]
        elif isinstance(node, ast.ClassDef):
            stack += node.body
        elif isinstance(node, ast.AnnAssign):
            stack += [node.value] if node.value else []
        else:
            stack += ast.iter_child_nodes(node)
