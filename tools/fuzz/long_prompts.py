"""Certificates of `risk-transfer` near true ones, most of them spoiled, against simulated flows.

    python tools/fuzz/long_prompts.py --count 10000 --seed 0

Of a base, which verifies, one to three things are changed: a stated risk or distance goes below the simulated one, the
length or the time below what is enough, a number of the task, of a sum, of an error or of the ranges to another one, or
a field to something else or to nothing. `tools.truth.certificate` judges what verifies, by following both flows in
doubles, at lengths where ranges begin; and it is looked whether the sums of the witness really are so near to the
moments at some lengths. What is false and verifies is printed, with the seed and number by which it is made again, and
so is what is refuted and not false; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from certattn.kernel.theorems.training import risk_transfer
from tools.truth.certificate import judge
from tools.truth.judgement import Truth
from tools.truth.reading import NotAStatement, read_covariance, read_number, read_table
from tools.truth.risk_transfer import Prompts, followed, shared, spread

Content = dict[str, Any]
# One precision, at which moments are remembered.
LIMITS = Limits(max_bits=64)
REMEMBERED = 200
HERE = Path()
# By what share a stated number is below the simulated one.
OFF = (Fraction(1, 500), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
# By what a number is changed, little or much.
NEAR, FAR = ("0.999", "1.001", "0.98", "1.02", "0.8", "1.5"), ("0", "-1", "2", "0.1", "10", "1e-6")
# What interpolated moments may be off by, and the variances where the sums of a witness are looked at.
LOOSE, VARIANCES = 3e-6, np.linspace(0, 50, 400)

LINE = """
given: {covariance: [[1]], start: {A: [[1/2]], b: 1/2}, length: 100}
asserts: {risk: 0.2301, time: 0.4, tube: 0.057}
witness:
  spacing: 1/3
  lengths: [80, 100, 200, 400, 800, 1600, 3200]
  ranges:
  - until: 400
    time: 2/5
    pieces: 4
    sums: [[0, 0.4506, 0.117, 0.2606, 0.09343], [-0.125, -1.151, 0.2003, -0.3696, -0.07261],
      [-0.25, 0.7708, -0.4474, -0.02567, -0.01614], [-0.5, -0.05821, 0.131, 0.1448, 0.006378],
      [-2, -0.01338, 0.009619, -0.01097, -0.001229]]
    errors: [[0.2998, 0.01167, 0.05527]]
  - time: 3/10
    pieces: 3
    sums: [[0, 0.2164, 0, 0.1334, 0], [-0.125, -0.4466, 0, -0.3985, 0], [-0.25, 0.2212, 0, 0.3672, 0],
      [-0.5, 0.01536, 0, -0.1073, 0], [-2, -0.005156, 0, 0.006598, 0]]
    errors: [[0.2998, 0.009684, 0.005836]]
"""
PLANE = """
given: {covariance: [[1, 1/4], [1/4, 3/4]], start: {A: [[1/2, 0], [0, 1/2]], b: 1/2}, length: 3000}
asserts: {risk: 0.4185, time: 3/20, tube: 0.00415}
witness:
  spacing: 1/3
  lengths: [3000]
  ranges:
  - time: 3/20
    pieces: 3
    sums: [[0, 0.1815, 0, 0.09494, 0], [-0.0625, -0.2679, 0, -0.1393, 0], [-0.25, 0.09413, 0, 0.0486, 0],
      [-1, -0.007649, 0, -0.004092, 0]]
    errors: [[0.2998, 0.003625, 0.003885]]
"""
LARGE_B = """
given: {covariance: [[1, 0], [0, 1]], start: {A: [[0, 0], [0, 0]], b: 2}, length: 1000}
asserts: {risk: 0.1938, time: 0.3, tube: 0.0452}
witness:
  spacing: 1/3
  lengths: [1000]
  ranges:
  - time: 1/4
    pieces: 5
    sums: [[0, 0.1569, 0, 0.06357, 0], [-0.125, -0.3769, 0, -0.1403, 0], [-0.25, 0.2448, 0, 0.08463, 0],
      [-0.5, -0.02218, 0, -0.007127, 0], [-2, -0.002189, 0, -0.0002975, 0]]
    errors: [[0.2998, 0.006153, 0.004714]]
