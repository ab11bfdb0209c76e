"""`certattn trust` of what is neither a certificate nor a claim."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("max-margn", "max-margin"), ("output-devation", "output-deviation"), ("softmaxmean", "softmax-mean")],
)
def test_a_claim_that_is_mistyped_is_named(certattn_run: Any, typed: str, meant: str) -> None:
    done = certattn_run("trust", typed)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(
        f"certattn: '{typed}': no such file, and no claim of that name\n  hint:     did you mean "
    )
    assert meant in done.err


def test_what_is_near_no_claim(certattn_run: Any) -> None:
    assert "`certattn derive` lists the claims" in certattn_run("trust", "nothing-of-the-kind.yaml").err


def test_a_file_that_is_no_certificate_is_no_claim_either(certattn_run: Any, write: Any) -> None:
    done = certattn_run("trust", write("malformed"))
    assert done.status == 2
    assert "malformed.yaml" in done.err
    assert "claim of that name" not in done.err
