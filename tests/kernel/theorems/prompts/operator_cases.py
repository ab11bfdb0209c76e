"""Laws whose operator is not that of the Gaussian of their moments: reject cases of `infinite-prompt-operator`."""

from __future__ import annotations

from corpus import REFUTED, Change, Family

# By variance: laws of that variance (and mean 0), for which the Gaussian's map is wrong, each shown at z = 1.
LINEAR_CLAIMS = {
    "1": {
        "signs": "{kind: rademacher, sizes: [1]}",
        "atoms": "{kind: atoms, points: [[-1], [1]]}",
        "a mixture of a Gaussian and a point": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[2]]}},"
            " {weight: 1/2, law: {kind: atoms, points: [[0]]}}]}"
        ),
    },
    "0.000001": {"small signs": "{kind: rademacher, sizes: [1/1000]}"},
    "1/3": {"a box": "{kind: box, sizes: [1]}"},
    "2": {
        "a mixture of Gaussians of two means": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [-1], covariance: [[1]]}},"
            " {weight: 1/2, law: {kind: gaussian, mean: [1], covariance: [[1]]}}]}"
        ),
    },
    "3/2": {
        "a mixture of Gaussians of two variances": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[1]]}},"
            " {weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[2]]}}]}"
        ),
    },
}


def _linear(variance: str, laws: dict[str, str]) -> Family:
    """The Gaussian of a law's own moments gives the map; the law itself does not."""
    gaussian = f"{{kind: gaussian, mean: [0], covariance: [[{variance}]]}}"
    text = f"""
given:
  law: {gaussian}
asserts:
  operator: {{matrix: [[{variance}]], offset: [0]}}
"""
    rejects: dict[str, Change] = {title: (gaussian, law, REFUTED, "z = (1)") for title, law in laws.items()}
    return Family("infinite-prompt-operator", f"the linear map of a Gaussian of variance {variance}", text, {}, rejects)


FAMILIES = [_linear(variance, laws) for variance, laws in LINEAR_CLAIMS.items()]
