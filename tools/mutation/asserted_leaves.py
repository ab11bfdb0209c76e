"""Change every leaf under `asserts` a little, and see which obligations change with it.

    python tools/mutation/asserted_leaves.py                            the gallery and the accept cases of the arena
    python tools/mutation/asserted_leaves.py --most 4 --jobs 2          at most so many leaves of a pattern in each file
    python tools/mutation/asserted_leaves.py --claim max-margin         of one claim
    python tools/mutation/asserted_leaves.py --sample                   only until every path has shown an effect

A number that a certificate asserts, and that no obligation looks at, would be verified whatever it is. So every
number under `asserts`, written out or in an array file, is moved up and moved down; a word becomes every other
word that may stand there; an optional key is left out; an item of a list is left out, or stands twice. The
obligations of the changed certificate are compared with those before, in the same arithmetic and precision:
their names, relations, outcomes and parts, and both sides as exact numbers or balls, not as they are printed.
A leaf is *used* if they change, on each side to which it can be moved. A change that is malformed shows nothing
and is counted apart, the next larger one is tried.

The table has a line for each claim and path: `*` stands for any index, `[]` for an item of a list, `?` for a key. It
counts leaves and what became of their changes, and names the obligations that changed.

Exit status 1 if a change has no effect, or a path of the format is used in no certificate, and it is not one of the
exceptions; or if an exception is not needed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.decide.checker import CLAIMS, CheckOptions, theorem_of
from certattn.kernel.decide.proof import Proof, Verdict
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.errors import Binary64Error, MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import format_rational
from certattn.report.json_schema import Schema, schema_of
from certattn.statements.checking import check_certificate
from certattn.writing import to_text
from tools.arena import files

# How many leaves that are no obligation's are changed in the sample.
FEW = 3
GALLERY = Path(__file__).resolve().parents[2] / "certificates"
UP, DOWN, OTHER, LEFT_OUT, DOUBLED = "up", "down", "another word", "left out", "twice"

# Claim, path, and why in some certificates a change has no effect. In another one it has.
_RESTS = "a descent or flow that rests is at the same point at any time"
_ONE_POINT = "nothing varies there, and every query and direction gives the same"
SOMETIMES: dict[tuple[str, str], str] = {
    ("descent-trajectory", "risk_gap.at_most[]"): "one bound for every step, or the same bound twice for two steps",
    ("equivalent-law", "cdf.*.at"): "beyond the right edge the distribution function is 1",
    ("equivalent-law", "density.*.at"): "outside of the support the density is 0",
    ("finite-moments", "smallest.*.from"): "the side is the least of all sizes from there on, and one size decides",
    ("flow-trajectory", "points.*.time"): _RESTS,
    ("infinite-prompt-operator", "values.*.query.*"): _ONE_POINT,
    ("max-margin", "neighbours_among?"): "all constraints are meant where none are named",
    ("observed-prompt", "another.at_least.*.*"): "below all outputs, which nothing has to exclude",
    ("observed-prompt", "another.at_most.*.*"): "above all outputs, which nothing has to exclude",
    ("observed-prompt", "another.length"): "ends beyond all outputs hold for any length",
    ("observed-prompt", "at_least.*.*"): "below all outputs, which nothing has to exclude",
    ("observed-prompt", "at_most.*.*"): "above all outputs, which nothing has to exclude",
    ("observed-prompt", "distance.norm"): "vectors of one coordinate have one length in both norms",
    ("output-deviation", "deviation.norm"): "vectors of one coordinate, or 0, have one length in both norms",
    ("output-deviation", "deviation.relative_at_most"): "any multiple of an output that is 0",
    ("output-tail", "directions.*.direction.*"): _ONE_POINT,
    ("output-tail", "directions.*.exceeds"): _ONE_POINT,
    ("output-tail", "norm.exceeds"): "for the l2 norm, the reader compares it with the levels of the witness",
    ("proposition-3-4", "gradient"): "at one token both gradients vanish",
    ("regression-risk", "predictions.*.w.*"): "a coordinate that the prediction has nothing of",
    ("regression-risk", "second_derivative.along.A.*.*"): "a saddle is level in these directions",
    ("risk-transfer", "time"): _RESTS,
    ("selection-direction", "angles.*.step"): "a bound of 2 holds for any angle",
    ("softmax-mean", "covariance.of"): _ONE_POINT,
    ("softmax-mean", "covariance.of?"): "values are meant where nothing is said",
    ("softmax-mean", "eigenvalues.of"): _ONE_POINT,
    ("softmax-mean", "eigenvalues.of?"): "values are meant where nothing is said",
    ("token-optimality", "not_locally_optimal.*.because.input"): "two neighbours with the same scores and slacks",
    ("token-optimality", "not_locally_optimal.*.indices.*"): "the other token cannot be separated either",
    ("training-convergence", "limit.shift.query.*.*"): "the limit is right at every query of the tokens of training",
    ("training-convergence", "from?"): "0 is meant where nothing is said",
}
# Leaves that no obligation shows: the reader holds them against the rest of the file, and refuses what does not fit.
_FRAME = "the l2 norm has a frame, and the linf norm none; a mean square bounds both"
_ALONE = "the one word that may stand there, beside which other things are stated"
_OTHER_PROOF = "it is what the witness is about, and another one needs another witness"
BY_THE_READER: dict[tuple[str, str], str] = {
    ("gradient-tail", "exceeds"): "it is compared with the levels of the witness, which the obligation is about",
    ("gradient-tail", "gradient"): _OTHER_PROOF,
    ("max-margin", "constraints"): _ALONE,
    ("output-tail", "norm.norm"): _FRAME,
    ("selection-basins", "selections.*.indices.*"): _OTHER_PROOF,
    ("selection-counterexample", "indices.*"): _OTHER_PROOF,
    ("selection-direction", "rate.form"): "the forms have other keys, and obligations of their own",
    ("selection-on-a-head", "exposure.*.token"): _OTHER_PROOF,
    ("token-optimality", "not_locally_optimal.*.because"): _ALONE,
    ("typical-prompt", "norm.norm"): _FRAME,
}

# The signs of a tree of cells.
_TREE = {"+", ".", *ascii_lowercase}

Place = tuple[str | int, ...]


# -- leaves and changes


@dataclass(frozen=True)
class Change:
    """A small change of a certificate's tree: at `path`, in which `way`, what stands there instead.

    `content` is None for what is left out.
    """

    path: Place
    way: str
    content: Any = None

    def apply(self, tree: Any) -> Any:
        return _replaced(tree, self.path, self.content, double=self.way == DOUBLED)


def _replaced(tree: Any, path: Place, content: Any, *, double: bool) -> Any:
    """The tree with another content at a path; nothing in it is shared with changes to come."""
    step, *rest = path
    if rest:
        inner = _replaced(tree[step], tuple(rest), content, double=double)
    if isinstance(tree, dict):
        if not rest and content is None:
            return {key: item for key, item in tree.items() if key != step}
        return {**tree, step: inner if rest else content}
    assert isinstance(step, int)
    middle = [inner] if rest else [content, content] if double else [] if content is None else [content]
    return [*tree[:step], *middle, *tree[step + 1 :]]


def key_path(path: Place) -> str:
    """A path as messages write it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@dataclass(frozen=True)
