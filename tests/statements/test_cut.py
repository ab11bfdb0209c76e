"""Long lists in statements: the first pieces, and a digest of all."""

from __future__ import annotations

from certattn.statements.wording import cut


def test_a_short_list_is_said_whole() -> None:
    assert cut(map(str, range(4)), 4) == ["0", "1", "2", "3"]
    assert cut([], 4) == []


def test_of_a_long_list_the_first_are_said_and_how_many_more_there_are() -> None:
    *first, last = cut(map(str, range(7)), 4, "{} more numbers are as stated")
    assert first == ["0", "1", "2", "3"]
    assert last.startswith("3 more numbers are as stated (sha256 ")


def test_lists_that_differ_anywhere_are_said_differently() -> None:
    lists = [["1"] * 5 + ["1"], ["1"] * 5 + ["2"], ["1"] * 7, ["1", "1", "1", "1", "11"], ["1"] * 4 + ["2", "1"]]
    said = [cut(each, 4) for each in lists]
    assert len({tuple(each) for each in said}) == len(lists)
