"""Three inputs of seven tokens with labels 1, -1, 1, as Ataee Tarzanagh, Li, Zhang and Oymak 2023 draw them.

Entries of tokens and v are standard normal, drawn once, in hundredths. From 0, descent selects the best tokens of the
data in space, and other ones, which are locally optimal, of the data in the plane.
"""

from __future__ import annotations

from typing import Any

_PLANE: tuple[list[list[list[int]]], list[int]] = (
    [
        [[-80, -132], [-25, 42], [114, 11], [-55, -78], [75, 163], [27, -123], [-96, 160]],
        [[20, -173], [-8, -116], [-63, -49], [-71, 55], [-6, -59], [41, 83], [-164, -26]],
        [[-98, -17], [-129, 2], [-4, -30], [-105, -40], [-109, -136], [22, -111], [117, 72]],
    ],
    [-200, 27],
)
_SPACE: tuple[list[list[list[int]]], list[int]] = (
    [
        [
            [105, 178, -255],
            [-14, 101, 135],
            [65, 150, 29],
            [55, 18, -107],
            [-85, 38, -58],
            [127, 129, 180],
            [-3, 138, -91],
        ],
        [[-82, 8, 28], [-160, -173, 36], [-86, 121, 39], [31, 21, 90], [-15, 109, -53], [-22, -68, 60], [4, -86, 200]],
        [
            [-36, -12, 39],
            [175, -15, 70],
            [10, -146, 79],
            [102, -24, -2],
            [-150, -152, -39],
            [63, -47, 29],
            [97, 10, 57],
        ],
    ],
    [145, -125, 74],
)


def _stated(data: tuple[list[list[list[int]]], list[int]]) -> dict[str, Any]:
    tokens, v = data
    return {
        "tokens": [[[_number(entry) for entry in row] for row in rows] for rows in tokens],
        "v": [_number(entry) for entry in v],
        "labels": ["1", "-1", "1"],
    }


def _number(hundredths: int) -> str:
    """As a decimal."""
    size = abs(hundredths)
    return f"{'-' if hundredths < 0 else ''}{size // 100}.{size % 100:02}"


IN_THE_PLANE, IN_SPACE = _stated(_PLANE), _stated(_SPACE)
