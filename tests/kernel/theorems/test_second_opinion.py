"""What the cases expect is true, by a second opinion that shares no code with the kernel (tools/truth)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from corpus import ACCEPT, INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Case, Family, every_family

from certattn.kernel.document.certificate import loads

# Where it may not tell the truth of what is accepted: it simulates, or looks at some of many queries.
UNSURE = {"output-deviation", "output-mean-square", "output-tail"}
# Where something is rejected for more than the witness not showing it.
PICKY = {"binary64-exponential", "infinite-prompt-operator", "output-deviation", "output-tail"}
CLAIMS = {
    *UNSURE, *PICKY, "attention-error", "cache-error", "held-out-risk", "max-margin", "observed-prompt",
    "proposition-3-1", "proposition-3-4", "risk-gap", "selection-on-a-head", "softmax-mean", "theorem-4-3",
    "typical-prompt",
}  # fmt: skip
# Claims whose edges integrals and tables of doubles do not tell apart.
EDGES = {
    "no tilt: equal weights", "scores of a huge variance", "given parameters", "averaged over queries, exactly",
    "averaged over queries, for every length from one on",
}  # fmt: skip
FAMILIES = [each for each in every_family() if each.claim in CLAIMS]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.claim}: {family.title}")
def test_what_the_corpus_expects_is_true(family: Family, arrays: Path, truth: ModuleType) -> None:
    wrong = [f"{case.name}: {fault}" for case in family.cases() for fault in faults(case, family, arrays, truth)]
    assert not wrong, "\n".join(["", *wrong])


def faults(case: Case, family: Family, folder: Path, truth: ModuleType) -> Iterator[str]:
    """What the second opinion says to the contrary of what is expected of a case."""
    # Malformed texts state nothing.
    if case.verdict is MALFORMED:
        return
    try:
        judgement = truth.judge(loads(case.text, folder / "case.yaml").plain, folder)
    except truth.NotAStatement as error:
        # A false condition of a proof is no certificate there, nor is a bound of what is not defined.
        if case.verdict not in (REJECTED, INCONCLUSIVE):
            yield f"no statement: {error}"
        return
    known = (truth.Truth.TRUE, truth.Truth.EQUAL)
    # Of a region it looks at some queries, and for a witness not at all.
    searched = "\n  region:" in case.text
    if case.verdict is ACCEPT:
        unsure = searched or family.claim in UNSURE
        if judgement.truth is truth.Truth.FALSE or (not unsure and judgement.truth not in known):
            yield f"accepted, and {judgement.truth}"
        if not judgement.provable:
            yield "accepted, and the witness does not show it"
    if case.verdict is REFUTED and judgement.truth is not truth.Truth.FALSE and family.title not in EDGES:
        yield f"refuted, and {judgement.truth}"
    picky = searched or family.claim in PICKY or family.title in EDGES
    if case.verdict is REJECTED and judgement.provable and not picky:
        yield "rejected, and the witness shows it"
