"""Accept and reject cases of `descent-trajectory`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Case, Family

NAME = "descent-trajectory"
family = partial(Family, NAME)

# The distances are 0.0193360732290459, 0.0394025354152880 and 0.0602567098121592.
ONE_DIMENSION = family(
    "two prompts in one dimension beside their tasks",
    """
given:
  model: regression
  covariance: [[1]]
  tasks: [[1], [-1/2]]
  start: {A: [[1/2]], b: 1/2}
  step: 1/8
  steps: 3
  tokens: [[1], [-1], [1/2], [2], [-3/2]]
  labels: [[1], [-1], [1/2], [-1], [3/4]]
  lengths: [3, 2]
  queries: [[1], [3/2]]
  targets: [[1], [-3/4]]
asserts:
  distance: {at_most: [0, 0.01934, 0.03941, 0.06026]}
  risk_gap: {at: each, at_most: [0.0507, 0.0437, 0.0344, 0.0235]}
  gradient_gap: {at: infinite, at_most: [0.191]}
  checkpoints:
  - step: 3
    distance: {at_least: 0.0602567, at_most: 0.0602568}
    finite: {A: [[1/2]], b: 1/2, radius: 0.1233}
    infinite: {A: [[1/2]], b: 1/2, radius: 0.1578}
    finite_risk: {at_least: 0.1296, at_most: 0.1297}
    infinite_risk: {at_least: 0.153, at_most: 0.1531}
