"""A figure of a certificate of `selection-counterexample`: the run that ends on worse tokens."""

from __future__ import annotations

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.selection_counterexample import read
from certattn.provers.figures import Target
from certattn.provers.selection.selection_plot import draw_problem


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the run and what is certified of its direction."""
    draw_problem(read(certificate).direction, target)
