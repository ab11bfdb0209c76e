"""Texts about codes: every code has one, none is about nothing, and all are fit for a terminal."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from certattn.kernel import errors
from certattn.kernel.decide.checker import CLAIMS, CheckOptions, theorem_of
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import CertattnError, MalformedError, UsageError
from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.codes.lookup import VERDICT, codes, general, look_up, obligations
from certattn.report.codes.obligations import entries, expanded, plain, read, sorts
from certattn.report.report_schema import report_schema
from certattn.report.text import code_to_explain
from certattn.statements.checking import check_file
from certattn.statements.digits import RESULTS
from certattn.statements.reports import Report, exit_status

ROOT = Path(__file__).resolve().parent.parent.parent
KEYS = {"proves", "sort", "do", "page"}
EVERY = [(claim, entry) for claim in CLAIMS for entry in entries(claim).values()]

Names = dict[str, dict[str, Path]]


@pytest.fixture(scope="module")
def corpora(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("arena.files")


@pytest.fixture(scope="module")
def corpus(corpora: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The arena: every accept and reject case of the tests of claims, as files."""
    folder = tmp_path_factory.mktemp("corpus")
    return folder, corpora.write(folder)


@pytest.fixture(scope="module")
def named(corpus: tuple[Path, list[Any]]) -> Names:
    """The obligations of every certificate that can be read: claim, name, a file that has it."""
    found: Names = {}
    for path in (*(ROOT / "certificates").rglob("*.yaml"), *corpus[0].rglob("*.yaml")):
        try:
            certificate = load(path)
            claim = theorem_of(certificate)
            names = [o.name for o in claim.obligations(claim.read(certificate))]
        except MalformedError:
            continue
        found.setdefault(claim.name, {}).update(dict.fromkeys(names, path))
    return found


@pytest.fixture(scope="module")
def some_reports(corpora: ModuleType, corpus: tuple[Path, list[Any]]) -> list[Report]:
    """What the checker says of a few accept and reject cases of every claim."""
    folder, written = corpus
    return [check_file(folder / e.file, CheckOptions(detail=True)) for e in corpora.sample(written, 3, 11)]


def subclasses(kind: type) -> Iterator[type]:
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses(each)


# -- obligations


@pytest.mark.heavy
def test_every_obligation_of_every_certificate_has_a_text(named: Names) -> None:
    assert named.keys() == CLAIMS.keys()
    missing = {
        f"{claim}: {name}": str(path)
        for claim, names in named.items()
        for name, path in names.items()
        if plain(name) not in entries(claim)
    }
    assert missing == {}


@pytest.mark.heavy
def test_no_text_is_about_nothing(named: Names) -> None:
    seen = {entries(claim)[plain(name)].key for claim, names in named.items() for name in names}
    assert {entry.key for _, entry in EVERY} - seen == set()
    assert {entry.sort for _, entry in EVERY} == set(sorts())
    files = {path.stem for path in (ROOT / "certattn/report/codes/obligations").rglob("*.yaml")}
    assert files == set(CLAIMS)


@pytest.mark.heavy
def test_names_have_their_indices_where_the_texts_have_them(named: Names) -> None:
    for claim, names in named.items():
        for name in names:
            pattern = re.sub(r"\\\[\w+\\\]", r"\\[\\d+\\]", re.escape(entries(claim)[plain(name)].name))
            assert re.fullmatch(pattern, name), f"{claim}: {name}"


@pytest.mark.heavy
def test_sorts_know_whose_obligations_theirs_are(some_reports: list[Report]) -> None:
    """A false obligation of the statement refutes, one of the witness rejects: the text must say which.

    What rests on a condition that is false was not asked for, and is nobody's.
    """
    wrong = {
        f"{report.claim}: {obligation['name']} is of the {obligation['part']}"
        for report in some_reports
        for obligation in report.obligations
        if not obligation["left"].startswith("it rests on ")
        and obligation["part"] not in sorts()[entries(report.claim)[plain(obligation["name"])].sort]["parts"]
    }
    assert wrong == set()


@pytest.mark.heavy
def test_what_check_tells_to_explain_can_be_explained(some_reports: list[Report]) -> None:
    told = {code: report for report in some_reports if (code := code_to_explain(report))}
    assert len(told) > len(CLAIMS)
    for code, report in told.items():
        (found,) = look_up(code)
        assert plain(found.code) == code
        outcome = next(o["outcome"] for o in report.obligations if o["name"] == report.obligation)
        assert outcome != "proved"
        assert look_up(f"{report.claim}/{report.obligation}") == [found]


@pytest.mark.parametrize("claim", CLAIMS)
def test_texts_are_whole_and_fit_for_a_terminal(claim: str) -> None:
    for entry in entries(claim).values():
        for text in (entry.proves, entry.do, *(sorts()[entry.sort][key] for key in ("false", "undecided"))):
            assert text.isascii(), entry
            assert text.isprintable(), entry
            assert "{" not in text, entry
        assert not entry.proves.endswith("."), entry
        assert entry.do.endswith("."), entry
        assert (ROOT / entry.page).is_file(), entry


