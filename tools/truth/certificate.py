"""Whether what a certificate states is true: a second opinion that shares no code with the kernel.

It reads a certificate's plain tree by itself (Python's fractions, numpy for array files) and computes
both sides from the mathematical definitions, most with mpmath: first at a moderate precision, then at about
twice as many digits, whose difference is the error that it allows itself; where that does not decide,
at more. It is slow and proves nothing. It is there to catch the checker at a false `verified`.

The part about each claim stands in a module of its own; here is the table of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gradient_truth
from descent_trajectory_truth import judge_descent
from equivalent_law_truth import judge_equivalent
from exponential_truth import judge_exponential
from flow_trajectory_truth import judge_flow
from gaussian_equivalence_truth import judge_normaliser, judge_universality
from joint_max_margin_truth import judge_joint
from linearization_truth import judge_linearization
from margin_truth import judge_margin
from mean_square_truth import judge_mean_square
from output_tail_truth import judge_tails
from prompt_truth import deviation_comparisons, mean_comparisons, operator_comparisons
from proposition_truth import judge_proposition
from regression_risk_truth import judge_risk
from regularization_path_truth import judge_path
from risk_gap_truth import judge_gap
from risk_transfer_truth import judge_transfer
from score_matrix_truth import judge_moments
from selection_counterexample_truth import judge_counterexample
from selection_direction_truth import judge_direction
from selection_on_a_head_truth import judge_head
from singular_values_truth import judge_singular_values
from spectral_distance_truth import judge_distance, judge_not_marchenko_pastur
from token_optimality_truth import judge_optimality
from training_convergence_truth import judge_training
from truth_judgement import Comparison, Judgement, Truth, judge_all
from truth_reading import NotAStatement, require, require_mapping, require_record
from typical_prompt_truth import judge_typical

__all__ = ["JUDGES", "Judgement", "NotAStatement", "Truth", "judge"]

# From given, asserts, witness and the folder of array files.
Judge = Callable[[Any, Any, Any, Path], Judgement]


def _all_of(comparisons: Callable[[Any, Any, Any, Path], list[Comparison]]) -> Judge:
    return lambda given, asserts, witness, folder: judge_all(comparisons(given, asserts, witness, folder))


JUDGES: dict[str, Judge] = {
    "binary64-exponential": judge_exponential,
    "descent-trajectory": judge_descent,
    "equivalent-law": judge_equivalent,
    "finite-moments": judge_moments,
    "flow-trajectory": judge_flow,
    "gradient-mean-square": gradient_truth.judge_mean_square,
    "gradient-tail": gradient_truth.judge_tail,
    "infinite-prompt-operator": _all_of(operator_comparisons),
    "joint-max-margin": judge_joint,
    "linearization": judge_linearization,
    "max-margin": judge_margin,
    "normalizer-bound": judge_normaliser,
    "not-marchenko-pastur": judge_not_marchenko_pastur,
    "output-deviation": _all_of(deviation_comparisons),
    "output-mean-square": judge_mean_square,
    "output-tail": judge_tails,
    "proposition-3-1": partial(judge_proposition, True),
    "proposition-3-4": partial(judge_proposition, False),
    "regression-risk": judge_risk,
    "regularization-path": judge_path,
    "risk-gap": judge_gap,
    "risk-transfer": judge_transfer,
    "selection-counterexample": judge_counterexample,
    "selection-direction": judge_direction,
    "selection-on-a-head": judge_head,
    "singular-values": judge_singular_values,
    "softmax-mean": _all_of(mean_comparisons),
    "spectral-distance": judge_distance,
    "token-optimality": judge_optimality,
    "training-convergence": judge_training,
    "typical-prompt": judge_typical,
    "universality-bound": judge_universality,
}


def judge(certificate: Any, folder: Path) -> Judgement:
    """The truth of the statement in a certificate's plain tree. Raises NotAStatement."""
    require_record(certificate, "the file", {"certattn", "claim", "given", "asserts"}, {"witness", "provenance"})
    require(certificate["certattn"] == "1", f"version {certificate['certattn']}")
    witness = require_mapping(certificate.get("witness", {}), "witness")
    for text in require_mapping(certificate.get("provenance", {}), "provenance").values():
        require(isinstance(text, str) and text != "", "provenance must be text")
    claim = certificate["claim"]
    require(isinstance(claim, str) and claim in JUDGES, f"the claim {claim!r}")
    return JUDGES[claim](certificate["given"], certificate["asserts"], witness, folder)
