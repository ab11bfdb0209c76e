"""A figure of a certificate of `regularization-path` in the plane: the ray of p_mm, the certified arcs, the path."""

from __future__ import annotations

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.selection.regularization_path import THEOREM
from certattn.provers.figures import Target
from certattn.provers.selection.regularization_path import draw_path


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError for keys that are not in the plane."""
    problem = THEOREM.read(certificate)
    dimension = problem.given.stated.tokens.dimension
    if dimension != 2:
        raise UsageError(f"a figure shows keys in two dimensions; these have {dimension}")
    draw_path(problem, [stated.radius for stated in problem.path], [stated.cosine for stated in problem.path], target)