""",
    {
        "one bound for all steps": ("[0, 0.01934, 0.03941, 0.06026]", "[0.06026]"),
        "both lower bounds to fifteen digits": ("at_least: 0.0602567,", "at_least: 0.060256709812159,"),
        "a bound that is met at the start": ("[0, 0.01934,", "[0.0, 0.01934,"),
        "fewer steps asserted of": (
            "  - step: 3\n", "  - {step: 0, distance: {at_most: 0, at_least: 0}}\n  - step: 3\n"),
        "a number of bits": ("asserts:", "witness: {bits: 2}\nasserts:"),
        "a label as another fraction": ("[-1], [3/4]]", "[-1], [6/8]]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "the last distance one part in a million too thin": (
            "0.03941, 0.06026]", "0.03941, 0.0602566]", REFUTED, "|theta_k^L - theta_k^inf| at k = 3"),
        "an earlier distance too thin": ("0.03941,", "0.0394025,", REFUTED, "at k = 2"),
        "a distance before the first step too thin": ("[0, 0.01934,", "[-1/1000000, 0.01934,", REFUTED, "at k = 0"),
        "one bound, too thin at the end only": ("[0, 0.01934, 0.03941, 0.06026]", "[0.0602567]", REFUTED, "at k = 3"),
        "a lower bound of the distance too large": ("at_least: 0.0602567,", "at_least: 0.06025671,", REFUTED, ">="),
        "an upper bound of the distance too small": ("at_most: 0.0602568}", "at_most: 0.0602567}", REFUTED, "<="),
        "a gap of the risks too small": ("0.0344, 0.0235]", "0.0344, 0.0234]", REFUTED, "|R_L - R_inf|"),
        "gaps of the risks elsewhere": ("at: each", "at: infinite", REFUTED, "both at theta_k^inf"),
        "a gap of the gradients too small": ("[0.191]", "[0.1909]", REFUTED, "|grad R_L - grad R_inf|"),
        "a radius of the finite point too small": ("0.1233", "0.1232", REFUTED, "the distance of theta_k^L"),
        "the finite point in the place of the infinite one": (
            "radius: 0.1578", "radius: 0.1233", REFUTED, "theta_k^inf"),
        "a finite risk too small": ("at_most: 0.1297", "at_most: 0.1296", REFUTED, "R_L(theta_k^L)"),
        "a finite risk too large": ("at_least: 0.1296", "at_least: 0.1297", REFUTED, "R_L(theta_k^L)"),
        "an infinite risk too small": ("at_most: 0.1531", "at_most: 0.153", REFUTED, "R_inf(theta_k^inf)"),
        "an infinite risk too large": ("at_least: 0.153,", "at_least: 0.1531,", REFUTED, "R_inf(theta_k^inf)"),
        "swapped prompts": (
            "tokens: [[1], [-1], [1/2], [2], [-3/2]]\n  labels: [[1], [-1], [1/2], [-1], [3/4]]\n  lengths: [3, 2]",
            "tokens: [[2], [-3/2], [1], [-1], [1/2]]\n  labels: [[-1], [3/4], [1], [-1], [1/2]]\n  lengths: [2, 3]",
            REFUTED, "is false"),
        "a prompt that ends elsewhere": ("lengths: [3, 2]", "lengths: [2, 3]", REFUTED, "is false"),
        "swapped queries": ("queries: [[1], [3/2]]", "queries: [[3/2], [1]]", REFUTED, "is false"),
        "swapped tasks": ("tasks: [[1], [-1/2]]", "tasks: [[-1/2], [1]]", REFUTED, "is false"),
        "all tasks": ("  tasks: [[1], [-1/2]]\n", "", REFUTED, "is false"),
        "another label": ("[-1], [3/4]]\n  lengths", "[-1], [1]]\n  lengths", REFUTED, "is false"),
        "another target": ("targets: [[1], [-3/4]]", "targets: [[1], [-1]]", REFUTED, "is false"),
        "another start": ("start: {A: [[1/2]], b: 1/2}", "start: {A: [[1/2]], b: 3/4}", REFUTED, "is false"),
        "a longer step": ("step: 1/8", "step: 1/7", REFUTED, "is false"),
        "one step more": ("  steps: 3", "  steps: 4", MALFORMED, "one bound, or 5 bounds"),
        "one step fewer": ("  steps: 3", "  steps: 2", MALFORMED, "one bound, or 3 bounds"),
        "no steps": ("  steps: 3", "  steps: 0", MALFORMED, "an integer >= 1"),
        "too many steps": ("  steps: 3", "  steps: 100001", MALFORMED, "at most 100000 steps"),
        "a step of 0": ("step: 1/8", "step: 0", MALFORMED, "a number > 0"),
        "a checkpoint after the end": ("- step: 3", "- step: 4", MALFORMED, "a step up to K = 3"),
        "a checkpoint that states nothing": (
            "  - step: 3\n", "  - {step: 1}\n  - step: 3\n", MALFORMED, "distance or finite"),
        "a range without ends": (
            "    finite_risk: {at_least: 0.1296, at_most: 0.1297}", "    finite_risk: {}", MALFORMED,
            "at_most or at_least"),
        "a point of attention": (
            "    finite: {A: [[1/2]], b: 1/2,", "    finite: {U: [[1/2]], V: [[1/2]],", MALFORMED,
            "a point with A and b"),
        "a point of another shape": (
            "    finite: {A: [[1/2]],", "    finite: {A: [[1/2, 0]],", MALFORMED, "other shapes"),
        "a negative radius": ("radius: 0.1233", "radius: -1", MALFORMED, "a number >= 0"),
        "a gap at another place": ("at: each", "at: both", MALFORMED, "'each' or 'finite' or 'infinite'"),
        "no bound": ("[0.191]", "[]", MALFORMED, "at least one item"),
        "two bounds": ("[0.191]", "[0.191, 0.2]", MALFORMED, "one bound, or 4 bounds"),
        "lengths of fewer tokens": ("lengths: [3, 2]", "lengths: [3, 1]", MALFORMED, "sum to the number of tokens"),
        "three lengths": ("lengths: [3, 2]", "lengths: [3, 1, 1]", MALFORMED, "2 lengths"),
        "a prompt of no tokens": ("lengths: [3, 2]", "lengths: [5, 0]", MALFORMED, "an integer >= 1"),
        "no lengths": ("  lengths: [3, 2]\n", "", MALFORMED, "equally many tokens"),
        "a label too few": ("[-1], [3/4]]\n  lengths", "[-1]]\n  lengths", MALFORMED, "one label per token"),
        "two labels per token": (
            "labels: [[1], [-1], [1/2], [-1], [3/4]]", "labels: [[1, 0], [-1, 0], [1/2, 0], [-1, 0], [3/4, 0]]",
            MALFORMED, "one label per token"),
        "three targets": ("targets: [[1], [-3/4]]", "targets: [[1], [-3/4], [0]]", MALFORMED, "one target per query"),
        "a task too few": ("tasks: [[1], [-1/2]]", "tasks: [[1]]", MALFORMED, "a task per query"),
        "tokens of another dimension": (
            "tokens: [[1], [-1], [1/2], [2], [-3/2]]", "tokens: [[1, 0], [-1, 0], [1/2, 0], [2, 0], [-3/2, 0]]",
            MALFORMED, "like the covariance"),
        "queries of another dimension": (
            "queries: [[1], [3/2]]", "queries: [[1, 0], [3/2, 0]]", MALFORMED, "like the covariance"),
        "a start of another dimension": (
            "start: {A: [[1/2]]", "start: {A: [[1/2, 0]]", MALFORMED, "like the covariance"),
        "a singular covariance": ("covariance: [[1]]", "covariance: [[0]]", MALFORMED, "a singular matrix"),
        "a negative covariance": ("covariance: [[1]]", "covariance: [[-1]]", MALFORMED, "a negative eigenvalue"),
        "no tokens": ("  tokens: [[1], [-1], [1/2], [2], [-3/2]]\n", "", MALFORMED, "no 'tokens'"),
        "no labels": ("  labels: [[1], [-1], [1/2], [-1], [3/4]]\n", "", MALFORMED, "no 'labels'"),
        "no start": ("  start: {A: [[1/2]], b: 1/2}\n", "", MALFORMED, "no 'start'"),
        "laws": (
            "  covariance:", "  laws: [{kind: box, sizes: [1]}]\n  covariance:", MALFORMED, "the unknown key 'laws'"),
        "another model": ("model: regression", "model: classification", MALFORMED, "'regression' or 'attention'"),
        "a label that is no number": (
            "[-1], [3/4]]\n  lengths", "[-1], [nan]]\n  lengths", MALFORMED, "an exact number"),
        "one bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
    },
)  # fmt: skip

# |grad R_L - grad R_inf| is 1.2717 at most along theta^L; the distance after two steps is 0.0253748764835.
TUBE = family(
    "a Gronwall bound in two dimensions, beside all tasks",
    """
