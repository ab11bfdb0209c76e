"""Accept and reject cases of `equivalent-law`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Family

NAME = "equivalent-law"
family = partial(Family, NAME)

SOFTMAX = family(
    "softmax with a gap",
    """
given: {beta: 1/2, lambda: 1/4}
asserts:
  moments: [{order: 2, value: 0.284025416687741, radius: 1e-15}, {order: 6, value: 0.7906003979, radius: 1e-10}]
  right_edge: {value: 1.78520436178676, radius: 1e-14}
  gap: {kind: open, lower: 0.316858864541769, upper: 0.423093213397053, radius: 1e-15, outer_mass: 1/4}
  threshold: {value: 0.834208381271527, radius: 1e-15}
  stieltjes: [{z: {re: 1, im: 1/2}, value: {re: 0.676471482630, im: -0.515043541133}, radius: 1e-12}]
  density: [{at: 1, value: 0.222372027848943, radius: 1.1e-15}, {at: 0.4, value: 0, radius: 0}]
  cdf: [{at: 0.37, value: 3/4, radius: 0}, {at: 1.5, value: 0.97788, radius: 1e-4}]
  density_bound: {value: 3.01013583867119, radius: 1e-14}
  nonlinear_share: {value: 0.11979708395305, radius: 1e-15}
  share_reached: [{share: 1/2, value: 1.12090642277853, radius: 1e-14}]