class Leaf:
    """What may be changed at a path, by way: for each way changes from the smallest on."""

    path: Place
    pattern: str
    changes: dict[str, list[Change]]


def pattern_of(path: Place) -> str:
    return ".".join("*" if isinstance(step, int) else step for step in path)


def leaves(asserts: Any, words: dict[str, list[Form]], folder: Path) -> Iterator[Leaf]:
    """Every leaf of the tree under `asserts`, and every list and optional key as something that may be left out.

    `words`: what words may stand at a path. `folder`: where the certificate's arrays lie, and where changed ones
    are written.
    """
    yield from _leaves(asserts, (), words, folder, None)


def _leaves(tree: Any, path: Place, words: dict[str, list[Form]], folder: Path, beside: Any) -> Iterator[Leaf]:
    if isinstance(tree, str):
        yield _scalar(tree, path, words, beside)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _leaves(item, (*path, index), words, folder, tree)
        for index, item in enumerate(tree):
            where = (*path, index)
            left = [Change(where, LEFT_OUT)] if len(tree) > 1 else []
            yield Leaf(where, f"{pattern_of(path)}[]", {LEFT_OUT: left, DOUBLED: [Change(where, DOUBLED, item)]})
    elif "sha256" in tree and "file" in tree:
        yield from _stored(tree, path, folder)
    else:
        for key, item in tree.items():
            yield from _leaves(item, (*path, key), words, folder, tree)
        for key in tree:
            where = (*path, key)
            yield Leaf(where, f"{pattern_of(where)}?", {LEFT_OUT: [Change(where, LEFT_OUT)]})


