"""Margins, formulas, heat maps, pictures, Markdown and reports of an earlier check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.report.formats import as_json
from certattn.report.page.audits import missing_of, others_of
from certattn.report.page.content import Content
from certattn.report.page.earlier import by_file, fitting, read_reports
from certattn.report.page.entry import Entry, HeadPlace, single_numbers
from certattn.report.page.formulas import mathml, typeset
from certattn.report.page.heads import heat_maps
from certattn.report.page.margins import least_spare, margins, without_balls
from certattn.report.page.markdown import as_markdown
from certattn.report.page.pictures import SharedParts, simplified
from certattn.report.rounded import between, figure
from certattn.statements.reports import Report

from .conftest import HOSTILE, obligation

Make = Callable[..., Entry]


# -- margins


@pytest.mark.parametrize(
    ("left", "relation", "right", "share"),
    [
        ("3/4", "<=", "1", 0.25),
        ("[0.75 +/- 0]", "<=", "1", 0.25),
        ("[0.5 +/- 0.25]", "<=", "1", 0.25),
        ("4", ">=", "1", 0.75),
        ("1", ">=", "1", 0.0),
        ("2", "<=", "1", -0.5),
        ("[1.0 +/- 0]", ">", "0", None),
        ("(1, 2)", "=", "(1, 2)", None),
        ("[nan +/- inf]", "<=", "1", None),
        ("1/0", "<=", "1", None),
        ("9" * 500, "<=", "1", None),
        ("1e9999999", "<=", "1", None),
    ],
)
def test_what_is_to_spare_is_the_least_distance_by_the_larger_side(
    left: str, relation: str, right: str, share: float | None
) -> None:
    (margin,) = margins([obligation("a", left, relation, right, "unproved")])
    assert margin.share == (None if share is None else pytest.approx(share, rel=1e-6))


@pytest.mark.parametrize(
    ("left", "relation", "right", "sides"),
    [
        ("[0.0099979412 +/- 3e-9]", "<=", "0.01", "at most 0.00999795 ≤ 0.01"),
        ("[0.75 +/- 1e-9]", ">=", "1/2", "at least 0.749999 ≥ 1/2"),
        ("1", "<", "[2 +/- 1e-3]", "1 < at least 1.99899"),
        ("0", "<=", "[-0.5 +/- 0.25]", "0 ≤ [-0.5 +/- 0.25]"),
        ("[1.5 +/- 0.1]", "=", "1.5", "[1.5 +/- 0.1] = 1.5"),
        ("[1 +/- 1e-99999]", "<=", "2", "at most 1.00001 ≤ 2"),
        ("[1e99999 +/- 1]", ">=", "2", "[1e99999 +/- 1] ≥ 2"),
    ],
)
def test_a_side_is_shown_by_the_end_that_keeps_the_bound(left: str, relation: str, right: str, sides: str) -> None:
    assert margins([obligation("a", left, relation, right)])[0].sides == sides


def test_what_is_not_proved_is_shown_as_it_is() -> None:
    (margin,) = margins([obligation("a", "[0.5 +/- 0.1]", "<=", "0.55", "unproved")])
    assert margin.sides == "[0.5 +/- 0.1] ≤ 0.55"


@pytest.mark.parametrize(
    ("left", "words"),
    [("0.5", "50 %"), ("0.9998", "0.02 %"), ("0.66", "34 %"), ("0.9999999999", "under 0.0001 %"), ("1", "0 %")],
)
def test_what_is_to_spare_is_a_plain_number(left: str, words: str) -> None:
    (margin,) = margins([obligation("a", left, "<=", "1", "unproved")])
    assert margin.spare in (words, words.replace("34", "33").replace("0.02", "0.019"))


def test_a_proved_obligation_never_shows_less_than_nothing_to_spare() -> None:
    (margin,) = margins([obligation("a", "[1 +/- 0.5]", "<=", "1.2")])
    assert (margin.spare, margin.share, margin.sides) == ("", None, "[1 +/- 0.5] ≤ 1.2")


def test_what_is_not_proved_comes_first_and_leaves_nothing_to_spare() -> None:
    found = margins([obligation("tight", "0.99", "<=", "1"), obligation("no", "2", "<=", "1", "refuted")])
    assert [margin.name for margin in found] == ["no", "tight"]
    assert least_spare(found) is None


def test_the_least_to_spare_is_that_of_balls() -> None:
    exact = {**obligation("exact", "1", "<=", "1"), "bits": None}
    least = least_spare(margins([exact, obligation("wide", "0.1", "<=", "1"), obligation("tight", "0.99", "<=", "1")]))
    assert least is not None
    assert least.name == "tight"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the margin is [0.7276068 +/- 2.90e-16]; 2 hold", "the margin is between 0.727606 and 0.727607; 2 hold"),
        ("[+/- 1e-3] away", "between -0.00100001 and 0.00100001 away"),
        ("the queries [0, 1]", "the queries [0, 1]"),
        ("[nan +/- inf]", "[nan +/- inf]"),
    ],
)
def test_findings_say_between_which_numbers(text: str, shown: str) -> None:
    assert without_balls(text) == shown


# -- sentences


def test_numbers_and_mathematics_of_a_sentence_are_typeset() -> None:
    text = typeset("T_inf of data/a.npz[keys] is <= 1.5e-10, |x|_2 > sqrt(1/32) & <u, v> -> 0")
    assert "<code>data/a.npz[keys]</code>" in text
    assert "<mn>1.5</mn>" in text
    assert "<msqrt>" in text
    assert "&amp;" in text
    assert "\\" not in text


@pytest.mark.parametrize("latex", [r"\unknowncommand", r"\frac{1}", "{", r"a & b", ""])
def test_what_cannot_be_converted_gives_nothing_or_no_raw_latex(latex: str) -> None:
    assert "\\" not in mathml(latex)


@pytest.mark.parametrize("text", [HOSTILE, r"$\href{javascript:alert(1)}{x}$", "<math><script>x_1</script></math>"])
def test_a_strangers_sentence_becomes_no_element(text: str) -> None:
    made = typeset(text)
    assert set(re.findall(r"<(\w+)", made)) <= {"math", "mrow", "mi", "mn", "mo", "msub", "code"}
    assert "href=" not in made


# -- heat maps


def test_single_numbers_are_those_outside_lists() -> None:
    asserts = {"deviation": {"norm": "l2", "at_most": "1/2", "per_query": {"at_most": ["1", "2"]}}, "n": "1e5"}
    assert single_numbers(asserts) == {"deviation.at_most": "1/2", "n": "1e5"}


def test_a_map_has_a_row_for_each_layer_and_only_verified_numbers(entry: Make) -> None:
    entries = [
        entry("layer0-head1/x.yaml", figures={"a.at_most": "1/3"}),
        entry("layer00-head02/x.yaml", figures={"a.at_most": "4"}),
        entry("layer3_head1.yaml", Verdict.REFUTED, figures={"a.at_most": "0.001"}),
        entry("elsewhere.yaml", figures={"a.at_most": "7"}),
        entry("said.yaml", provenance={"note": "layer 3, head 2"}),
    ]
    (found,) = heat_maps(entries)
    assert (found.heads, [layer for layer, _ in found.rows]) == ((1, 2), [0, 3])
    cells = dict(found.rows)
    assert [cell and (cell.text, cell.shade) for cell in cells[0]] == [("0.334", 0), ("4", 9)]
    assert [cell and (cell.text, cell.shade) for cell in cells[3]] == [("refuted", None), None]


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("x.at_most", "0.12341", "0.124"),
        ("x.relative_at_most", "1/3", "0.334"),
        ("x.at_most", "-0.12349", "-0.123"),
        ("x.at_least", "0.12349", "0.123"),
        ("norm.exceeds", "0.09221", "0.0923"),
        ("norm.probability", "4.511e-6", "0.00000452"),
        ("law.radius", "1.0001e-9", "1.01e-9"),
        # Of these neither direction is the weaker statement, or it is another one by the claim.
        ("gronwall.radius", "0.01344", "0.01344"),
        ("gap.lower", "0.316858864541769131", "0.316858864541769131"),
        ("gap.upper", "0.423093213397053390", "0.423093213397053390"),
        ("law.value", "0.12349", "0.12349"),
        ("rate", "0.38849", "0.38849"),
        ("length", "1382825", "1382825"),
        ("risk", "-1/36", "-1/36"),
        ("within", "7.4999e-17", "7.4999e-17"),
    ],
)
def test_numbers_are_shown_as_statements_that_hold(path: str, text: str, shown: str) -> None:
    figures = {path: text, "law.value": "0.5"} if path == "law.radius" else {path: text}
    assert Decimal(figure(path, figures)) == Decimal(shown) if "/" not in shown else figure(path, figures) == shown


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ({"at_least": "10.358", "at_most": "10.3581"}, "10.3..10.4"),
        ({"at_least": "0.44", "at_most": "0.44"}, "0.44"),
        ({"at_least": "0.9999"}, ">=0.999"),
        ({"at_most": "0.1234"}, "<=0.124"),
    ],
)
def test_ranges_are_rounded_outwards(bounds: dict[str, str], shown: str) -> None:
    assert between(bounds) == shown


def test_prompts_have_maps_of_their_own(entry: Make) -> None:
    places = [entry(f"prompt{p}/layer0-head{h}/x.yaml", figures={"a": f"{p}{h}"}) for p in (0, 1) for h in (0, 1)]
    assert [found.prompt for found in heat_maps(places)] == [0, 1]
    assert places[3].place == HeadPlace(1, 0, 1)


# -- pictures


def test_points_nearly_on_a_line_are_left_out_and_others_kept() -> None:
    assert simplified("M 0 0 L 1 0.01 L 2 0 L 2 2 z M 5 5 L 6 6") == "M0 0 2 0 2 2z M5 5 6 6"


def test_letters_and_styles_are_shared_between_pictures() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><defs>'
        '<path id="Font-1a" d="M 0 0 Q 1 1 2 2" transform="scale(0.015625)"/></defs>'
        '<use xlink:href="#Font-1a" style="fill: #1f4e79"/><path id="m1" d="M 0 0 L 1 1"/><use xlink:href="#m1"/></svg>'
    )
    parts = SharedParts()
    first, second = parts.embed(svg), parts.embed(svg)
    assert "Q" not in first
    assert parts.letters.count("<path") == 1
    assert "scale(0.015625)" in parts.letters
    assert 'href="#p1-0"' in first
    assert 'href="#p2-0"' in second
    assert list(parts.classes.values()) == ["s0"]
    assert parts.styles.count(".s0{fill:#") == 2


def test_white_is_the_colour_of_cards_where_the_page_is_dark() -> None:
    from certattn.report.page import pictures

    styles = (Path(pictures.__file__).parent / "templates" / "page.css").read_text()
    assert f"--card:{pictures._CARD}" in styles
    parts = SharedParts()
    parts.class_of("fill: #ffffff")
    assert pictures._CARD in parts.styles


# -- Markdown


def test_markdown_says_the_same_and_no_stranger_writes_markup(tmp_path: Path, entry: Make) -> None:
    found = entry(
        "x|y`.yaml", Verdict.REFUTED, statement=HOSTILE, reason="# no\n- heading", provenance={"a|b": "<b>@user</b>"}
    )
    text = as_markdown(Content([found, entry("good.yaml")], tmp_path, "today"))
    assert "<script" not in text
    assert "\\[a\\]\\(javascript" in text
    assert "@user" not in text
    assert "\n# no" not in text
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("&#124;", "").count("|") for line in table} == {7}


# -- reports of an earlier check


@pytest.fixture
def report() -> Report:
    return Report("a.yaml", Verdict.VERIFIED, claim="c", digest="d" * 64)


def test_a_report_fits_by_path_and_digest(tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "reports.json"
    source.write_text(as_json([report]))
    assert fitting(by_file(read_reports(source), source), source, Path("a.yaml"), "d" * 64) == report


@pytest.mark.parametrize(
    ("path", "digest", "times"),
    [("a.yaml", "e" * 64, 1), ("a.yaml", "", 1), ("b.yaml", "d" * 64, 1), ("a.yaml", "d" * 64, 2)],
    ids=["another statement", "no certificate any more", "no report", "two reports"],
)
def test_a_report_that_does_not_fit_verifies_nothing(
    tmp_path: Path, report: Report, path: str, digest: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "reports.json"
    found = fitting(by_file([report] * times, source), source, Path(path), digest)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason.startswith("not checked: ")


def test_verified_without_a_digest_is_believed_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bare = Report("a.yaml", Verdict.VERIFIED)
    source = tmp_path / "r.json"
    assert fitting(by_file([bare], source), source, Path("a.yaml"), "").verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "perfect"},
        {"bits": "64"},
        {"obligations": [{"name": "a"}]},
        {"findings": [1]},
        {"place": ["a"]},
        {"counts": {"proved": "all"}},
        {"digest": None},
    ],
)
def test_what_is_no_report_is_said_so(tmp_path: Path, report: Report, change: dict[str, Any]) -> None:
    source = tmp_path / "reports.json"
    source.write_text(json.dumps({"reports": [{**report.to_dict(), **change}]}))
    with pytest.raises(UsageError, match="certattn check --format json"):
        read_reports(source)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"reports": 1}', '{"reports": [{}]}', "[" * 100_000])
def test_what_is_no_output_of_check_is_said_so(tmp_path: Path, text: str) -> None:
    source = tmp_path / "reports.json"
    source.write_text(text)
    with pytest.raises(UsageError, match="certattn check --format json"):
        read_reports(source)


# -- audits


def test_what_an_audit_could_not_state_is_listed(tmp_path: Path) -> None:
    heads = [{"folder": "layer0-head0", "statements": [{"name": "length", "missing": "no length below 10"}]}]
    (tmp_path / "audit.json").write_text(json.dumps({"heads": heads}))
    assert missing_of([tmp_path, tmp_path / "nowhere"]) == ["layer0-head0: length: no length below 10"]
    heads = [{"folder": "layer0-head0", "cut": "a query sees the last 5 tokens", "statements": []}]
    (tmp_path / "audit.json").write_text(json.dumps({"heads": heads}))
    assert missing_of([tmp_path]) == ["layer0-head0: a query sees the last 5 tokens"]


def test_what_is_no_part_of_the_audit_is_listed(tmp_path: Path) -> None:
    heads = [{"folder": "layer0-head0", "statements": [{"certificates": ["deviation.yaml"]}]}]
    (tmp_path / "audit.json").write_text(json.dumps({"heads": heads}))
    own, left, added = (
        tmp_path / name for name in ("layer0-head0/deviation.yaml", "layer5-head1/a.yaml", "layer0-head0/b.yaml")
    )
    assert others_of([tmp_path], [own]) == []
    assert others_of([tmp_path], [own, left]) == [str(tmp_path / "layer5-head1")]
    assert others_of([tmp_path], [added]) == [str(tmp_path / "layer0-head0")]
    assert others_of([tmp_path / "nowhere"], [left]) == []


@pytest.mark.parametrize("text", ["[]", "{", '{"heads": [1]}', '{"heads": [{"statements": [{"missing": "a"}]}]}'])
def test_a_summary_that_is_none_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "audit.json").write_text(text)
    assert missing_of([tmp_path]) == []