""",
    {
        "numbers written in other ways": ("beta: 1/2", "beta: 0x1p-1"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
        "no mass": (", outer_mass: 1/4", ""),
        "beyond the edge": ("at: 1.5, value: 0.97788, radius: 1e-4", "at: 1.8, value: 1, radius: 0"),
        "the density beyond the edge": ("at: 0.4, value: 0", "at: 1.7853, value: 0"),
        "the density at 0": ("at: 0.4, value: 0, radius: 0", "at: 0, value: 3.0101358387, radius: 1e-10"),
        "at 0": ("at: 0.37, value: 3/4", "at: 0, value: 0"),
        "at 1/3 in the gap": ("at: 0.37, value: 3/4", "at: 1/3, value: 3/4"),
    },
    {
        "edge of the quarter circle": ("1.78520436178676", "1.06588", REFUTED, "right edge"),
        "edge too large by a digit": ("1.78520436178676", "1.78520436178678", REFUTED, "right edge"),
        "edge too small by a digit": ("1.78520436178676", "1.78520436178674", REFUTED, "right edge"),
        "lower end of the gap": ("lower: 0.316858864541769", "lower: 0.316858864541771", REFUTED, "lower end"),
        "upper end of the gap": ("upper: 0.423093213397053", "upper: 0.423093213397055", REFUTED, "upper end"),
        "ends of the gap exchanged": (
            "lower: 0.316858864541769, upper: 0.423093213397053", "lower: 0.423093213397053, upper: 0.316858864541769",
            REFUTED, "lower end"),
        "the mass below the gap": ("outer_mass: 1/4", "outer_mass: 3/4", REFUTED, "the mass above the gap is lambda"),
        "no gap": (
            "{kind: open, lower: 0.316858864541769, upper: 0.423093213397053, radius: 1e-15, outer_mass: 1/4}",
            "{kind: none}", REFUTED, "discriminant"),
        "another beta": ("beta: 1/2", "beta: 0.5000000000001", REFUTED, "m_2"),
        "another lambda": ("lambda: 1/4}", "lambda: 0.2500000000001}", REFUTED, "right edge"),
        "lambda of no gap": ("lambda: 1/4}", "lambda: 1}", REFUTED, "(and"),
        "threshold changed": ("0.834208381271527", "0.834208381271529", REFUTED, "beta_c"),
        "the square of the threshold": ("0.834208381271527", "0.695903", REFUTED, "beta_c"),
        "second moment of beta alone": ("0.284025416687741", "0.25", REFUTED, "m_2"),
        "moment of another order": ("order: 6", "order: 4", REFUTED, "m_4"),
        "sixth moment changed": ("0.7906003979", "0.7906003982", REFUTED, "m_6"),
        "G of the other half plane": ("im: -0.515043541133", "im: 0.515043541133", REFUTED, "G(z)"),
        "real part of the other sign": ("re: 0.676471482630", "re: -0.676471482630", REFUTED, "G(z)"),
        "another point": ("z: {re: 1, im: 1/2}", "z: {re: 1.00000000001, im: 1/2}", REFUTED, "G(z)"),
        "half the density": ("0.222372027848943", "0.1111860139", REFUTED, "density"),
        "density in the gap": ("at: 0.4, value: 0,", "at: 0.4, value: 1e-30,", REFUTED, "density"),
        "tail for cdf": ("at: 1.5, value: 0.97788", "at: 1.5, value: 0.02212", REFUTED, "mu([0, x])"),
        "cdf of the other mass": ("at: 0.37, value: 3/4", "at: 0.37, value: 1/4", REFUTED, "mu([0, x])"),
        "cdf off by 10^-30": ("value: 3/4", "value: 0.750000000000000000000000000001", REFUTED, "mu([0, x])"),
        "density bound of the symmetric law": ("3.01013583867119", "1.505067919", REFUTED, "density at 0"),
        "the linear share": ("0.11979708395305", "0.88020291604695", REFUTED, "alpha^2"),
        "another share": ("share: 1/2", "share: 0.4999999999999", REFUTED, "beta"),
        "no radius left": ("0.834208381271527, radius: 1e-15", "0.834208381271527, radius: 0", REFUTED, "beta_c"),
        "beta 0": ("beta: 1/2", "beta: 0", MALFORMED, "a number > 0"),
        "beta negative": ("beta: 1/2", "beta: -1/2", MALFORMED, "a number > 0"),
        "beta huge": ("beta: 1/2", "beta: 1001", MALFORMED, "a number of at most 1000"),
        "lambda 0": ("lambda: 1/4}", "lambda: 0}", MALFORMED, "a number > 0"),
        "lambda negative": ("lambda: 1/4}", "lambda: -1/4}", MALFORMED, "a number > 0"),
        "no lambda": ("{beta: 1/2, lambda: 1/4}", "{beta: 1/2}", MALFORMED, "no 'lambda'"),
        "no law": ("{beta: 1/2, lambda: 1/4}", "{lambda: 1/4}", MALFORMED, "no 'alpha2' and no 'beta2'"),
        "beta and alpha^2": ("{beta: 1/2,", "{beta: 1/2, alpha2: 1,", MALFORMED, "beta or alpha2, not both"),
        "a point of the real line": ("im: 1/2}", "im: 0}", MALFORMED, "a number > 0"),
        "a point of the lower half plane": ("im: 1/2}", "im: -1/2}", MALFORMED, "a number > 0"),
        "a negative point": ("at: 0.37", "at: -0.37", MALFORMED, "a number >= 0"),
        "density at a negative point": ("at: 0.4,", "at: -0.4,", MALFORMED, "a number >= 0"),
        "an odd moment": ("order: 6", "order: 5", MALFORMED, "an even number from 2 to 100"),
        "a moment of order 0": ("order: 6", "order: 0", MALFORMED, "an integer >= 2"),
        "a moment of high order": ("order: 6", "order: 102", MALFORMED, "an even number from 2 to 100"),
        "a negative radius": ("radius: 1e-12}]", "radius: -1e-12}]", MALFORMED, "a number >= 0"),
        "a share of 1": ("share: 1/2", "share: 1", MALFORMED, "a number between 0 and 1"),
        "a share of 0": ("share: 1/2", "share: 0", MALFORMED, "a number > 0"),
        "another kind of gap": ("kind: open", "kind: closed", MALFORMED, "'open' or 'none'"),
        "a gap of no kind": ("{kind: open, ", "{", MALFORMED, "a mapping with kind"),
        "no upper end": (" upper: 0.423093213397053,", "", MALFORMED, "no 'upper'"),
        "no radius": ("0.834208381271527, radius: 1e-15", "0.834208381271527", MALFORMED, "no 'radius'"),
        "a NaN": ("1.78520436178676", "nan", MALFORMED, "an exact number"),
        "an infinity": ("1.78520436178676", "inf", MALFORMED, "an exact number"),
        "an unknown key": ("asserts:", "asserts:\n  left_edge: 0", MALFORMED, "the unknown key 'left_edge'"),
        "a hint": ("asserts:", "witness: {bits: 64}\nasserts:", MALFORMED, "the unknown key 'bits'"),
        "no points": (
            "[{share: 1/2, value: 1.12090642277853, radius: 1e-14}]", "[]", MALFORMED, "a list of at least one item"),
    },
)  # fmt: skip

# b = 16, alpha^2/b = 1/48: m_4 = 2 (7/3)^2 + 4/(1/8).
RATIONAL = family(
    "rational numbers",
    """
given: {alpha2: 1/3, beta2: 2, lambda: 1/8}
asserts:
  moments: [{order: 2, value: 7/3, radius: 0}, {order: 4, value: 386/9, radius: 0}]
  nonlinear_share: {value: 1/7, radius: 0}
  gap: {kind: open, lower: 1.0782262105804, upper: 2.25483194332326, radius: 1e-14}
  cdf: [{at: 2, value: 7/8, radius: 0}, {at: 1, value: 0.8547, radius: 1e-3}]
