"""What is exported, what is refused, and that nothing of a certificate but its numbers reaches Coq."""

from __future__ import annotations

import errno
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flint import arb, fmpq

import certattn
from certattn.coq.export import EXPORTERS, export, instance_of, library_text, modules_for
from certattn.coq.instance import NotExportableError
from certattn.coq.softmax_terms import Bits, Size
from certattn.coq.spectra import bits_for_pivots
from certattn.coq.terms import IndexLists, Indices, Marks, Pairs, Row
from certattn.kernel.errors import LimitExceededError, UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

from .conftest import GALLERY, PROPORTIONAL, SMALL, TOKENS, Read, deviation, mean

LIBRARY = sorted((Path(certattn.__file__).parent / "coq" / "library").glob("*.v"))


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", SMALL)
def test_two_exports_are_the_same(name: str, read: Read, tmp_path: Path) -> None:
    certificate = read(SMALL[name])
    for folder in ("one", "two"):
        export(certificate, tmp_path / folder)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_folder_holds_the_certificate_and_says_what_it_states(read: Read, tmp_path: Path) -> None:
    certificate = read(SMALL["mean"])
    export(certificate, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["digest"] == certificate.digest == certattn.load(tmp_path / "out" / manifest["certificate"]).digest
    assert manifest["theorem"] == "the whole statement"
    assert set(manifest["files"]) | {"manifest.json"} == set(content(tmp_path / "out"))


def test_array_files_come_along(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "cert").mkdir(parents=True)
    rng = np.random.default_rng(1)
    keys, values, queries = (rng.normal(size=(n, 2)).astype("float32") for n in (5, 5, 2))
    certattn.generate("softmax-mean", source / "cert" / "a.yaml", keys=keys, values=values, queries=queries)
    export(certattn.load(source / "cert" / "a.yaml", root=source), tmp_path / "out", root=source)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["certificate"] == "certificate/cert/a.yaml"
    again = certattn.load(tmp_path / "out" / manifest["certificate"], root=tmp_path / "out" / "certificate")
    assert instance_of(again).text() == (tmp_path / "out" / "Instance.v").read_text()


REFUSED = {
    "attention/output-deviation/gaussian-prompt-ball": "over a region",
    "attention/softmax-mean/four-tokens-spread": "an entropy and a sum of the largest weights have no form",
    "prompts/infinite-prompt-operator/gaussian-d1": "only `values` of a law of atoms",
    "spectrum/universality-bound/queries-3": "eigenvalue",
    "spectrum/singular-values/plane": "the claim singular-values has no form in Coq here",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_in_coq_is_refused_as_a_whole(name: str, tmp_path: Path) -> None:
    certificate = certattn.load(GALLERY / f"{name}.yaml")
    with pytest.raises(NotExportableError, match=REFUSED[name]):
        export(certificate, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_laws_of_infinitely_many_tokens_are_refused(read: Read) -> None:
    box = "{kind: law, law: {kind: box, sizes: [1, 1]}}"
    with pytest.raises(NotExportableError, match="infinitely many tokens"):
        instance_of(read(deviation(TOKENS, box)))


def test_masks_and_relative_bounds_are_in_the_theorem(read: Read) -> None:
    instance = instance_of(read(SMALL["relative"]))
    assert "sighted (Z.to_nat 0x3) first stop" in instance.statement
    assert [c.indices for c in instance.constants if isinstance(c, Indices)] == [[0, 0], (2, 3)]
    assert instance.statement.count("(at_queries (") == 2
    assert "at_most_times_each relative_den relative" in instance.statement
    assert "at_most_times_each each_relative_den each_relative" in instance.statement


def test_a_relative_bound_that_is_not_kept_leaves_no_slack(read: Read) -> None:
    certificate = read(SMALL["relative"].replace("relative_at_most: 9", "relative_at_most: 1/1000"))
    assert certattn.check(certificate).verdict.value == "refuted"
    with pytest.raises(NotExportableError, match="a bound is not kept"):
        instance_of(certificate)


def test_a_direction_near_a_solution_is_refused() -> None:
    near = [p for p in (GALLERY / "selection" / "max-margin").glob("*.yaml") if "direction:" in p.read_text()]
    assert near
    for path in near:
        with pytest.raises(NotExportableError, match="a direction near the solution"):
            instance_of(certattn.load(path))


@pytest.mark.parametrize("ends", ["at_least: [0.194, 0.102]", "at_most: [1.149, 1.411]"])
def test_a_false_bound_of_eigenvalues_leaves_no_slack(ends: str, read: Read) -> None:
    certificate = read(re.sub(r"eigenvalues: .*", f"eigenvalues: {{of: keys, {ends}}}", SMALL["eigenvalues"]))
    assert certattn.check(certificate).verdict.value == "refuted"
    with pytest.raises(NotExportableError, match="a bound is not kept"):
        instance_of(certificate)


def test_the_precision_is_one_with_which_elimination_goes_through(read: Read) -> None:
    problem = certattn.CLAIMS["softmax-mean"].read(read(PROPORTIONAL))
    size = Size(5, 5, 1, fmpq(81), arb(1))
    found = bits_for_pivots(problem, size, Bits(20, 27)).exponentials
    assert found > 20
    assert bits_for_pivots(problem, size, Bits(found, found + 7)).exponentials == found
    with pytest.raises(NotExportableError, match="a little wider"):
        bits_for_pivots(problem, replace(size, value=fmpq(2) ** 2000), Bits(20, 27))


def test_an_eigenvalue_that_is_0_is_no_bound_for_intervals(read: Read) -> None:
    one = mean("keys: [[0], [1]]\n  values: [[1], [1]]\n  queries: [[1]]", "eigenvalues: {at_least: 0}", "1")
    assert certattn.check(read(one)).verdict.value == "verified"
    with pytest.raises(NotExportableError, match="a little wider"):
        instance_of(read(one))


def test_a_bound_without_slack_is_refused(read: Read) -> None:
    exact = mean("keys: [[0], [0]]\n  values: [[1], [3]]\n  queries: [[1]]", "mean: {value: [[1]], radius: 1}", "1")
    assert certattn.check(read(exact)).verdict.value == "verified"
    with pytest.raises(NotExportableError, match="a little wider"):
        instance_of(read(exact))


def test_what_would_take_too_long_is_refused(read: Read, tmp_path: Path) -> None:
    with pytest.raises(LimitExceededError, match="Coq would take about"):
        export(read(SMALL["mean"]), tmp_path / "out", most_seconds=1)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_written_into(read: Read, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        export(read(SMALL["mean"]), tmp_path / "out")
    with pytest.raises(UsageError, match="no folder to write into"):
        export(read(SMALL["mean"]), tmp_path / "no" / "out")


# Half a minute of a processor, for a table.
@pytest.mark.heavy
def test_the_page_counts_what_of_the_gallery_has_a_form_in_coq() -> None:
    counts: dict[str, list[int]] = {}
    for path in sorted(GALLERY.glob("*/*/*.yaml")):
        claim = path.parent.name
        row = counts.setdefault(claim if claim in EXPORTERS else "others", [0, 0, 0, 0])
        row[0] += 1
        with suppress(NotExportableError):
            instance = instance_of(certattn.load(path)) if claim in EXPORTERS else None
            if instance is not None:
                row[1 if instance.says is None else 2] += 1
                row[3] += instance.cost.seconds > 600
    page = (GALLERY.parent / "docs" / "coq.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:`([\w-]+)`|all (others)) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert {claim or others: list(map(int, numbers)) for claim, others, *numbers in rows} == counts


HOSTILE = '(* *) Axiom false : False. "*) Qed.'


def test_no_text_of_a_certificate_reaches_coq(tmp_path: Path) -> None:
    """Names of files and arrays, and the provenance, are chosen by strangers."""
    rng = np.random.default_rng(1)
    names = {"keys": HOSTILE, "values": "x. Admitted.", "queries": "q"}
    np.savez(tmp_path / f"{HOSTILE}.npz", **{names[k]: rng.normal(size=(2, 2)) for k in names})
    certattn.generate(
        "softmax-mean", tmp_path / f"{HOSTILE}.yaml", source=tmp_path / f"{HOSTILE}.npz", names=names, note=HOSTILE
    )
    certificate = certattn.load(tmp_path / f"{HOSTILE}.yaml")
    export(certificate, tmp_path / "out")
    text = (tmp_path / "out" / "Instance.v").read_text()
    assert set(re.findall(r"\w+", HOSTILE + "Admitted")) & set(re.findall(r"\w+", text)) <= {"Qed"}
    assert "(*" not in text
    assert '"' not in text


def test_numbers_are_written_in_a_way_that_leaves_no_choice(read: Read) -> None:
    text = instance_of(read(SMALL["mean"])).text()
    (tables,) = [re.findall(r":= \[([^\]]*)\]", text)]
    assert tables
    for table in tables:
        assert re.fullmatch(r"\[?(-?0x[0-9a-f]+|Z(pos|neg) \(?|b[0-9a-f]{2} \(?|c[0-9a-f]{2}|[;\[\]()\s])*", table)


def test_fingerprints_tell_constants_apart() -> None:
    def of(entries: list[int]) -> Row:
        return Row("a", ExactMatrix.rational([[fmpq(entry) for entry in entries]]))

    constants = [
        of([1, 2]), of([2, 1]), of([1]), of([1, 2, 0]), of([-1, 2]), of([2**70]), of([-(2**70)]),
        of([2**70 + 2**61 - 1]),
        Marks("a", [True, False]), Marks("a", [True]),
        IndexLists("a", [[3, 4], [5]]), IndexLists("a", [[3], [4, 5]]), IndexLists("a", [[3, 4, 5], []]),
        Pairs("a", [None, (0, 0)]), Pairs("a", [(0, 0), None]), Pairs("a", [(0, 0)]),
    ]  # fmt: skip
    found = [constant.fingerprint(987654321987654321, 0) for constant in constants]
    assert len(set(found)) == len(found)


# -- the library


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_library_assumes_nothing(path: Path) -> None:
    text = re.sub(r"\(\*.*?\*\)", "", path.read_text(encoding="ascii"), flags=re.DOTALL)
    words = {"Admitted", "admit", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "Unset", "give_up"}
    assert not words & set(re.findall(r"\w+", text))
    assert "Declare ML" not in text
    assert "bypass" not in text


def test_statements_are_definitions_only() -> None:
    for module in ("Statements", "Formulas", "Digits"):
        text = re.sub(r"\(\*.*?\*\)", "", library_text(module), flags=re.DOTALL)
        kinds = set(re.findall(r"^([A-Z]\w+)", text, re.MULTILINE))
        assert kinds <= {"From", "Import", "Open", "Definition", "Fixpoint", "Inductive"}


def test_every_module_of_the_library_is_used() -> None:
    used = set()
    claims = (
        "attention/softmax-mean/gaussian-prompt-slope",
        "selection/token-optimality/two-inputs",
        "spectrum/normalizer-bound/cool-1000",
    )
    for name in claims:
        for fast in (False, True):
            used |= set(modules_for(instance_of(certattn.load(GALLERY / f"{name}.yaml"), fast=fast)))
    assert used == {path.stem for path in LIBRARY}


def test_what_a_drawn_matrix_is_like_has_no_form_there() -> None:
    drawn = certattn.load(GALLERY / "spectrum/normalizer-bound/drawn-1000.yaml")
    with pytest.raises(NotExportableError, match="what a drawn matrix is like"):
        instance_of(drawn, fast=False)


def test_exporters_are_claims() -> None:
    assert set(EXPORTERS) <= set(certattn.CLAIMS)


def test_a_folder_that_cannot_be_written_is_named_as_the_user_did(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(**options: object) -> str:
        raise OSError(errno.EROFS, "Read-only file system", "/tmp/.certattn-1y5kob8e")

    monkeypatch.setattr("certattn.coq.export.tempfile.mkdtemp", refuses)
    with pytest.raises(OSError, match="Read-only") as raised:
        export(read(SMALL["mean"]), tmp_path / "out")
    assert raised.value.filename == str(tmp_path / "out")
