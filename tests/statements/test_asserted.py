"""Messages point to the line of the number that is not proved, or to `asserts`."""

from __future__ import annotations

import pytest

from certattn.kernel.document.reader import parse_tree
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.statements.checking import asserted_at

ASSERTS = """\
deviation:
  norm: l2
  at_most: 3
points:
  - risk: {lower: 1, upper: 2}
    at: 0
  - risk: {lower: 3,
           upper: 4}
matrix:
  at_least: 1
vector:
  at_least: 1
"""


@pytest.mark.parametrize(
    ("name", "path", "line"),
    [
        ("at_most", "deviation.at_most", 3),
        ("at_most[313]", "deviation.at_most", 3),
        ("points[1].risk.upper", "points[1].risk.upper", 8),
        ("points[0].bayes", "points[0]", 5),
        ("points[0].bayes.at", "points[0]", 5),
        ("points[7].risk[0]", "points", 5),
        ("points[2].risk", "points", 5),
        ("points[99999999999999999999]", "points", 5),
        ("points[\u0661]", "points", 5),
        ("matrix.at_least", "matrix.at_least", 10),
        ("at_least", "", 1),
        ("kkt.stationarity", "", 1),
        ("norm", "deviation.norm", 2),
        ("", "", 1),
        ("[]..", "", 1),
    ],
)
def test_names_lead_to_lines(name: str, path: str, line: int) -> None:
    node = asserted_at(parse_tree(ASSERTS, "c.yaml", DEFAULT_LIMITS), name)
    assert (node.path, node.line) == (path, line)
