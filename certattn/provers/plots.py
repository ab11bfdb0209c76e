"""The one table from claims to their pictures, shared by `generate --plot`, `plot` and `report`.

A picture shows what a certificate states, and beside it what may have been computed in doubles; it proves nothing.
A module is imported when its picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.provers.figures import Target, drawn_as, require_matplotlib

# claim -> (module with `draw_certificate`, what its picture shows)
PICTURES: Mapping[str, tuple[str, str]] = {
    "descent-trajectory": ("training.descent_plot", "certified bounds by step"),
    "equivalent-law": ("spectrum.equivalent_plot", "the density of the law beside a quarter circle"),
    "flow-trajectory": ("training.flow_plot", "the tube around the path, and the risk between its bounds"),
    "joint-max-margin": ("selection.joint_plot", "tokens in the plane, both directions and their certified angles"),
    "linearization": ("spectrum.linearization_plot", "singular values of the remainder beside a quarter circle"),
    "max-margin": ("selection.margin_plot", "constraints in the plane, the solution and its margin"),
    "not-marchenko-pastur": ("spectrum.law_plot", "the law beside quarter circles, and where they differ most"),
    "output-deviation": (
        "attention.deviation_plot",
        "the deviation of each query beside the certified bounds, also in units of the output; the worst query is "
        "named",
    ),
    "output-tail": ("prompts.tail_figures", "the bound and simulated prompts against the length of the prompt"),
    "regularization-path": ("selection.regularization_plot", "the max-margin ray, the certified arcs and the path"),
    "risk-transfer": ("training.transfer_plot", "the risk, its bound and the tube along the way"),
    "selection-direction": ("selection.selection_plot", "keys in the plane, the run of descent and the certified tube"),
    "selection-on-a-head": ("selection.head_plot", "the selected token of each query, its certified weight and margin"),
    "singular-values": ("spectrum.singular_plot", "a histogram of the singular values, and what is stated of them"),
    "spectral-distance": ("spectrum.distance_plot", "a histogram of singular values with both laws"),
    "training-convergence": ("training.training_plot", "the risk along the run and its certified bound"),
}


def require_picture(claim: str) -> None:
    """Raises UsageError for a claim without a picture, and where matplotlib is missing."""
    if claim not in PICTURES:
        raise UsageError(f"{claim} has no picture; there is one for {', '.join(PICTURES)}")
    require_matplotlib()


def draw(certificate: Certificate, target: Target, *, checked: bool = False, **options: Any) -> None:
    """Draw a certificate's picture into a file, or into memory as SVG; `options` are the drawing's own.

    Only where the certificate is verified, which the caller knows, `checked` has the picture say so.
    Raises UsageError where there is no such picture: of the claim, or of what this certificate states.
    """
    require_picture(certificate.claim)
    module, _ = PICTURES[certificate.claim]
    with drawn_as(checked=checked):
        import_module(f"certattn.provers.{module}").draw_certificate(certificate, target, **options)


def as_svg(certificate: Certificate, *, checked: bool = False) -> str:
    """The picture as the text of an SVG file. Raises UsageError as `draw` does."""
    memory = BytesIO()
    draw(certificate, memory, checked=checked)
    return memory.getvalue().decode("utf-8")