def _scalar(text: str, path: Place, words: dict[str, list[Form]], beside: Any) -> Leaf:
    """A number or a word; `beside` is the mapping or list that it stands in."""
    pattern = pattern_of(path)
    forms = words.get(pattern, [])
    if any(text in form.words for form in forms):
        changes = []
        for form, word in [(each, word) for each in forms for word in each.words if word != text]:
            changes.append(Change(path, OTHER, word))
            if isinstance(beside, dict) and not beside.keys() <= form.keys:
                # Another form of the mapping, as far as it can be made of what stands there.
                content = {key: word if key == path[-1] else item for key, item in beside.items() if key in form.keys}
                changes.append(Change(path[:-1], OTHER, content))
        # A word that is the only one says something by standing there.
        return Leaf(path, pattern, {OTHER: changes or [Change(path, OTHER)]})
    if "." in text and set(text) <= _TREE:
        # Each cell that is undecided is taken for the one before it.
        places = [k for k in range(1, len(text)) if text[k] == "." and text[k - 1] not in "+."]
        moved = [text[: k - 1] + "." + text[k - 1] + text[k + 1 :] for k in places]
        return Leaf(path, pattern, {OTHER: [Change(path, OTHER, word) for word in moved]})
    try:
        value = parse_rational(text, DEFAULT_LIMITS)
    except NumberError:
        raise ValueError(f"{pattern}: {text!r} is neither a number nor one of the words of the format") from None
    return Leaf(
        path,
        pattern,
        {
            way: [Change(path, way, format_rational(value + sign * step)) for step in _steps(text, value)]
            for way, sign in ((UP, 1), (DOWN, -1))
        },
    )


