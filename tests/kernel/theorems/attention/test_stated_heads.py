"""Who sees what, and what is known of heads before their arrays are read."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import MalformedError
from certattn.kernel.theorems.attention.stated_heads import blind_query, sight_of
from certattn.statements.wording import statement_of


@pytest.mark.parametrize("causal", [None, "top-left", "bottom-right", 0, 1, 3])
@pytest.mark.parametrize("window", [None, 1, 2, 4])
def test_which_query_sees_nothing_follows_from_the_sizes(causal: int | str | None, window: int | None) -> None:
    for m, n, more in itertools.product(range(1, 7), range(1, 7), (1, 3)):
        sight = sight_of([more, m], [more, n], causal, window)
        empty = [i for i, (first, last) in enumerate(zip(sight.first, sight.last, strict=True)) if first >= last]
        assert blind_query([more, m], [more, n], causal, window) == (empty[0] if empty else None)


def test_a_stated_size_takes_no_room_before_an_array_has_it(tmp_path: Path) -> None:
    """Not even where only the words are asked for, in a process without limits."""
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    digest = hashlib.sha256((tmp_path / "a.npy").read_bytes()).hexdigest()
    array = f"{{file: a.npy, sha256: {digest}, dtype: float64, shape: [100000000000000000, 2]}}"
    parts = "\n".join(f"  {name}: {array}" for name in ("queries", "keys", "values", "output"))
    text = f"certattn: 1\nclaim: attention-error\ngiven:\n{parts}\n  scale: 1\n  causal: top-left\n"
    path = tmp_path / "c.yaml"
    path.write_text(f"{text}asserts: {{error: {{at_most: 1}}}}\n")
    assert "100000000000000000 x 2" in statement_of(load(path)).words
    with pytest.raises(MalformedError, match="an array of 1600000000000000000 bytes"):
        check(load(path), CheckOptions())
