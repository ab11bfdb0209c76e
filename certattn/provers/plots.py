"""The one table from claims to their pictures, shared by `generate --plot`, `plot` and `report`.

A picture shows what a certificate states, and beside it what may have been computed in doubles; it proves nothing.
A module is imported when its picture is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from io import BytesIO
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.provers import figures
from certattn.provers.figures import Target, drawn_as

# claim -> (module with `draw_certificate`, what its picture shows)
PICTURES: Mapping[str, tuple[str, str]] = {
    "attention-error": ("attention.error_plot", "the error at each query beside the bounds"),
    "attention-spectrum": ("bound_curves", "the bounds of transforms against the number of tokens"),
    "binary64-exponential": ("arithmetic.exponential_plot", "relative errors at some scores beside the bound"),
    "cache-error": ("attention.error_plot", "the error at each query beside the bounds"),
    "causal-law": ("spectrum.causal_plot", "the transform of the law beside that of the law without a mask"),
    "descent-trajectory": ("training.descent_plot", "certified bounds by step"),
    "equivalent-law": ("spectrum.equivalent_plot", "the density of the law beside a quarter circle"),
    "finite-moments": ("bound_curves", "moments against the size of the matrix"),
    "flow-trajectory": ("training.flow_plot", "the tube around the path, and the risk between its bounds"),
    "full-batch-descent": ("training.full_batch_plot", "the risk of the tube step by step"),
    "gradient-mean-square": ("bound_curves", "the bound against the length of the prompt"),
    "gradient-tail": ("bound_curves", "the probability against the length of the prompt"),
    "held-out-risk": (
        "training.held_out_plot",
        "the mean loss by the number of prompts, and the certified ends",
    ),
    "infinite-prompt-operator": (
        "prompts.operator_plot",
        "the affine map as a table of colours, or the stated outputs",
    ),
    "joint-max-margin": (
        "selection.joint_plot",
        "the angles of a run with both max-margin directions, and tokens in the plane",
    ),
    "linearization": ("spectrum.linearization_plot", "singular values of the remainder beside a quarter circle"),
    "max-margin": (
        "selection.margin_plot",
        "constraints in the plane, the solution and its margin; beyond it, each constraint's product with the solution",
    ),
    "normalizer-bound": ("bound_curves", "the bound against the size of the matrix"),
    "not-marchenko-pastur": ("spectrum.law_plot", "the law beside quarter circles, and where they differ most"),
    "observed-prompt": ("prompts.observed_plot", "the interval, and what the rule says after fewer tokens"),
    "output-deviation": (
        "attention.deviation_plot",
        "the deviation of each query beside the certified bounds, also of its output; the worst query is named",
    ),
    "output-mean-square": ("bound_curves", "the bound against the length of the prompt"),
    "output-tail": ("prompts.tail_figures", "the bound and simulated prompts against the length of the prompt"),
    "proposition-3-1": ("prompts.proposition_plot", "the repaired form against the length of the prompt"),
    "proposition-3-4": ("prompts.proposition_plot", "the repaired form against the length of the prompt"),
    "regression-risk": ("training.risk_plot", "the risk around the stated point"),
    "regularization-path": (
        "selection.regularization_plot",
        "the angle with the max-margin ray by radius, and the path in the plane",
    ),
    "risk-gap": ("bound_curves", "a bound of the gap against the length of the prompt"),
    "risk-transfer": ("training.transfer_plot", "the risk and its bound, and the distance of the runs, along the way"),
    "selection-basins": ("selection.basins_plot", "the cells by what is selected from there, and directions"),
    "selection-counterexample": ("selection.counterexample_plot", "the run that ends on worse tokens"),
    "selection-direction": (
        "selection.selection_plot",
        "the angle with the max-margin direction by step, and the run in the plane",
    ),
    "selection-on-a-head": ("selection.head_plot", "the selected token of each query, its certified weight and margin"),
    "singular-values": ("spectrum.singular_plot", "a histogram of the singular values, and what is stated of them"),
    "softmax-mean": ("attention.mean_plot", "the stated outputs among the values of the tokens"),
    "spectral-distance": ("spectrum.distance_plot", "a histogram of singular values with both laws"),
    "stochastic-descent": ("training.stochastic_plot", "the risk of the tube step by step"),
    "theorem-4-3": ("bound_curves", "the bound of the distance against the length of the prompt"),
    "token-optimality": ("selection.optimality_plot", "keys, their scores and the best tokens"),
    "training-convergence": ("training.training_plot", "the risk along the run and its certified bound"),
    "typical-prompt": ("prompts.typical_plot", "the prompt's deviation among those of simulated prompts"),
    "universality-bound": ("bound_curves", "the bound against the regularisation"),
}


def warm_up(claims: Iterable[str]) -> None:
    """Import what pictures of these claims need, so that processes that are forked from this one need not."""
    figures.warm_up()
    for claim in claims:
        import_module(f"certattn.provers.{PICTURES[claim][0]}")


def draw(certificate: Certificate, target: Target, *, checked: bool = False, **options: Any) -> None:
    """Draw a certificate's picture into a file, or into memory as SVG; `options` are the drawing's own.

    Only where the certificate is verified, which the caller knows, `checked` has the picture say so.
    Raises UsageError where there is no picture of what this certificate states, and without matplotlib.
    """
    figures.require_matplotlib()
    module, _ = PICTURES[certificate.claim]
    with drawn_as(checked=checked):
        import_module(f"certattn.provers.{module}").draw_certificate(certificate, target, **options)


def as_svg(certificate: Certificate, *, checked: bool = False) -> str:
    """The picture as the text of an SVG file. Raises UsageError as `draw` does."""
    memory = BytesIO()
    draw(certificate, memory, checked=checked)
    return memory.getvalue().decode("utf-8")