given:
  model: regression
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[1/4, 1/8], [0, 1/2]], b: 1/2}
  step: 1/100
  steps: 2
  tokens: [[1, 0], [-1, 1/2], [0, -3/2], [1/2, 1], [-1/2, -1/4], [3/2, 1]]
  labels: [[1], [-1/2], [-3/2], [-1/2], [1/4], [-1/2]]
  queries: [[1, -1/2], [1/2, 3/4]]
  targets: [[1/2], [-1/4]]
asserts:
  gradient_gap: {at: finite, at_most: [1.272]}
  checkpoints:
  - step: 2
    distance: {at_least: 0.02537487648, at_most: 0.02537487649}
  - {step: 1, finite_risk: {at_most: 0.1225}, infinite_risk: {at_least: 0.5589}}
  gronwall: {radius: 0.035, gap: 1.56, rate: 2.1}
""",
    {
        "one step": ("rate: 2.1}", "rate: 2.1, steps: 1}"),
        "the radius that is the bound itself": (
            "radius: 0.035, gap: 1.56, rate: 2.1", "radius: 252561/7812500, gap: 1.6, rate: 2.0488"),
        "a wider tube": ("radius: 0.035, gap: 1.56", "radius: 0.05, gap: 1.6"),
        "lengths that are said": ("  queries:", "  lengths: [3, 3]\n  queries:"),
        "a faster rate": ("rate: 2.1", "rate: 5"),
    },
    {
        "a gap below that at the centre": ("gap: 1.56", "gap: 1.27", REFUTED, "at theta_k^inf"),
        "a gap that the tube is not proved to keep": ("gap: 1.56", "gap: 1.3", REJECTED, "not proved"),
        "a rate that is not proved": ("rate: 2.1", "rate: 1.9", REJECTED, "the rate of expansion"),
        "a radius below the bound": ("radius: 0.035", "radius: 0.03", REFUTED, "<="),
        "a radius that is too large to bound anything over": (
            "radius: 0.035, gap: 1.56, rate: 2.1", "radius: 50, gap: 1000, rate: 2.1", REJECTED,
            "the radius is too large"),
        "a longer step": ("step: 1/100", "step: 1/50", REFUTED, "is false"),
        "more steps than the descents have": ("rate: 2.1}", "rate: 2.1, steps: 3}", MALFORMED, "at most K = 2 steps"),
        "no steps": ("rate: 2.1}", "rate: 2.1, steps: 0}", MALFORMED, "an integer >= 1"),
        "a radius of 0": ("radius: 0.035", "radius: 0", MALFORMED, "a number > 0"),
        "a rate of 0": ("rate: 2.1", "rate: 0", MALFORMED, "a number > 0"),
        "no gap": ("gap: 1.56, ", "", MALFORMED, "no 'gap'"),
        "a distance too small": ("at_most: 0.02537487649", "at_most: 0.02537487648", REFUTED, "k = 2"),
        "the gap of the gradients too small": ("[1.272]", "[1.2716]", REFUTED, "both at theta_k^L"),
        "a covariance that is not symmetric": ("[1/2, 5/4]]", "[1/4, 5/4]]", MALFORMED, "not symmetric"),
        "an indefinite covariance": ("[1/2, 5/4]]", "[1/2, 1/8]]", MALFORMED, "a negative eigenvalue"),
    },
)  # fmt: skip

# The distance after two steps is 0.00690929503552769.
ATTENTION = family(
    "attention to tokens of two laws",
    """
