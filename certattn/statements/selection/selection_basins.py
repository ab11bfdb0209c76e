"""`selection-basins` in words."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.selection_basins import (
    CELLS,
    DECIDED,
    SELECTIONS,
    SHARE,
    Basins,
    obligations,
)
from certattn.kernel.theorems.selection.stated_tokens import INDICES
from certattn.statements.selection.selection_direction import CONDITIONS, descent_words
from certattn.statements.selection.stated_tokens import Trained, point_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording

_SHARES = {"share": "the share of the area that its cells have", "decided": "the share of the area that is decided"}


def statement(basins: Basins) -> Statement:
    _, problem = basins.cells[0]
    trained, shape, region = Trained(problem.stated.variable), problem.stated.shape, basins.region
    x, norm, solution = trained.variable, trained.norm, trained.solution
    o, s, t = (point_words(each, shape) for each in (region.corner, *region.sides))
    now = f"{x}({'k' if problem.rule.discrete else 't'})"
    words = [
        f"{descent_words(problem)}, from the starts {x}(0) = o + a s + b t, 0 <= a, b <= 1, o = {o}, s = {s}, t = {t}: "
        f"of the area of this region, {describe(basins.asserts[DECIDED])} is decided, in "
        f"{counted(len(basins.cells), 'cell')} of a tree of quarters; from every start of a cell with a letter "
        f"{norm(now)} -> infinity and {now}/{norm(now)} -> {solution}/{norm(solution)}, where {solution} is the "
        f"{'matrix' if trained.is_matrix else 'point'} of least norm with {trained.product('k_ia - k_it')} >= 1 for "
        "the tokens a that stand at its letter and all other t of input i"
    ]
    listed: list[Values] = basins.asserts[SELECTIONS]
    for letter, each in zip(ascii_lowercase, listed, strict=False):
        indices: list[int] = each[INDICES]
        words.append(f"{letter}: tokens ({', '.join(map(str, indices))}), {describe(each[SHARE])} of the area")
    words.append(f"the tree, + before four quarters (low a and b, high a, high b, high both) is {_code(basins)}")
    latex = rf"\|{x}_k\| \to \infty,\quad {x}_k / \|{x}_k\| \to {x}_{{mm}}(\alpha) / \|{x}_{{mm}}(\alpha)\|"
    return Statement("; ".join(words) + trained.angles + ".", latex)


def _code(basins: Basins) -> str:
    return str(basins.asserts.node(CELLS).value)


def sentence(basins: Basins, name: str) -> str:
    plain, _, place = name.partition("[")
    if plain in _SHARES:
        return _SHARES[plain]
    trained = Trained(basins.cells[0][1].stated.variable)
    said = trained.said(CONDITIONS[plain]) if plain in CONDITIONS else f"the theorem {plain!r}"
    number = place.removesuffix("]")
    return (
        f"{said}, of the selection {ascii_lowercase[int(number)]}" if "p_mm" in plain else f"{said}, in cell {number}"
    )


def findings(basins: Basins, answers: Sequence[Answer]) -> list[str]:
    undecided = [o.name.partition("[")[2].removesuffix("]") for o in answers if o.outcome is Outcome.UNDECIDED]
    if wide := {int(number) for number in undecided if number}:
        cells = ", ".join(map(str, sorted(wide)))
        return [f"cells {cells} leave enclosures so wide, whatever the precision: state fewer steps, or divide them"]
    proved = {o.name for o in answers if o.outcome is Outcome.PROVED}
    if not proved.issuperset(o.name for o in obligations(basins)):
        return []
    found = []
    for letter, problem in zip(ascii_lowercase, basins.selections, strict=False):
        point = point_words(problem.solution.solution, problem.stated.shape)
        found.append(f"{letter}: {Trained(problem.stated.variable).solution} = {point}")
    return found


WORDING = Wording[Basins](statement, sentence, findings)
