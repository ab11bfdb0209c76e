"""Tails in words: the conditions of a frame, and what is proved of a probability."""

from __future__ import annotations

from flint import arb

from certattn.statements.wording import Answer, show, show_upper

# By the last part of a name.
CONDITIONS = {
    "frame": "0 where sum u_c u_c' - I is positive semidefinite, 1 where the frame is too small in some direction",
    "levels": "the smallest of the levels >= 0",
}


def probability_words(obligation: Answer) -> list[str]:
    """What is proved of a probability beside what is stated; nothing where the ball is not finite."""
    proved = obligation.left
    if not isinstance(proved, arb) or proved.is_finite() is not True:
        return []
    return [f"probability at most {show_upper(proved)}, stated {show(obligation.right)}"]
