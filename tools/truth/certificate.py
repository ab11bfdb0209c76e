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

from tools.truth import gradient
from tools.truth.attention_error import judge_attention_error
from tools.truth.attention_spectrum import judge_spectrum
from tools.truth.cache_error import judge_cache_error
from tools.truth.causal_law import judge_causal
from tools.truth.descent_trajectory import judge_descent
from tools.truth.equivalent_law import judge_equivalent
from tools.truth.exponential import judge_exponential
from tools.truth.flow_trajectory import judge_flow
from tools.truth.gaussian_equivalence import judge_normaliser, judge_universality
from tools.truth.held_out_risk import judge_held_out
from tools.truth.joint_max_margin import judge_joint
from tools.truth.judgement import Comparison, Judgement, Truth, judge_all
from tools.truth.linearization import judge_linearization
from tools.truth.margin import judge_margin
from tools.truth.mean_square import judge_mean_square
from tools.truth.observed_prompt import judge_observed
from tools.truth.output_tail import judge_tails
from tools.truth.prompt import deviation_comparisons, mean_comparisons, operator_comparisons
from tools.truth.proposition import judge_proposition
from tools.truth.reading import NotAStatement, require, require_mapping, require_record
from tools.truth.regression_risk import judge_risk
from tools.truth.regularization_path import judge_path
from tools.truth.risk_gap import judge_gap
from tools.truth.risk_transfer import judge_transfer
from tools.truth.score_matrix import judge_moments
from tools.truth.selection_basins import judge_basins
from tools.truth.selection_counterexample import judge_counterexample
from tools.truth.selection_direction import judge_direction
from tools.truth.selection_on_a_head import judge_head
from tools.truth.singular_values import judge_singular_values
from tools.truth.spectral_distance import judge_distance, judge_not_marchenko_pastur
from tools.truth.stochastic_descent import judge_drawn, judge_full_batch
from tools.truth.theorem_4_3 import judge_class_training
from tools.truth.token_optimality import judge_optimality
from tools.truth.training_convergence import judge_training
from tools.truth.typical_prompt import judge_typical

__all__ = ["JUDGES", "Judgement", "NotAStatement", "Truth", "judge"]

# From given, asserts, witness and the folder of array files.
Judge = Callable[[Any, Any, Any, Path], Judgement]


def _all_of(comparisons: Callable[[Any, Any, Any, Path], list[Comparison]]) -> Judge:
    return lambda given, asserts, witness, folder: judge_all(comparisons(given, asserts, witness, folder))


JUDGES: dict[str, Judge] = {
    "attention-error": judge_attention_error,
    "attention-spectrum": judge_spectrum,
    "binary64-exponential": judge_exponential,
    "cache-error": judge_cache_error,
    "causal-law": judge_causal,
    "descent-trajectory": judge_descent,
    "equivalent-law": judge_equivalent,
    "finite-moments": judge_moments,
    "flow-trajectory": judge_flow,
    "full-batch-descent": judge_full_batch,
    "gradient-mean-square": gradient.judge_mean_square,
    "gradient-tail": gradient.judge_tail,
    "held-out-risk": judge_held_out,
    "infinite-prompt-operator": _all_of(operator_comparisons),
    "joint-max-margin": judge_joint,
    "linearization": judge_linearization,
    "max-margin": judge_margin,
    "normalizer-bound": judge_normaliser,
    "not-marchenko-pastur": judge_not_marchenko_pastur,
    "observed-prompt": judge_observed,
    "output-deviation": _all_of(deviation_comparisons),
    "output-mean-square": judge_mean_square,
    "output-tail": judge_tails,
    "proposition-3-1": partial(judge_proposition, True),
    "proposition-3-4": partial(judge_proposition, False),
    "regression-risk": judge_risk,
    "regularization-path": judge_path,
    "risk-gap": judge_gap,
    "risk-transfer": judge_transfer,
    "selection-basins": judge_basins,
    "selection-counterexample": judge_counterexample,
    "selection-direction": judge_direction,
    "selection-on-a-head": judge_head,
    "singular-values": judge_singular_values,
    "softmax-mean": _all_of(mean_comparisons),
    "spectral-distance": judge_distance,
    "stochastic-descent": judge_drawn,
    "theorem-4-3": judge_class_training,
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