def _steps(text: str, value: fmpq) -> list[fmpq]:
    """By how much a number is moved, until something changes: far below its digits, by one of the last, by more."""
    size = abs(value) if value != 0 else fmpq(1)
    steps = [size * fmpq(1, 2**40)]
    if match := re.fullmatch(r"-?[0-9]+(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", text, re.ASCII):
        places = int(match[2] or 0) - len(match[1] or "")
        steps.append(fmpq(10**places) if places >= 0 else fmpq(1, 10**-places))
    half = size / 2 if value.q != 1 else fmpq(max(int(size.p) // 2, 1))
    # The last step makes of one entry the largest, where only the largest counts.
    return [*steps, size * fmpq(1, 1024), fmpq(1), fmpq(2), half, 1024 * size]


def _stored(reference: dict[str, Any], path: Place, folder: Path) -> Iterator[Leaf]:
    """The numbers of an array file, as the leaves that they would be if they were written out."""
    if folder.is_relative_to(GALLERY):
        raise ValueError(
            f"{pattern_of(path)}: numbers of array files are moved in the arena, where changed files may lie"
        )
    name = reference["file"]
    loaded = np.load(folder / name, allow_pickle=False)
    array = loaded[reference["array"]] if name.endswith(".npz") else loaded
    first, stop = map(int, reference.get("rows", f"0:{len(array)}").split(":"))
    for index in np.ndindex(array.shape):
        if first <= index[0] < stop:
            where, number = (*path, *index), array[index]
            moved = {
                way: [
                    Change(path, way, _changed_file(reference, array, index, value, folder))
                    for value in (np.nextafter(number, limit), number + sign * (abs(number) / 1024 + 2.0**-20))
                ]
                for way, sign, limit in ((UP, 1, np.inf), (DOWN, -1, -np.inf))
            }
            yield Leaf(where, pattern_of(where), moved)


def _changed_file(reference: dict[str, Any], array: Any, index: Any, value: Any, folder: Path) -> dict[str, Any]:
    changed = array.copy()
    changed[index] = value
    digest = hashlib.sha256(changed.tobytes() + repr(changed.shape).encode()).hexdigest()
    path = folder / f"changed-{digest}.npy"
    if not path.exists():
        np.save(path, changed)
    return {
        **{key: item for key, item in reference.items() if key != "array"},
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


# -- what the format allows


@dataclass(frozen=True)
class Form:
    """What may stand at a path: words, if any, or a number; the keys of the mapping that it stands in."""

    words: tuple[str, ...]
    keys: frozenset[str]
    is_count: bool = False


def scalars(schema: Schema, path: str = "", keys: frozenset[str] = frozenset()) -> Iterator[tuple[str, Form]]:
    """The path of every scalar that a schema allows, with its words; an array file is the numbers in it."""
    for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from scalars(one, path, keys)
    properties = schema.get("properties", {})
    if "sha256" in properties and "file" in properties:
        return
    for name, inner in properties.items():
        yield from scalars(inner, f"{path}.{name}" if path else name, frozenset(properties))
    if "items" in schema:
        yield from scalars(schema["items"], f"{path}.*")
    if "enum" in schema or "const" in schema:
        yield path, Form(tuple(schema.get("enum", [schema.get("const")])), keys)
    elif "type" in schema and schema["type"] not in ("object", "array"):
        yield path, Form((), keys, is_count="integer" in schema["type"] and "minimum" in schema)


def allowed(claim: str) -> dict[str, list[Form]]:
    """The paths of a claim's `asserts`, with their words."""
    found: dict[str, list[Form]] = {}
    for path, form in scalars(schema_of(CLAIMS[claim].asserts)):
        found.setdefault(path, []).append(form)
    return found


# -- obligations, to be compared

Side = tuple[Any, ...]


@functools.singledispatch
def exactly(side: object) -> Side:
    """A side of an obligation so that equal ones are the same number or the same ball."""
    return ("text", str(side))


@exactly.register
def _(side: fmpq) -> Side:
    return ("number", int(side.p), int(side.q))


@exactly.register
def _(side: arb) -> Side:
    if side.is_finite() is not True:
        return ("unbounded", str(side))
    return ("ball", *(tuple(map(int, part.man_exp())) for part in (side.mid(), side.rad())))


def obligations(certificate: Certificate, bits: int) -> dict[str, Side]:
    """What each obligation says: in binary64 where that decides, else at this precision.

    Raises MalformedError where there are none.
    """
    theorem = theorem_of(certificate)
    proof = Proof(list(theorem.obligations(theorem.read(certificate))))
    for tier in proof.tiers:
        with suppress(Binary64Error):
            proof.ask_fast(proof.obligations, tier)
    proof.ask(proof.obligations, bits)
    return {
        name: (a.relation, exactly(a.because or a.left), exactly(a.right), a.outcome.value, a.part.value)
        for name, a in proof.answers.items()
    }


def differences(before: dict[str, Side], after: dict[str, Side]) -> set[str]:
    """Obligations that say something else, or that are in one alone; indices and other numbers of names as *."""
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {re.sub(r"\[[^\]]*\]|(?<![A-Za-z_])[0-9]+", lambda found: "[*]" if found[0][0] == "[" else "*", name)
            for name in changed}  # fmt: skip


# -- certificates


@dataclass(frozen=True)
class Source:
    """A certificate that verifies: its name, text and the path that it is read from."""

    name: str
    claim: str
    text: str
    path: Path

    def certificate(self, text: str | None = None) -> Certificate:
        return loads(self.text if text is None else text, self.path)

    def leaves(self) -> Iterator[Leaf]:
        return leaves(self.certificate().plain["asserts"], allowed(self.claim), self.path.parent)


def gallery() -> list[Source]:
    found = []
    for path in sorted(GALLERY.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        found.append(Source(str(path.relative_to(GALLERY)), loads(text, path).claim, text, path))
    return found


def arena(folder: Path) -> list[Source]:
    """The accept cases of the arena, whose array files are written into `folder`."""
    found = []
    for entry, _, text in files.entries():
        if entry.accepted:
            for name in files.array_files(text):
                (folder / name).write_bytes(files.FILES[name])  # type: ignore[attr-defined]
            found.append(Source(f"arena: {entry.claim}: {entry.case}", entry.claim, text, folder / "case.yaml"))
    return found


# -- what comes out

# Of a leaf moved one way: obligations changed; something else in the file no longer fits it, which the reader refuses;
# nothing changed; or nothing but the leaf itself was refused, as no number of its kind.
USED, REFUSED, UNUSED, MALFORMED = OUTCOMES = "used", "refused", "no effect", "malformed"


@dataclass
class Row:
    """What came out for the leaves of one path: how many, how many of each way and outcome, obligations."""

    leaves: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    obligations: Counter[str] = field(default_factory=Counter)
    unused: list[str] = field(default_factory=list)

    def add(self, other: Row) -> None:
        self.leaves += other.leaves
        self.counts += other.counts
        self.obligations += other.obligations
        self.unused += other.unused

    def used(self, way: str) -> bool:
        return self.counts[way, USED] > 0

    @property
    def refused(self) -> bool:
        return self.total(REFUSED) > 0

    def total(self, outcome: str) -> int:
        """Of how many changes this came out."""
        return sum(count for (_, each), count in self.counts.items() if each == outcome)

    def shown(self, forms: Sequence[Form]) -> bool:
        """Whether leaves were used in every way in which one may be; counts, such as indices, to one side at least."""
        sides = [self.used(UP), self.used(DOWN)]
        return self.used(OTHER) or all(sides) or (any(sides) and all(form.is_count for form in forms))


Rows = dict[tuple[str, str], Row]


class Trial:
    """One certificate and what becomes of its obligations."""

    def __init__(self, source: Source) -> None:
        self.source = source
        certificate = source.certificate()
        report = check_certificate(certificate, CheckOptions())
        if report.verdict is not Verdict.VERIFIED:
            raise ValueError(f"{source.name}: {report.verdict.value}, expected a certificate that verifies")
        self.bits = max(report.bits, DEFAULT_LIMITS.start_bits)
        self.tree = certificate.plain
        self.before = obligations(source.certificate(), self.bits)

    def run(self, leaf: Leaf) -> Row:
        """Change one leaf in every way, by more and more until an obligation changes."""
        row = Row(leaves=1)
        for way, changes in leaf.changes.items():
            outcomes = []
            for change in changes:
                outcomes.append(self._outcome(change, row))
                if outcomes[-1] == USED:
                    break
            if outcomes:
                row.counts[way, next(outcome for outcome in OUTCOMES if outcome in outcomes)] += 1
                if UNUSED in outcomes and USED not in outcomes:
                    row.unused.append(f"{self.source.name}: {leaf.path}: {way}")
        return row

    def _outcome(self, change: Change, row: Row) -> str:
        tree = {**self.tree, "asserts": change.apply(self.tree["asserts"])}
        try:
            after = obligations(self.source.certificate(to_text(tree)), self.bits)
        except MalformedError as error:
            return MALFORMED if error.place.path == key_path(("asserts", *change.path)) else REFUSED
        changed = differences(self.before, after)
        row.obligations.update(changed)
        return USED if changed else UNUSED


def try_source(source: Source, most: int | None) -> Rows:
    """The rows of one certificate; of each path at most so many leaves, spread over all of them."""
    trial = Trial(source)
    found: dict[str, list[Leaf]] = {}
    for leaf in source.leaves():
        found.setdefault(leaf.pattern, []).append(leaf)
    rows: Rows = {}
    for pattern, each in found.items():
        row = rows[source.claim, pattern] = Row()
        count = len(each) if most is None else min(most, len(each))
        for place in range(count):
            row.add(trial.run(each[place * len(each) // count]))
    return rows


def sample(sources: Sequence[Source], claims: Iterable[str]) -> Rows:
    """For every path of these claims some leaf that is used, from the smallest certificates on; of exceptions a few."""
    rows: Rows = {}
    forms = {claim: allowed(claim) for claim in claims}
    chosen = [source for source in sources if source.claim in forms]
    for source in sorted(chosen, key=lambda each: (each.path.is_relative_to(GALLERY), len(each.text))):
        trial: Trial | None = None
        for leaf in source.leaves():
            key = source.claim, leaf.pattern
            row = rows.get(key, Row())
            few = key in BY_THE_READER and row.refused and row.leaves >= FEW
            if leaf.pattern in forms[source.claim] and not row.shown(forms[source.claim][leaf.pattern]) and not few:
                trial = trial or Trial(source)
                rows.setdefault(key, Row()).add(trial.run(leaf))
    return rows


def errors(rows: Rows, claims: Iterable[str]) -> list[str]:
    """Leaves without an effect, and paths of the format of which no certificate shows one."""
    found = [
        f"{claim}: no effect: {words}"
        for (claim, pattern), row in sorted(rows.items())
        for words in row.unused
        if (claim, pattern) not in {**SOMETIMES, **BY_THE_READER}
    ]
    for claim in claims:
        for pattern, forms in allowed(claim).items():
            row = rows.get((claim, pattern))
            if row is None:
                found.append(f"{claim}: {pattern}: in no certificate; write an accept case that has it")
            elif not row.shown(forms) and not ((claim, pattern) in BY_THE_READER and row.refused):
                found.append(f"{claim}: {pattern}: no leaf of it is used to both sides")
    return found


def needless(rows: Rows, claims: Iterable[str]) -> list[str]:
    """Exceptions that no row needs, if these are the rows of all certificates."""
    found = [key for key in SOMETIMES if not rows.get(key, Row()).unused]
    for claim, pattern in BY_THE_READER:
        if (forms := allowed(claim).get(pattern)) is None or rows.get((claim, pattern), Row()).shown(forms):
            found.append((claim, pattern))
    return [f"{claim}: {path}: an exception that is not needed" for claim, path in found if claim in claims]


# -- the table


def table(rows: Rows) -> str:
    """A line for each claim and path, and one about all scalars."""
    head = ("claim", "path", "leaves", *OUTCOMES, "obligations")
    lines: list[tuple[str, ...]] = [head]
    for (claim, pattern), row in sorted(rows.items()):
        reason = {**SOMETIMES, **BY_THE_READER}.get((claim, pattern))
        why = f" ({reason})" if reason else ""
        outcomes = (f"{row.total(outcome):,}" for outcome in OUTCOMES)
        lines.append((claim, pattern, f"{row.leaves:,}", *outcomes, ", ".join(sorted(row.obligations)) + why))
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[:-1]]
    text = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines
    ]
    scalars_ = {key: row for key, row in rows.items() if not key[1].endswith(("[]", "?"))}
    reached = {(claim, name) for (claim, _), row in scalars_.items() for name in row.obligations}
    return "\n".join([
        *text,
        f"{sum(row.leaves for row in scalars_.values()):,} leaves of {len(scalars_)} paths: "
        f"{sum(row.total(USED) for row in scalars_.values()):,} changes that {len(reached)} kinds of obligations show, "
        + ", ".join(f"{sum(row.total(o) for row in scalars_.values()):,} {o}" for o in (REFUSED, UNUSED, MALFORMED)),
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--claim", action="append", choices=CLAIMS, metavar="NAME", help="only this claim; can be repeated"
    )
    parser.add_argument("--most", type=int, help="at most so many leaves of a path in each certificate")
    parser.add_argument("--sample", action="store_true", help="only what shows every path once")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    claims = options.claim or list(CLAIMS)
    with tempfile.TemporaryDirectory() as folder:
        sources = [source for source in [*arena(Path(folder)), *gallery()] if source.claim in claims]
        rows = sample(sources, claims) if options.sample else whole(sources, options.most, options.jobs)
    print(table(rows))
    wrong = errors(rows, claims) + ([] if options.sample else needless(rows, claims))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def whole(sources: Sequence[Source], most: int | None, jobs: int) -> Rows:
    """The rows of all certificates."""
    rows: Rows = {}
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for done, found in enumerate(pool.imap_unordered(functools.partial(try_source, most=most), sources), 1):
            for key, row in found.items():
                rows.setdefault(key, Row()).add(row)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(sources)} certificates", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return rows


if __name__ == "__main__":
    sys.exit(main())