""",
    {"a radius": ("386/9, radius: 0", "386/9, radius: 1")},
    {
        "m_2 off by 10^-30": ("value: 7/3", "value: 2.333333333333333333333333333333", REFUTED, "m_2"),
        "m_4 of the quarter circle": ("value: 386/9", "value: 98/9", REFUTED, "m_4"),
        "m_4 off by 10^-30": ("386/9", "42.888888888888888888888888888889", REFUTED, "m_4"),
        "another alpha^2": ("alpha2: 1/3", "alpha2: 1/4", REFUTED, "m_2"),
        "beta^2 for beta": ("beta2: 2", "beta2: 4", REFUTED, "m_2"),
        "another lambda": ("lambda: 1/8}", "lambda: 1/7}", REFUTED, "m_4"),
        "another share": ("value: 1/7", "value: 0.142857142857142857142857142857", REFUTED, "alpha^2"),
        "alpha^2 = 0": ("alpha2: 1/3", "alpha2: 0", MALFORMED, "a number > 0"),
        "alpha^2 negative": ("alpha2: 1/3", "alpha2: -1/3", MALFORMED, "a number > 0"),
        "beta^2 = 0": ("beta2: 2", "beta2: 0", MALFORMED, "a number > 0"),
        "no beta^2": ("beta2: 2, ", "", MALFORMED, "no 'beta2'"),
        "cdf in the inner part": ("value: 0.8547", "value: 0.875", REFUTED, "mu([0, x])"),
    },
)  # fmt: skip

ONE = family(
    "lambda = 1",
    """
given: {beta: 1, lambda: 1}
asserts:
  right_edge: {value: 3.00159000371058532, radius: 1e-17}
  gap: {kind: none}
  cdf: [{at: 1, value: 0.5213, radius: 1e-3}]
""",
    {
        "lambda = 2": (
            "lambda: 1}\nasserts:\n  right_edge: {value: 3.00159000371058532, radius: 1e-17}\n  gap: {kind: none}\n"
            "  cdf: [{at: 1, value: 0.5213, radius: 1e-3}]",
            "lambda: 2}\nasserts: {gap: {kind: none}}"),
    },
    {
        "a gap where none can be": (
            "{kind: none}", "{kind: open, lower: 0.1, upper: 0.2, radius: 1}", REFUTED, "lambda < 1"),
        "a threshold where none can be": (
            "{kind: none}", "{kind: none}\n  threshold: {value: 0, radius: 1}", REFUTED, "lambda < 1"),
        "the edge of the quarter circle": ("3.00159000371058532", "2.62166", REFUTED, "right edge"),
        "nothing asserted": (
            "\n  right_edge: {value: 3.00159000371058532, radius: 1e-17}\n  gap: {kind: none}\n"
            "  cdf: [{at: 1, value: 0.5213, radius: 1e-3}]",
            " {}", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip

# v = 2: lambda = 1/20 and rho_c = 7, so that the gap just closes.
CLOSING = family(
    "a gap that just closes",
    """
given: {alpha2: 7, beta2: 1, lambda: 1/20}
asserts: {gap: {kind: none}}
""",
    {
        "closed": ("alpha2: 7", "alpha2: 7.000000000000000000000000000001"),
        "a narrow gap": (
            "alpha2: 7, beta2: 1, lambda: 1/20}\nasserts: {gap: {kind: none}}",
            "alpha2: 6.99, beta2: 1, lambda: 1/20}\n"
            "asserts: {gap: {kind: open, lower: 5.0564, upper: 5.0565, radius: 1/10}}"),
    },
    {
        "still open": ("alpha2: 7", "alpha2: 6.999999999999999999999999999999", REFUTED, "discriminant"),
        "a gap of no width": (
            "{kind: none}", "{kind: open, lower: 5.0564, upper: 5.0565, radius: 1}", REFUTED, "discriminant"),
        "a cdf of no radius": ("{gap: {kind: none}}", "{cdf: [{at: 1, value: 1/5, radius: 0}]}", REFUTED, "mu([0, x])"),
    },
)  # fmt: skip

EXTREME = family(
    "extreme numbers",
    """
given: {beta: 1e-9, lambda: 1/3}
asserts:
  gap: {kind: open, lower: 1.15470053837925e-18, upper: 5e-10, radius: 1e-19}
  nonlinear_share: {value: 5e-19, radius: 1e-36}
""",
    {},
    {
        "share of another beta": ("beta: 1e-9", "beta: 1e-8", REFUTED, "gap"),
        "an edge without any radius": (
            "nonlinear_share: {value: 5e-19, radius: 1e-36}", "right_edge: {value: 1.1547e-9, radius: 0}", REFUTED,
            "right edge"),
        "cdf that is not rational": (
            "nonlinear_share: {value: 5e-19, radius: 1e-36}", "cdf: [{at: 1e-10, value: 2/3, radius: 0}]", INCONCLUSIVE,
            "undecided"),
    },
)  # fmt: skip

FAMILIES = [SOFTMAX, RATIONAL, ONE, CLOSING, EXTREME]
CASES = [case for one in FAMILIES for case in one.cases()]
