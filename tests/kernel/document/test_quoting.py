"""Text from files in messages: what looks the same is the same, and what is long is cut."""

from __future__ import annotations

import pytest

from certattn.kernel.document.quoting import counted, listed, name, quote, word

PLAIN = ("queries", "data/layer0-head6.npz", "l0.k", "a_b")
# A Cyrillic e, full-width letters, a letter with and without a combining accent, a Greek question mark.
ALIKE = {
    "qu\u0435ries": "'qu\\u0435ries'",
    "\uff4b\uff45\uff59\uff53": "'\\uff4b\\uff45\\uff59\\uff53'",
    "caf\xe9": "'caf\\xe9'",
    "cafe\u0301": "'cafe\\u0301'",
    "a\u037eb": "'a\\u037eb'",
}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_names_stand_as_they_are(text: str) -> None:
    assert name(text) == text
    assert quote(text) == f"'{text}'"


@pytest.mark.parametrize("text", ALIKE)
def test_letters_that_look_alike_are_told_apart(text: str) -> None:
    assert name(text) == word(text) == quote(text) == listed([text]) == ALIKE[text]


@pytest.mark.parametrize("text", ["a b", "", "a\nb", "x" * 61, "it's"])
def test_names_that_a_sentence_would_not_show_are_quoted(text: str) -> None:
    assert name(text) == word(text) == quote(text)
    assert len(quote(text)) < 70


def test_few_names_are_listed() -> None:
    assert listed([]) == "(none)"
    assert listed(["a", "b c"]) == "a, 'b c'"
    assert listed([f"k{i}" for i in range(11)]).endswith("k9, ...")


def test_one_thing_and_several() -> None:
    assert [counted(number, "token") for number in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]
