"""The mutants of the kernel: which small changes of its code are made, and which are left out by rule.

Operators are those of cosmic-ray, and five for what is wrong most dangerously in a checker: an end of an enclosure
taken for the other one, a refusal that is left out, a call for its effect (mostly a check) that is left out, a
membership turned around, a running sum with the other sign. Of operators with many replacements only the near ones
are taken (`<` becomes `<=` or `>=`, `+` becomes `-`): far ones are noticed by every test and would only flatter the
count. A *site* is a place of the code with a kind of change; it may have several mutants.

Left out by rule, since no test could or should tell them apart from the kernel:

- words: comments and docstrings, to which no operator applies, and what is computed inside `raise ...(...)` for a
  message; that something is raised is mutated;
- types: annotations, aliases of types such as `A | B`, blocks under `if TYPE_CHECKING`, and what `isinstance` is
  asked about;
- memory and speed: arguments of decorators (`frozen`, `slots`, the size of a cache), and the decorators that keep
  results, mark what is abstract, overloaded or overriding;
- the signs `*` and `/` among parameters and arguments, which are no arithmetic.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators import (
    binary_operator_replacement,
    boolean_replacer,
    break_continue,
    comparison_operator_replacement,
    exception_replacer,
    number_replacer,
    remove_decorator,
    unary_operator_replacement,
    zero_iteration_for_loop,
)
from cosmic_ray.operators.operator import Operator
from parso.python.tree import Keyword, Name

# The kernel, and what lies apart from it and is changed with it.
TRUSTED = ("certattn/kernel", "certattn/fast", "certattn/isolation")

_NEAR = {
    "ReplaceBinaryOperator": (
        "Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul", "RShift_LShift",
        "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitAnd",
    ),
    "ReplaceComparisonOperator": (
        "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt", "Eq_NotEq", "NotEq_Eq",
        "Is_IsNot", "IsNot_Is",
    ),
    "ReplaceUnaryOperator": ("Delete_USub", "Delete_Not", "Delete_Invert"),
}  # fmt: skip
_OPPOSITES = (
    ("upper", "lower"), ("abs_upper", "abs_lower"), ("max", "min"), ("maximum", "minimum"), ("floor", "ceil"),
    ("all", "any"), ("at_most", "at_least"), ("above", "below"), ("union", "intersection"), ("up", "down"),
)  # fmt: skip
_UNTESTED_DECORATORS = ("cache", "lru_cache", "cached_property", "abstractmethod", "overload", "override", "final")
_ARITHMETIC = ("arith_expr", "term", "power", "shift_expr", "expr", "and_expr", "xor_expr")
_REST_OF_THE_FILE = 10**9


class _Own(Operator):  # type: ignore[misc]
    """An operator with one change of a node, at most."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if self.fits(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return self.changed(node)

    def fits(self, node: Any) -> bool:
        raise NotImplementedError

    def changed(self, node: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def examples(cls) -> Iterable[Any]:
        return ()


class OppositeName(_Own):
    """A call of what has an opposite: `.upper()` becomes `.lower()`, `max(` becomes `min(`."""

    names = {**dict(_OPPOSITES), **{second: first for first, second in _OPPOSITES}}  # noqa: RUF012

    def fits(self, node: Any) -> bool:
        if not isinstance(node, Name) or node.value not in self.names:
            return False
        holder = node.parent if node.parent.type == "trailer" else node
        return _is_call(holder.get_next_sibling())

    def changed(self, node: Any) -> Any:
        return Name(self.names[node.value], node.start_pos, prefix=node.prefix)


class LeaveOutRaise(_Own):
    """`raise SomethingError(...)` becomes `pass`."""

    def fits(self, node: Any) -> bool:
        return bool(node.type == "raise_stmt")

    def changed(self, node: Any) -> Any:
        return _pass(node)


class LeaveOutCall(_Own):
    """A statement that is only a call becomes `pass`."""

    def fits(self, node: Any) -> bool:
        return node.type in ("atom_expr", "power") and node.parent.type == "simple_stmt" and _is_call(node.children[-1])

    def changed(self, node: Any) -> Any:
        return _pass(node)


class TurnMembership(_Own):
    """`in` becomes `not in`, and the other way round."""

    def fits(self, node: Any) -> bool:
        if node.parent is None or node.parent.type != "comparison":
            return False
        return node.get_code().split() in (["in"], ["not", "in"])

    def changed(self, node: Any) -> Any:
        return Keyword("in" if "not" in node.get_code() else "not in", node.start_pos, prefix=" ")


class TurnRunningSum(_Own):
    """`+=` becomes `-=`, `*=` becomes `+=`, and so on."""

    signs = {"+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "//=": "*=", "|=": "&=", "&=": "|=", ">>=": "<<="}  # noqa: RUF012

    def fits(self, node: Any) -> bool:
        return node.type == "operator" and node.value in self.signs

    def changed(self, node: Any) -> Any:
        node.value = self.signs[node.value]
        return node


def _is_call(node: Any) -> bool:
    return node is not None and node.type == "trailer" and node.children[0].value == "("


def _pass(node: Any) -> Any:
    return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)


def _operators() -> dict[str, Operator]:
    single = (
        boolean_replacer.AddNot,
        boolean_replacer.ReplaceTrueWithFalse,
        boolean_replacer.ReplaceFalseWithTrue,
        boolean_replacer.ReplaceAndWithOr,
        boolean_replacer.ReplaceOrWithAnd,
        break_continue.ReplaceBreakWithContinue,
        break_continue.ReplaceContinueWithBreak,
        exception_replacer.ExceptionReplacer,
        number_replacer.NumberReplacer,
        remove_decorator.RemoveDecorator,
        zero_iteration_for_loop.ZeroIterationForLoop,
        *_Own.__subclasses__(),
    )
    families = (binary_operator_replacement, comparison_operator_replacement, unary_operator_replacement)
    near = {f"{family}_{change}" for family, changes in _NEAR.items() for change in changes}
    many = [operator for family in families for operator in family.operators() if operator.__name__ in near]
    assert len(many) == len(near)
    return {operator.__name__: operator() for operator in (*single, *many)}


OPERATORS = _operators()


@dataclass(frozen=True)
class Mutant:
    """One change: the `occurrence`-th of an operator in a module, which stands at a line (from 1) and column.

    `lines` are those of which a test runs at least one if it can notice the change.
    """

    module: str
    source: str
    operator: str
    occurrence: int
    line: int
    column: int
    lines: tuple[int, ...]

    @property
    def key(self) -> str:
        """The same for the same change of the same module, whenever it is made."""
        return f"{self.module}:{self.source}:{self.operator}:{self.occurrence}"


@dataclass(frozen=True)
class Change:
    """The text of the module with a mutant's change, and the lines without and with it."""

    code: str
    before: str
    after: str


@dataclass(frozen=True)
class Site:
    """A place with a kind of change, and its mutants."""

    module: str
    line: int
    column: int
    mutants: tuple[Mutant, ...]


def digest(source: str) -> str:
    """What a module's text is known by in results."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def change(mutant: Mutant, source: str) -> Change | None:
    """What a mutant makes of its module; None where that is nothing new, or no Python."""
    code = MutationVisitor.mutate_code(source, OPERATORS[mutant.operator], mutant.occurrence)
    assert code is not None
    try:
        compile(code, mutant.module, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    before, after = _difference(source.splitlines(), code.splitlines())
    return Change(code, before, after) if before != after else None


def sites(module: str, source: str) -> tuple[list[Site], int]:
    """The sites of a module in the order of its lines, and how many mutants were left out by rule."""
    tree, known = get_ast(source), digest(source)
    excluded = _Excluded(tree)
    found: dict[tuple[int, int, str], list[Mutant]] = {}
    left_out = 0
    counts = dict.fromkeys(OPERATORS, 0)
    for node in ast_nodes(tree):
        for name, operator in OPERATORS.items():
            for (line, column), _ in operator.mutation_positions(node):
                occurrence = counts[name]
                counts[name] += 1
                if excluded(node, name, (line, column)):
                    left_out += 1
                    continue
                mutant = Mutant(module, known, name, occurrence, line, column, _lines(node, tree))
                found.setdefault((line, column, name.split("_")[0]), []).append(mutant)
    return [
        Site(module, line, column, tuple(found[line, column, kind])) for line, column, kind in sorted(found)
    ], left_out


def _difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    """The lines in which two texts differ."""
    start = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    same = 0
    while same < min(len(old), len(new)) - start and old[-1 - same] == new[-1 - same]:
        same += 1
    return _joined(old[start : len(old) - same]), _joined(new[start : len(new) - same])


def _joined(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines)


def _lines(node: Any, tree: Any) -> tuple[int, ...]:
    """The lines that a test runs if it can notice a change of a node.

    In a function, those of the simple statement around the node, or of the head of a compound one. What is run while
    the module is imported is run by no test: instead of a head of a function its body, instead of what a class says
    its methods and what names it, instead of a constant the statements that name it, or a constant that is made of it.
    """
    statement = _statement(node)
    above = statement.parent.parent if statement.parent.type == "suite" else None
    while above is not None and above.type not in ("funcdef", "classdef"):
        above = above.parent
    if above is not None and above.type == "funcdef":
        return _head(statement)
    inner = statement.children[-1] if statement.type == "decorated" else statement
    if inner.type == "funcdef":
        return _body(inner)
    if above is not None or inner.type == "classdef":
        whole = above or inner
        methods = [line for node in ast_nodes(whole) if node.type == "funcdef" for line in _body(node)]
        return tuple(sorted({*methods, *_uses({whole.name.value}, tree)}))
    names = {leaf.value for leaf in ast_nodes(statement) if isinstance(leaf, Name) and leaf.is_definition()}
    return tuple(sorted(_uses(names, tree) - set(_head(statement))))


def _body(function: Any) -> tuple[int, ...]:
    body = function.children[-1]
    return tuple(range(body.start_pos[0] + 1, body.end_pos[0]))


def _statement(node: Any) -> Any:
    while node.parent is not None and node.parent.type not in ("file_input", "suite"):
        node = node.parent
    return node


def _head(statement: Any) -> tuple[int, ...]:
    body = next((child for child in getattr(statement, "children", ()) if child.type == "suite"), None)
    # A suite starts with the end of the line before it, a simple statement ends at the start of the next line.
    last = body.start_pos[0] if body is not None else statement.end_pos[0] - (statement.end_pos[1] == 0)
    return tuple(range(statement.start_pos[0], last + 1))


def _uses(names: set[str], tree: Any) -> set[int]:
    """The lines of statements that name something of a module, or something that is made of it at the same level."""
    lines: set[int] = set()
    names, todo = set(names), set(names)
    while todo:
        wanted, todo = todo, set()
        for leaf in ast_nodes(tree):
            if isinstance(leaf, Name) and leaf.value in wanted and not leaf.is_definition():
                user = _statement(leaf)
                if user.parent.type == "file_input":
                    made = {n.value for n in ast_nodes(user) if isinstance(n, Name) and n.is_definition()}
                    todo |= made - names
                    names |= made
                if user.type not in ("classdef", "funcdef", "decorated"):
                    lines.update(_head(user))
    return lines


class _Excluded:
    """Which changes are left out by the rules at the top."""

    def __init__(self, tree: Any) -> None:
        self.ranges = [(node.start_pos, node.end_pos) for node in ast_nodes(tree) if _is_wordy(node)]

    def __call__(self, node: Any, operator: str, at: tuple[int, int]) -> bool:
        if any(start <= at < end for start, end in self.ranges):
            return True
        if operator.startswith("ReplaceBinaryOperator"):
            return node.parent.type not in _ARITHMETIC or _is_union(node)
        if operator == "RemoveDecorator":
            names = {leaf.value for leaf in ast_nodes(node) if isinstance(leaf, Name)}
            return not names.isdisjoint(_UNTESTED_DECORATORS)
        return False


def _is_wordy(node: Any) -> bool:
    """Whether nothing inside a node is mutated: annotations, messages, arguments of decorators, types."""
    parent = node.parent
    if parent is None:
        return False
    if node.type == "annassign":
        # The value, after the sign =, is code.
        return False
    if parent.type == "annassign":
        return bool(parent.children[1] is node)
    if parent.type == "tfpdef" or (parent.type == "param" and node.type not in ("operator", "name")):
        return parent.type == "tfpdef" and bool(parent.children[-1] is node)
    if parent.type == "funcdef":
        return parent.annotation is node
    if parent.type == "decorator":
        return node.type == "trailer" or parent.children[-2] is node
    if parent.type == "if_stmt" and node.type == "suite":
        return bool(parent.children[1].get_code().strip() == "TYPE_CHECKING")
    if _is_call(node):
        caller = node.get_previous_sibling()
        if caller is not None and caller.get_code().strip() in ("isinstance", "issubclass"):
            return True
        raising = parent.parent
        return raising is not None and raising.type == "raise_stmt" and parent is raising.children[1]
    return False


def _is_union(node: Any) -> bool:
    """Whether `|` joins types: each part begins with a capital letter, or is None or a type of numbers."""
    if node.value != "|" or node.parent.type != "expr":
        return False
    parts = [child.get_code().strip() for child in node.parent.children[::2]]
    return all(part[:1].isupper() or part in ("arb", "fmpq", "fmpz", "int", "str", "float") for part in parts)


def modules(root: Path) -> list[str]:
    """The modules that have code of what is trusted, as paths below the root."""
    paths = [path for room in TRUSTED for path in sorted((root / room).rglob("*.py"))]
    return [str(path.relative_to(root)) for path in paths if path.name != "__init__.py"]


def in_full(found: Iterable[Site]) -> list[Mutant]:
    """Every mutant of every site."""
    return [mutant for site in found for mutant in site.mutants]


def drawn(found: Iterable[Sequence[Site]], seed: int) -> Iterator[Mutant]:
    """One mutant of each site, in a drawn order every beginning of which is a stratified sample.

    `found` has the sites module by module. The i-th drawn of n sites of a module comes at the moment (i + u)/n, u
    drawn between 0 and 1 for the module, and at most one mutant of a site is drawn: so of every module, however small,
    a beginning has as many as its share of all sites, within one.
    """
    schedule = []
    for of_module in found:
        if of_module:
            # A generator per module: what is drawn of one does not depend on the others.
            generator = random.Random(f"{seed} {of_module[0].module}")
            order = list(of_module)
            generator.shuffle(order)
            chosen = [generator.choice(site.mutants) for site in order]
            first = generator.random()
            schedule += [((i + first) / len(order), mutant.module, i, mutant) for i, mutant in enumerate(chosen)]
    for _, _, _, mutant in sorted(schedule, key=lambda entry: entry[:3]):
        yield mutant