given:
  model: attention
  laws:
  - {kind: rademacher, sizes: [1, 1/2]}
  - kind: mixture
    components:
    - {weight: 1/2, law: {kind: box, sizes: [1, 3/2]}}
    - {weight: 1/4, law: {kind: gaussian, mean: [0, 1/4], covariance: [[1, 0], [0, 1/2]]}}
    - {weight: 1/4, law: {kind: atoms, points: [[1, 0], [0, -1]], weights: [1/2, 1/2]}}
  start: {U: [[1/2], [-1/4]], V: [[1, 1/2]]}
  step: 1/50
  steps: 2
  tokens: [[1, 1/2], [-1, 1/2], [1, -1/2], [1/4, 1], [0, -1], [-3/4, 1/2]]
  queries: [[1], [-3/2]]
  targets: [[1/2], [-1/2]]
asserts:
  distance: {at_most: [0, 0.00348, 0.00691]}
  risk_gap: {at: each, at_most: [0.0281, 0.0286, 0.029]}
  checkpoints:
  - step: 2
    distance: {at_least: 0.006909295, at_most: 0.006909296}
    finite: {U: [[1/2], [-1/4]], V: [[1, 1/2]], radius: 0.00414}
    infinite_risk: {at_most: 0.01925}
  gronwall: {radius: 0.006, gap: 0.23, rate: 2.2, steps: 1}
