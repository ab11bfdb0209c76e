"""Claim `output-deviation`: what is said of it, and its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import ACCEPT, FILES, Case, Cases, array, check
from flint import arb

from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import softmax
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention import quadratic_forms
from certattn.statements.checking import check_certificate
from certattn.statements.wording import WORDINGS

cases = Cases("deviation_cases", "region_cases", "mask_cases")

CLAIM = CLAIMS["output-deviation"]


@pytest.mark.heavy
@pytest.mark.parametrize("at_once", [1, 2, 3, 5])
def test_chunks_change_no_verdict(at_once: int, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_WEIGHTS_AT_ONCE", at_once)
    monkeypatch.setattr(quadratic_forms, "_PRODUCTS_AT_ONCE", at_once)
    assert [case.complaint(check(case.text, arrays)) for case in cases.CASES] == [""] * len(cases.CASES)


# -- what is said


def by_name(name: str) -> Case:
    (case,) = [case for case in cases.CASES if case.name == name]
    return case


def words(name: str, folder: Path) -> str:
    return check(by_name(name).text, folder).statement


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = words("keys and values against their own moments", arrays)
    for piece in (
        "each of 2 queries",
        "3 tokens",
        "keys: ((1, 0), (0, 1), (-1, 0.5))",
        "values: ((1, 2), (0, -1), (3, 0.5))",
        "scale sqrt(1/2)",
        "queries: ((1, 1), (-2, 0.5))",
        "the l2 distance",
        "v_bar + scale * Cov(v, k) q with the prompt's own moments",
        "at most 0.617327 for every query",
        "at least 0.617326 for some query",
        "at most the bound stated for each query",
        "at least the bound stated for each query",
    ):
        assert piece in said, said


def test_the_statement_says_what_the_limit_is(arrays: Path) -> None:
    affine = words("an affine limit with a scale of its own", arrays)
    assert "the affine map T_inf(q) = (1, 0.5) + 2 * A q with A = ((1, 0), (0.5, -1))" in affine
    law = words("the law of a token: signs", arrays)
    assert "an infinite prompt of tokens of independent signs (Rademacher) of sizes (1, 2)" in law
    tokens = words("tokens with K, Q and V", arrays)
    assert "K = ((1, 0), (1, 1)), Q = ((1), (-0.5)), V = ((2, 0), (0, 1), (1, -1))" in tokens


def test_the_statement_says_where_arrays_come_from(arrays: Path) -> None:
    said = words("numbers in an array file", arrays)
    assert "keys: 3 x 2 from prompt.npz[keys]" in said
    assert "queries: 2 x 2 from prompt.npz[queries], rows 1:3" in said


def test_the_statement_counts_one_token_as_one(arrays: Path) -> None:
    said = words("number types: one subnormal float32", arrays)
    assert "For one query and a prompt of 1 token (keys: " in said


def test_a_name_of_letters_that_look_alike_shows_as_what_it_is(arrays: Path) -> None:
    """With a Cyrillic e and a Latin one, two statements must not read the same."""
    text = by_name("numbers in an array file").text.replace("array: queries", 'array: "qu\u0435ries"')
    said = WORDINGS[CLAIM.name].statement(CLAIM.read(loads(text, arrays / "case.yaml"))).words
    assert "queries: 2 x 2 from prompt.npz['qu\\u0435ries'], rows 1:3" in said


@pytest.mark.parametrize(
    "name",
    [
        "(1), scale 1, queries: (1)), the l2 distance between T(q) and 0 is at most 7 for every query.npy",
        "((1, 0), (0, 1)).npy",
        "a\nverified.npy",
        "a\x1b[2Kb.npy",
        "a\u202eb.npy",
    ],
    ids=["another statement", "numbers", "a line of its own", "an escape sequence", "text turned round"],
)
def test_the_name_of_a_file_cannot_pass_for_words_of_the_statement(name: str, tmp_path: Path) -> None:
    """A name stands in quotes, with everything escaped that a terminal or a reader could take for more."""
    (tmp_path / name).write_bytes(FILES["keys.npy"])
    quoted = name.replace("\n", "\\n").replace("\x1b", "\\e").replace("\u202e", "\\u202e")
    reference = array("keys.npy", "float32", "[3, 2]").replace("keys.npy", f'"{quoted}"')
    text = (
        f"certattn: 1\nclaim: output-deviation\ngiven:\n  keys: {reference}\n  values: [[1], [1], [1]]\n"
        "  queries: [[1, 1]]\n  limit: {kind: empirical}\nasserts:\n  deviation: {norm: l2, at_most: 0}\n"
    )
    found = check(text, tmp_path)
    if found.verdict is Verdict.MALFORMED:
        return
    assert found.verdict is ACCEPT
    assert f" {name}" not in found.statement
    assert found.statement.isprintable()


def test_the_worst_query_and_the_slack_are_found(arrays: Path) -> None:
    (line,) = check(by_name("keys and values against their own moments").text, arrays).findings
    assert line.startswith("worst query 1: deviation [0.617326792580")
    assert line.endswith("slack 2.07e-7")
    (line,) = check(by_name("scores of a million").text, arrays).findings or [""]
    assert line == ""


RELATIVE = """
given:
  keys: [[1, 0], [0, 1], [-1, 1/2], [2, -1]]
  values: [[1, 2], [0, -1], [3, 0.5], [-1, 1]]
  queries: [[1, 1], [-2, 0.5], [1/2, -1]]
  scale: 1/sqrt(2)
  causal: 2
  limit: {kind: empirical}