"""
TOKENS = """
given:
  covariance: [[1]]
  start: {A: [[1/2]], b: 3/2}
  tokens: [[1], [-1/2], [2], [1/4], [-1], [3/2]]
  labels: [[1], [-1/2], [2], [-1/2], [2], [-3]]
  queries: [[1], [-1/2]]
  targets: [[1], [1]]
asserts: {risk: 0.222, time: 1}
witness: {pieces: 50, travel: 1/500}
"""
GALLERY = Path(__file__).resolve().parents[2] / "certificates" / "training" / "risk-transfer"
# And one whose bounds are sharp, which takes long.
SHARP = "line-large-b"
BASES = {"line": LINE, "plane": PLANE, "large b": LARGE_B, "tokens": TOKENS}
WEIGHTS = {**dict.fromkeys(BASES, 24), SHARP: 1}


@cache
def base(name: str) -> Content:
    if name == SHARP:
        plain = loads((GALLERY / f"{name}.yaml").read_text(), "base.yaml").plain
        return {key: section for key, section in plain.items() if key != "provenance"}
    return loads(f"certattn: 1\nclaim: risk-transfer\n{BASES[name]}", "base.yaml").plain


# -- changes: each is given the certificate, and changes it


def nudged(draw: random.Random, text: str) -> str:
    """Another number near it, or far away."""
    x = Fraction(text)
    near = (
        Fraction(999, 1000),
        Fraction(1001, 1000),
        Fraction(49, 50),
        Fraction(51, 50),
        Fraction(4, 5),
        Fraction(3, 2),
    )
    far = (Fraction(0), Fraction(-1), Fraction(2), Fraction(1, 10), Fraction(10), Fraction(1, 10**6))
    found = x * draw.choice(near if draw.random() < 0.7 else far)
    if draw.random() < 0.1 or found == x:
        found += draw.choice((Fraction(1, 1000), Fraction(-1, 100), Fraction(1)))
    return str(found)


def spoil(draw: random.Random, rows: list[list[str]]) -> None:
    """An entry, a row or the order of a table."""
    i, way = draw.randrange(len(rows)), draw.random()
    if way < 0.7:
        j = draw.randrange(len(rows[i]))
        rows[i][j] = nudged(draw, rows[i][j])
    elif way < 0.8 and len(rows) > 1:
        del rows[i]
    elif way < 0.9:
        rows.append([nudged(draw, entry) if draw.random() < 0.5 else entry for entry in rows[i]])
    else:
        rows[i].append(rows[i].pop(draw.randrange(len(rows[i]))))


def simulated(content: Content) -> tuple[float, float]:
    """The risk at the time, and the distance of the runs until then."""
    given, until = content["given"], float(Fraction(content["asserts"]["time"]))
    covariance, A = read_covariance(given["covariance"], HERE), read_table(given["start"]["A"], HERE)
    b = float(read_number(given["start"]["b"]))
    if "tokens" in given:
        return Prompts(given, len(covariance), HERE).followed(np.array(A, float), b, until), 0.0
    spectrum = shared(np.array(covariance, float), np.array(A, float))
    return followed(spectrum, b, int(given["length"]), until)


def below(draw: random.Random, x: float) -> str:
    return str(Fraction(f"{x:.12f}") * (1 - draw.choice(OFF)))


def risk(draw: random.Random, content: Content) -> None:
    content["asserts"]["risk"] = below(draw, simulated(content)[0])


def tube(draw: random.Random, content: Content) -> None:
    if "tube" in content["asserts"] and draw.random() < 0.8:
        content["asserts"]["tube"] = below(draw, simulated(content)[1])
    else:
        content["asserts"].pop("tube", None)


def shorter(draw: random.Random, content: Content) -> None:
    """Prompts below what is certified, and the lengths of the witness with them."""
    given = content["given"]
    if "length" not in given:
        return spoil(draw, given[draw.choice(("tokens", "labels", "queries", "targets"))])
    length = max(2, int(int(given["length"]) * draw.choice((0.99, 0.97, 0.9, 0.7, 0.5, 0.05))))
    given["length"] = str(length)
    if draw.random() < 0.9:
        known = {int(x) for x in content["witness"]["lengths"]} | {length, max(2, length - 1 - length // 5)}
        content["witness"]["lengths"] = [str(x) for x in sorted(known)]
    return None


def earlier(draw: random.Random, content: Content) -> None:
    """All times by one factor, or the stated one alone."""
    factor = draw.choice((Fraction(99, 100), Fraction(9, 10), Fraction(1, 2), Fraction(1, 100), Fraction(3, 2)))
    together = draw.random() < 0.8
    for holder in [content["asserts"], *(content["witness"].get("ranges", []) if together else [])]:
        holder["time"] = str(Fraction(holder["time"]) * factor)


def task(draw: random.Random, content: Content) -> None:
    start, covariance = content["given"]["start"], content["given"]["covariance"]
    way = draw.random()
    if way < 0.3:
        start["b"] = nudged(draw, start["b"])
    elif way < 0.65:
        # By a factor A still commutes.
        factor = Fraction(nudged(draw, "1"))
        for rows in (start["A"] if way < 0.5 else covariance,):
            rows[:] = [[str(Fraction(entry) * factor) for entry in row] for row in rows]
    else:
        spoil(draw, start["A"] if way < 0.8 else covariance)


def witness(draw: random.Random, content: Content) -> None:
    holder = content["witness"]
    if "ranges" not in holder:
        name = draw.choice(("pieces", "travel"))
        holder[name] = str(draw.randint(1, 60)) if name == "pieces" else nudged(draw, holder[name])
        return
    each, way = draw.choice(holder["ranges"]), draw.random()
    if way < 0.4:
        spoil(draw, each["sums"])
    elif way < 0.7:
        spoil(draw, each["errors"])
    elif way < 0.8:
        each["pieces"] = str(draw.choice((1, 2, 3, 5, 6, 8, 12)))
        if draw.random() < 0.5:
            times = str(draw.choice(("1/10", "1/5", "2/5", "1/2", each["time"])))
            each["later"] = {"time": times, "pieces": str(draw.choice((1, 2, 3, 4)))}
    elif way < 0.9:
        name = draw.choice(("time", "until"))
        if name in each:
            each[name] = nudged(draw, each[name])
    else:
        other = draw.choice(holder["ranges"])
        name = draw.choice(("sums", "errors", "time", "pieces"))
        each[name], other[name] = other[name], each[name]


def nodes(draw: random.Random, content: Content) -> None:
    """Where the moments are known."""
    holder = content["witness"]
    way = draw.random()
    if "lengths" not in holder or way < 0.2:
        holder["spacing"] = draw.choice(("1/2", "1", "2/5", "3/10", "1/65", "2"))
    elif way < 0.4:
        holder["reach"] = str(draw.choice((1, 2, 4, 8, 16, 65)))
    elif way < 0.7:
        k = draw.randrange(len(holder["lengths"]))
        holder["lengths"][k] = str(int(Fraction(nudged(draw, holder["lengths"][k]))))
    elif way < 0.85:
        del holder["lengths"][draw.randrange(len(holder["lengths"]))]
    else:
        ranges = holder["ranges"]
        del ranges[draw.randrange(len(ranges))]
        ranges[-1].pop("until", None)


def places(at: Any) -> Iterator[tuple[Any, Any]]:
    """Every field and entry, as what holds it and its key there."""
    for key in list(at) if isinstance(at, dict) else range(len(at)):
        yield at, key
        if not isinstance(at[key], str):
            yield from places(at[key])


def field(draw: random.Random, content: Content) -> None:
    """Any field or entry is left out, something else, or a number near it."""
    holder, key = draw.choice([each for part in ("given", "asserts", "witness") for each in places(content[part])])
    way = draw.random()
    if way < 0.2:
        del holder[key]
    elif way < 0.4:
        holder[key] = draw.choice(("0", "-1", "1e9", "1e-400", "nan", "x", [], {}, [["1"]], "1/0", "0x1p3"))
    elif isinstance(holder[key], str):
        holder[key] = nudged(draw, holder[key])
    elif isinstance(holder[key], list):
        holder[key].append(copy.deepcopy(holder[key][-1]) if holder[key] else "1")
    else:
        holder[draw.choice(("extra", "length", "tokens", "until", "tube"))] = holder[key]


Change = Callable[[random.Random, Content], None]
CHANGES: dict[str, Change] = {
    each.__name__: each for each in (risk, tube, shorter, earlier, task, witness, nodes, field)
}


# -- checking


def text_of(content: Content) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in content.items()).replace('"', "")


def verdict(content: Content) -> str:
    try:
        return check(loads(text_of(content), "made.yaml", limits=LIMITS), CheckOptions(LIMITS)).verdict.value
    except MalformedError:
        return "malformed"


def off(content: Content) -> str:
    """What is false in the sums of a witness, at some lengths of each range; nothing, as a rule."""
    first = int(content["given"].get("length", 0))
    for each in content["witness"].get("ranges", []):
        last = int(each["until"]) if "until" in each else 100 * first
        for length in sorted({first, (first + last) // 2, last}):
            mu, (q, kappa) = first / length, spread(length)(VARIANCES)
            sums, errors = (np.array(read_table(each[name], HERE), float) for name in ("sums", "errors"))
            terms, most = np.exp(np.outer(VARIANCES, sums[:, 0])), np.exp(np.outer(VARIANCES, errors[:, 0]))
            for k, moment in ((0, q), (1, q - 4.5 * kappa)):
                near = terms @ (sums[:, 1 + 2 * k] + mu * sums[:, 2 + 2 * k])
                if (np.abs(moment - near) > most @ errors[:, 1 + k] * (1 + LOOSE) + LOOSE).any():
                    return f"sums of {('q', 'w')[k]} at {length} tokens"
        first = last
    return ""


def complaint(content: Content, found: str) -> str:
    """Why a verdict is wrong; nothing where it is not."""
    if found not in ("verified", "refuted"):
        return ""
    try:
        judgement = judge(content, HERE)
    except NotAStatement as error:
        return f"no statement: {error}"
    if found == "verified":
        return judgement.where or "false" if judgement.truth is Truth.FALSE else off(content)
    return "" if judgement.truth is Truth.FALSE else "not false"


def made(draw: random.Random, bases: Mapping[str, int]) -> tuple[str, str, Content]:
    """The base, what was changed, and the certificate."""
    (name,) = draw.choices(list(bases), list(bases.values()))
    content, done = copy.deepcopy(base(name)), []
    for kind in draw.choices(list(CHANGES), k=draw.choice((1, 1, 2, 3))):
        try:
            CHANGES[kind](draw, content)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, NotAStatement):
            # What was changed before is no longer what this one changes.
            continue
        done.append(kind)
    return name, done[0] if len(done) == 1 else f"{len(done) or 'none'} of these", content


@contextmanager
def remembering() -> Iterator[None]:
    """Moments are computed once for the same lengths and nodes: they take far longer than all else."""
    usual = risk_transfer.WeightTable
    remembered = lru_cache(REMEMBERED)(lambda spacing, reach, *lengths: usual(spacing, reach, lengths))
    with patch.object(risk_transfer, "WeightTable", lambda spacing, reach, at: remembered(spacing, reach, *at)):
        yield


Tally = Counter[tuple[str, str, str]]


def run(count: int, seed: int, bases: Mapping[str, int] = WEIGHTS) -> tuple[Tally, list[str]]:
    """How often each change of each base had each verdict; and what was wrong."""
    tally: Tally = Counter()
    findings: list[str] = []
    with remembering():
        for step in range(count):
            name, kind, content = made(random.Random(f"{seed} {step}"), bases)
            found = verdict(content)
            tally[name, kind, found] += 1
            if wrong := complaint(content, found):
                findings.append(f"number {step}: {found}, but {wrong}: {text_of(content)}")
    return tally, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="certificates to check")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    start = time.process_time()
    tally, findings = run(chosen.count, chosen.seed)
    for (name, kind, found), times in sorted(tally.items()):
        print(f"{name:<14}{kind:<12}{found:<14}{times:>7}")
    print(f"\n{tally.total()} certificates in {time.process_time() - start:.0f} s, {len(findings)} findings")
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
