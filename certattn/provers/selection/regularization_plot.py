"""A figure of a certificate of `regularization-path`: the ray of p_mm, the certified arcs, the path."""

from __future__ import annotations

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.selection.regularization_path import THEOREM, NormPath
from certattn.provers.figures import Target
from certattn.provers.selection.regularization_path import draw_path


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure."""
    problem = THEOREM.read(certificate)
    if isinstance(problem, NormPath):
        raise UsageError("the figure shows angles, and in another norm none is stated")
    draw_path(problem, [stated.radius for stated in problem.path], [stated.cosine for stated in problem.path], target)