asserts:
  deviation: {norm: l2, BOUND}
"""


@pytest.mark.parametrize(
    ("bound", "begin", "end"),
    [
        # The deviations are 0, 0.61732679... and 0.17536067..., 0.26981023... and 0.16766111... times the output.
        (
            "relative_at_most: 0.27", ["worst query 1 relative to its output: deviation / |T(q)| [0.26981023"],
            "slack 0.000190"),
        (
            "relative_at_most: 1/5", ["worst query 1 relative to its output: deviation / |T(q)| [0.26981023"],
            "slack -0.0698"),
        (
            "at_most: 1, relative_at_most: 1",
            ["worst query 1: deviation [0.617326", "worst query 1 relative to its output"], "slack 0.730"),
        (
            "per_query: {relative_at_most: [0, 2, 0.2]}", ["query 2, nearest to its bound: deviation / |T(q)| [0.1676611"],  # noqa: E501
            "slack 0.0323"),
        (
            "per_query: {relative_at_most: [0, 0, 0.2]}", ["query 1, nearest to its bound: deviation [0.617326"],
            "where 0 is asserted"),
        ("at_least: 1/2", [], ""),
    ],
)  # fmt: skip
def test_the_worst_query_beside_its_output_is_found(bound: str, begin: list[str], end: str, tmp_path: Path) -> None:
    text = f"certattn: 1\nclaim: output-deviation{RELATIVE.replace('BOUND', bound)}"
    lines = check(text, tmp_path).findings
    assert len(lines) == len(begin)
    assert all(line.startswith(words) for line, words in zip(lines, begin, strict=True)), lines
    assert "".join(lines[-1:]).endswith(end)


@pytest.mark.parametrize(
    ("bound", "words", "latex"),
    [
        ("at_most: 1", "at most 1 for every query", r"\max_i D \le 1"),
        ("at_least: 1/2", "at least 0.5 for some query", r"\max_i D \ge 0.5"),
        ("relative_at_most: 3", "at most 3 times the l2 norm of T(q) for every query", r"D \le 3\, S \ \forall i"),
        (
            "per_query: {at_most: [1, 2, 3]}", "at most the bound stated for each query (1, 2, 3)",
            r"D \le r_i \ \forall i"),
        (
            "per_query: {at_least: [0, 0, 0]}", "at least the bound stated for each query (0, 0, 0)",
            r"D \ge s_i \ \forall i"),
        (
            "per_query: {relative_at_most: [1, 2, 3]}",
            "at most the multiple stated for each query (1, 2, 3) of the l2 norm of T(q)",
            r"D \le t_i\, S \ \forall i"),
    ],
)  # fmt: skip
def test_words_and_formulas_say_what_is_asserted_and_nothing_else(
    bound: str, words: str, latex: str, tmp_path: Path
) -> None:
    text = f"certattn: 1\nclaim: output-deviation{RELATIVE.replace('BOUND', bound)}"
    found = WORDINGS[CLAIM.name].statement(CLAIM.read(loads(text, tmp_path / "c.yaml")))
    said = "the linear map T_inf(q) = v_bar + scale * Cov(v, k) q with the moments of the tokens that q sees is "
    assert found.words.split(said)[1] == f"{words}."
    distance, size = r"\| T(q_i) - T_\infty(q_i) \|_2", r"\| T(q_i) \|_2"
    assert found.latex == latex.replace("D", distance).replace("S", size)


def test_a_hint_of_bits_is_where_the_check_begins(arrays: Path) -> None:
    text = by_name("a zero query").text
    for bits, expected in ((2, 2), (100, 100), (10**9, 4096)):
        found = check(text.replace("asserts:", f"witness: {{bits: {bits}}}\nasserts:"), arrays)
        assert found.verdict is ACCEPT
        assert found.bits == expected


@pytest.mark.parametrize(
    "only", ["at_most[0]", "at_most[1]", "at_least", "per_query.at_least[1]", "per_query.at_most[*]"]
)
def test_a_part_of_the_obligations_never_verifies(only: str, arrays: Path) -> None:
    text = by_name("keys and values against their own moments").text
    found = check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(only=only, detail=True))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.counts["proved"] == len(found.obligations) >= 1
    assert found.counts["undecided"] == found.counts["refuted"] == 0


def test_a_part_of_the_obligations_can_refute(arrays: Path) -> None:
    text = by_name("keys and values against their own moments: last upper bound of a query one unit lower").text
    for only, verdict in (
        ("per_query.at_most[1]", Verdict.REFUTED),
        ("per_query.at_most[0]", Verdict.INCONCLUSIVE),
    ):
        found = check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(only=only))
        assert found.verdict is verdict


def test_the_shown_enclosures_contain_the_deviation(arrays: Path) -> None:
    found = check(by_name("keys and values against their own moments").text, arrays)
    shown = {obligation["name"]: obligation["left"] for obligation in found.obligations}
    with working_precision(200):
        assert arb(shown["at_most[0]"]).contains(arb("0.124841374768276463239685"))
        assert arb(shown["at_least"]).contains(arb("0.617326792580582308614906"))
