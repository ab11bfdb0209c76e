"""Whether a certificate of `typical-prompt` is true: the prompt's output by mpmath, random ones by simulation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, judge_all
from tools.truth.laws import read_law
from tools.truth.output_tail import judge_tails
from tools.truth.prompt import read_prompt
from tools.truth.reading import inner_product, read_number, read_vector, require, root_of, times, to_real


def judge_typical(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where the prompt exceeds a height or simulated ones do too often."""
    require(isinstance(given, dict) and "keys" not in given, "tokens")
    prompt = read_prompt(given, {"law"}, folder)
    law = read_law(given["law"], folder)
    require(law.dimension == len(prompt.tokens[0]), "a law in another dimension")
    require(len(prompt.queries) == 1, "one query")
    (query,) = prompt.queries
    shared = {name: given[name] for name in ("law", "K", "Q", "V", "U", "scale") if name in given}
    alike = {**shared, "query": list(map(str, query)), "length": str(len(prompt.tokens))}
    random = judge_tails(alike, asserts, witness, folder, from_below=False)
    assert prompt.V is not None
    V = prompt.V

    def difference() -> list[mpf]:
        tilt = [root_of(prompt.scale) * to_real(entry) for entry in times(prompt.U, query)]
        mean = law.tilted_mean(tilt)
        return [t - inner_product(row, mean) for t, row in zip(prompt.attention(query), V, strict=True)]

    found = []
    for index, item in enumerate(asserts.get("directions", [])):
        u = read_vector(item["direction"], folder)
        found.append(
            _here(f"directions[{index}]", lambda u=u: inner_product(u, difference()), read_number(item["exceeds"]))
        )
    if "norm" in asserts:
        norm = _l2 if asserts["norm"]["norm"] == "l2" else _linf
        found.append(_here("norm", lambda: norm(difference()), read_number(asserts["norm"]["exceeds"])))
    here = judge_all(found)
    order = (Truth.FALSE, Truth.EQUAL, Truth.OPEN, Truth.TRUE)
    worse = min(here, random, key=lambda judgement: (order.index(judgement.truth), judgement.slack))
    return Judgement(worse.truth, worse.slack, worse.where, random.provable)


def _here(name: str, value: Callable[[], mpf], bound: Fraction) -> Comparison:
    return Comparison(f"here.{name}", value, bound)


def _l2(entries: list[mpf]) -> mpf:
    return mp.sqrt(mp.fsum(x * x for x in entries))


def _linf(entries: list[mpf]) -> mpf:
    return max(abs(x) for x in entries)