@pytest.mark.parametrize("claim", CLAIMS)
def test_files_have_no_unknown_keys(claim: str) -> None:
    for key, content in read(f"obligations/{CHAPTER_OF[claim]}/{claim}.yaml").items():
        kinds = [set(content) <= KEYS and {"proves", "sort"} <= set(content)]
        kinds += [set(content) == {"include"}, set(content) == {"multipliers"}]
        assert any(kinds), f"{claim}.yaml: {key}"


def test_a_key_stands_for_every_choice() -> None:
    assert expanded("a.{x,y}[i].{u,v}") == ["a.x[i].u", "a.x[i].v", "a.y[i].u", "a.y[i].v"]
    assert expanded("at_most[i]") == ["at_most[i]"]


def test_an_obligation_that_stands_there_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = {"a[i]": {"proves": "p", "sort": "number"}, "a": {"proves": "q", "sort": "number"}}
    original = read
    monkeypatch.setattr(
        "certattn.report.codes.obligations.read", lambda name: twice if "proposition" in name else original(name)
    )
    with pytest.raises(ValueError, match="stands there twice"):
        entries.__wrapped__("proposition-3-1")


# -- everything else


def of(group: str) -> set[str]:
    return {each.code for each in general()[group]}


def test_every_verdict_result_limit_and_error_has_a_text() -> None:
    assert of(VERDICT) == {verdict.value for verdict in Verdict}
    assert of("result of an obligation") == set(RESULTS)
    assert of("limit") == set(report_schema()["$defs"]["report"]["properties"]["limit"]["enum"]) - {""}
    known = {kind.__name__ for kind in subclasses(CertattnError) if kind.__module__ == errors.__name__}
    assert of("error of the Python interface") == known
    assert known == {name for name, kind in vars(errors).items() if inspect.isclass(kind) and name.endswith("Error")}


def test_every_exit_status_has_a_text() -> None:
    table = (ROOT / "docs/cli.md").read_text().partition("## Exit status")[2]
    rows = re.findall(r"^\| ([\d, ]+) \|", table.partition("\n\nWhere")[0], re.MULTILINE)
    assert of("exit status") == {status for row in rows for status in row.split(", ")}
    every = [Report("a.yaml", verdict, limit=limit) for verdict in Verdict for limit in ("", "time")]
    assert {str(exit_status([report])) for report in every} <= of("exit status")


def test_general_texts_are_fit_for_a_terminal() -> None:
    for each in (each for group in general().values() for each in group):
        for text in (each.says, *(text for _, text in each.more)):
            assert text.isascii()
            assert text.isprintable()
        assert (ROOT / each.page).is_file()


# -- looking up


def test_every_code_can_be_looked_up() -> None:
    listed = list(codes())
    assert len(listed) == len(set(listed))
    for code in set(listed) - CLAIMS.keys():
        assert look_up(code)


def test_a_name_without_its_claim_has_all_meanings() -> None:
    found = look_up("norm.at_most")
    assert [each.code for each in found] == ["singular-values/norm.at_most"]
    claims = {"attention-spectrum", "gradient-tail"}
    assert {each.code for each in look_up("probability")} == {f"{claim}/probability" for claim in claims}
    assert len(look_up("at_most[7]")) == 4
    assert [each.group for each in look_up("refuted")] == ["verdict", "result of an obligation"]


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("refutted", "refuted"), ("output-deviation/at_mots", "output-deviation/at_most"), ("at_mots[3]", "at_most"),
        ("output-deviaton", "output-deviation"), ("MalformdError", "MalformedError"),
        ("max-margin/soluton", "max-margin/solution"),
        ("output-deviaton/at_most", "output-deviation/at_most"), ("qqqqqqq", "`certattn explain` lists all"),
        ("", "`certattn explain` lists all"), ("output-deviation/", "output-deviation"), ("/", "lists all"),
    ],
)  # fmt: skip
def test_a_code_that_is_mistyped_suggests_the_nearest(typed: str, nearest: str) -> None:
    with pytest.raises(UsageError) as caught:
        look_up(typed)
    assert nearest in str(caught.value)


def test_what_is_listed_of_a_claim_is_what_a_check_may_name() -> None:
    assert obligations("softmax-mean")[0].code == "softmax-mean/mean[i]"
    assert all(each.code.startswith("typical-prompt/") for each in obligations("typical-prompt"))


def test_the_page_has_every_code(tool: Callable[[str], ModuleType]) -> None:
    page = tool("pages.codes_page").page()
    assert [each.code for group in general().values() for each in group if f"`{each.code}`" not in page] == []
    assert all(f"`{each.name}`" in page for claim in CLAIMS for each in entries(claim).values())
