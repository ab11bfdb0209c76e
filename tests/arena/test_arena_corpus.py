"""The corpus of the arena: complete, reject cases in plenty, and each of them one change from what is accepted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from certattn.kernel.decide.checker import CLAIMS

# A change may touch so many scalars, keys or items, or whatever it likes of one field: another matrix is one change.
MOST_PLACES = 4
# What is one change although it touches more, and why.
ONE_CHANGE = {
    "softmax-mean: everything about keys and values: keys and values exchanged": "two names are exchanged",
    "output-deviation: keys and values against their own moments: keys and values exchanged": "two names are exchanged",
    "infinite-prompt-operator: Gaussian tokens with K, Q and V: K and Q exchanged": "two names are exchanged",
    "attention-error: a head that is written out: keys and values exchanged": "two names are exchanged",
    "attention-error: a head that is written out: a log-sum-exp in no file that nothing is said of":
        "what nothing is said of is one thing, and what is said of the rest another",
    "cache-error: a cache that is written out: the evicted weight of a cache whose keys are not read":
        "likewise",
    "attention-error: two batches of grouped heads in array files: queries and keys exchanged":
        "two names are exchanged",
    "singular-values: three tokens: queries for keys": "two names are exchanged",
    "linearization: three tokens: queries for keys": "two names are exchanged",
    "softmax-mean: everything about keys and values: every token twice, which log Z sees":
        "a token is a key and a value",
    "attention-error: a head that is written out: every token twice, which log Z sees":
        "a token is a key and a value",
    "output-deviation: a deviation that is exactly 5: a rational that is no binary fraction, met exactly":
        "values in thirds, with the bound just below their deviation",
    "output-deviation: a deviation of 5 everywhere: five, which a third shows to be no ball":
        "values in thirds, with the bound just below their deviation",
    "joint-max-margin: tokens in one matrix, with W: inputs of one token each":
        "labels, lengths and indices are lists over the inputs: more inputs make all of them longer",
    "proposition-3-1: the published display at one token: signs under scores that vary":
        "a law of signs, with the K that makes its scores vary",
    "output-tail: every length from one on, by a rule that falls: ranges for one length":
        "one length, and the rule by length that is for several",
    "proposition-3-4: the published gradient in U at one token: several signs":
        "another setting of the display, for which its constants are stated anew",
    "training-convergence: a start outside the theorem: delta < 0, but a rate beyond":
        "another start, and all that is said of it",
    "descent-trajectory: two prompts in one dimension beside their tasks: swapped prompts":
        "a prompt is its tokens, its labels and its length",
}  # fmt: skip


def title(entry: Any) -> str:
    return f"{entry.claim}: {entry.case}"


def rejects(corpus: Any) -> list[Any]:
    return [entry for entry in corpus.entries if not entry.accepted]


def test_there_are_no_cases_of_other_claims(corpus: Any) -> None:
    assert {entry.claim for entry in corpus.entries} == set(CLAIMS)


def test_titles_say_what_is_wrong(corpus: Any) -> None:
    for entry in rejects(corpus):
        defect = entry.case.removeprefix(entry.family).removeprefix(": ")
        assert any(letter.isalpha() for letter in defect), entry.case


def test_every_reject_case_has_words_that_its_reason_must_have(corpus: Any) -> None:
    assert [title(entry) for entry in rejects(corpus) if not entry.words] == []


def test_every_reject_case_is_its_accepted_neighbour_with_one_text_replaced(corpus: Any) -> None:
    accepted = {entry.file: entry for entry in corpus.entries if entry.accepted}
    for entry in rejects(corpus):
        neighbour = accepted[entry.neighbour]
        assert (neighbour.claim, neighbour.family, neighbour.case) == (entry.claim, entry.family, entry.family)
        before = corpus.text(entry.neighbour)
        assert before.count(entry.before) == 1
        assert before.replace(entry.before, entry.after) == corpus.text(entry.file) != before


@pytest.mark.heavy
def test_that_change_is_a_small_one(corpus: Any, corpora: ModuleType) -> None:
    large = set()
    for entry in rejects(corpus):
        try:
            changed = corpora.tree(corpus.text(entry.file))
        except yaml.YAMLError:
            continue  # no tree at all: the change is one of the text
        before = corpora.tree(corpus.text(entry.neighbour))
        if corpora.places(before, changed) > MOST_PLACES and len(corpora.fields(before, changed)) > 1:
            large.add(title(entry))
    assert large == set(ONE_CHANGE)


def test_places_are_counted(corpora: ModuleType) -> None:
    base = {"given": {"keys": [["1", "2"], ["3", "4"]], "scale": "1"}}
    for other, count, touched in (
        ({"given": {"keys": [["1", "2"], ["3", "5"]], "scale": "1"}}, 1, {"given.keys"}),
        ({"given": {"keys": [["3", "4"]], "scale": "1"}}, 1, {"given.keys"}),
        ({"given": {"keys": [["2", "1"], ["3", "4"]]}}, 3, {"given.keys", "given.scale"}),
        ({"given": "x"}, 1, {"given"}),
        ({"given": base["given"], "asserts": {}}, 1, {"asserts"}),
        (base, 0, set()),
    ):
        assert corpora.places(base, other) == corpora.places(other, base) == count
        assert corpora.fields(base, other) == touched


def test_the_files_say_what_is_expected_of_them(corpus: Any, corpora: ModuleType) -> None:
    assert corpora.read(corpus.folder) == corpus.entries
    written = {str(path.relative_to(corpus.folder)) for path in corpus.folder.rglob("*.yaml")}
    assert written == {entry.file for entry in corpus.entries}


def test_arrays_lie_beside_the_certificates_that_name_them(corpus: Any) -> None:
    named = [entry for entry in corpus.entries if "file: prompt.npz" in corpus.text(entry.file)]
    assert len(named) > 40
    assert all((corpus.folder / entry.file).with_name("prompt.npz").exists() for entry in named)


def test_a_folder_with_something_in_it_is_left_alone(corpora: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        corpora.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_sample_has_cases_of_every_claim_and_is_the_same_each_time(corpus: Any, corpora: ModuleType) -> None:
    drawn = corpora.sample(corpus.entries, 2, 1)
    assert Counter((e.claim, e.accepted) for e in drawn) == {(c, kind): 2 for c in CLAIMS for kind in (True, False)}
    assert drawn == corpora.sample(corpus.entries, 2, 1) != corpora.sample(corpus.entries, 2, 2)
    assert corpora.sample(corpus.entries, None, 1) == corpus.entries
