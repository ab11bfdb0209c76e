"""Cases of the theorem `cone` of `selection-direction` with a hundred good tokens."""

from __future__ import annotations

from corpus import REJECTED, Family

# A cone in which both factors of theta_- would be negative, and their product positive: without the bound of every
# factor all conditions hold, and descent from there ends on the bad token.
BAD_KEYS = ", ".join(["[0, 1]"] * 100)
HUNDREDTHS = ", ".join(f"{{input: 0, token: {t}, multiplier: 1/100}}" for t in range(1, 101))
MANY_GOOD = Family(
    "selection-direction",
    "many good tokens and a bad one, from afar",
    f"""
given:
  keys: [[[1, 1], {BAD_KEYS}, [-0.5, -2]]]
  scores: [[0, {", ".join(["-1"] * 100)}, 1]]
  loss: linear
  descent: {{rule: gradient, step: 1/1000}}
  start: {{cone: {{opening: 0, norm: 60}}}}
asserts: {{indices: [0]}}
witness:
  multipliers: [{HUNDREDTHS}]
  theorem: {{name: cone, slope: 0.1}}
""",
    {"farther": ("norm: 60", "norm: 100")},
    {
        "from half, where two factors are negative and their product is positive": (
            "norm: 60", "norm: 1/2", REJECTED, "the smallest factor of theta_-"),
    },
)  # fmt: skip

FAMILIES = [MANY_GOOD]