""",
    {
        "signs that are atoms": (
            "{kind: rademacher, sizes: [1, 1/2]}",
            "{kind: atoms, points: [[1, 1/2], [1, -1/2], [-1, 1/2], [-1, -1/2]]}"),
        "gaps at theta^inf": ("at: each, at_most: [0.0281, 0.0286, 0.029]", "at: infinite, at_most: [0.03]"),
        "a wider tube": ("radius: 0.006, gap: 0.23", "radius: 0.02, gap: 0.31"),
    },
    {
        "a distance too small": ("0.00691]", "0.006909]", REFUTED, "k = 2"),
        "the laws in the other order": (
            "  - {kind: rademacher, sizes: [1, 1/2]}\n  - kind: mixture\n    components:\n"
            "    - {weight: 1/2, law: {kind: box, sizes: [1, 3/2]}}\n"
            "    - {weight: 1/4, law: {kind: gaussian, mean: [0, 1/4], covariance: [[1, 0], [0, 1/2]]}}\n"
            "    - {weight: 1/4, law: {kind: atoms, points: [[1, 0], [0, -1]], weights: [1/2, 1/2]}}\n",
            "  - kind: mixture\n    components:\n"
            "    - {weight: 1/2, law: {kind: box, sizes: [1, 3/2]}}\n"
            "    - {weight: 1/4, law: {kind: gaussian, mean: [0, 1/4], covariance: [[1, 0], [0, 1/2]]}}\n"
            "    - {weight: 1/4, law: {kind: atoms, points: [[1, 0], [0, -1]], weights: [1/2, 1/2]}}\n"
            "  - {kind: rademacher, sizes: [1, 1/2]}\n",
            REFUTED, "is false"),
        "another law": ("sizes: [1, 1/2]}\n", "sizes: [1, 1]}\n", REFUTED, "is false"),
        "a gap that is not proved": ("gap: 0.23", "gap: 0.18", REJECTED, "not proved"),
        "a gap below that at the centre": ("gap: 0.23", "gap: 0.173", REFUTED, "at theta_k^inf"),
        "three laws": (
            "  - {kind: rademacher, sizes: [1, 1/2]}\n", "  - {kind: rademacher, sizes: [1, 1/2]}\n" * 2, MALFORMED,
            "one law, or one for each of 2 prompts"),
        "a law in another dimension": ("sizes: [1, 1/2]}\n", "sizes: [1, 1/2, 1]}\n", MALFORMED, "dimension 3"),
        "weights that do not sum to 1": (
            "{weight: 1/2, law: {kind: box", "{weight: 1/3, law: {kind: box", MALFORMED, "sum"),
        "U of another shape": (
            "U: [[1/2], [-1/4]], V: [[1, 1/2]]}\n  step", "U: [[1/2]], V: [[1, 1/2]]}\n  step", MALFORMED, "U"),
        "V of another shape": ("V: [[1, 1/2]]}\n  step", "V: [[1]]}\n  step", MALFORMED, "V"),
        "queries of another dimension": (
            "queries: [[1], [-3/2]]", "queries: [[1, 0], [-3/2, 0]]", MALFORMED, "U takes"),
        "targets of another dimension": (
            "targets: [[1/2], [-1/2]]", "targets: [[1/2, 0], [-1/2, 0]]", MALFORMED, "as long as V has rows"),
        "tokens of another dimension": (
            "tokens: [[1, 1/2], [-1, 1/2], [1, -1/2], [1/4, 1], [0, -1], [-3/4, 1/2]]",
            "tokens: [[1], [-1], [1], [1/4], [0], [-3/4]]", MALFORMED, "like the law of the tokens"),
        "labels": (
            "  queries:", "  labels: [[1], [1], [1], [1], [1], [1]]\n  queries:", MALFORMED, "unknown key 'labels'"),
        "a point of regression": (
            "    finite: {U: [[1/2], [-1/4]], V: [[1, 1/2]],", "    finite: {A: [[1/2], [-1/4]], b: 1,", MALFORMED,
            "a point with U and V"),
        "tokens that do not share out": ("[0, -1], [-3/4, 1/2]]", "[0, -1]]", MALFORMED, "equally many tokens"),
    },
)  # fmt: skip

NOTHING = family(
    "a bound of the risks alone",
    """
given:
  model: regression
  covariance: [[1]]
  start: {A: [[0]], b: 0}
  step: 1
  steps: 1
  tokens: [[1]]
  labels: [[1]]
  queries: [[1]]
  targets: [[1]]
asserts:
  risk_gap: {at: infinite, at_most: [1/1000000]}
""",
    {"a larger bound": ("[1/1000000]", "[1]")},
    {
        "nothing that is asserted": (
            "\n  risk_gap: {at: infinite, at_most: [1/1000000]}", " {}", MALFORMED, "nothing that is asserted"),
        "an unknown assertion": ("  risk_gap:", "  loss_gap:", MALFORMED, "the unknown key"),
        "both at theta^L, which has moved": ("at: infinite", "at: finite", REFUTED, "k = 1"),
        "a negative bound": ("[1/1000000]", "[-1/1000000]", REFUTED, "|R_L - R_inf|"),
        "tasks of another number": ("  start:", "  tasks: [[1], [1]]\n  start:", MALFORMED, "a task per query"),
    },
)  # fmt: skip

FAMILIES = [ONE_DIMENSION, TUBE, ATTENTION, NOTHING]
CASES: list[Case] = [case for one in FAMILIES for case in one.cases()]
