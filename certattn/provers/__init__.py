"""Provers find what a certificate should state. Nothing here is trusted: the checker re-proves it.

One module per claim, each with `generate(out, **inputs) -> Certificate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from certattn.kernel.document.certificate import Certificate
from certattn.provers.arithmetic import binary64_exponential
from certattn.provers.attention import output_deviation, softmax_mean
from certattn.provers.prompts import (
    gradient_mean_square,
    gradient_tail,
    infinite_prompt_operator,
    output_mean_square,
    output_tail,
    proposition_3_1,
    proposition_3_4,
    typical_prompt,
)
from certattn.provers.selection import (
    joint_max_margin,
    max_margin,
    regularization_path,
    selection_counterexample,
    selection_direction,
    selection_on_a_head,
    token_optimality,
)
from certattn.provers.spectrum import (
    equivalent_law,
    finite_moments,
    linearization,
    normalizer_bound,
    not_marchenko_pastur,
    singular_values,
    spectral_distance,
    universality_bound,
)
from certattn.provers.training import (
    descent_trajectory,
    flow_trajectory,
    regression_risk,
    risk_gap,
    risk_transfer,
    training_convergence,
)

PROVERS: Mapping[str, Callable[..., Certificate]] = {
    "binary64-exponential": binary64_exponential.generate,
    "descent-trajectory": descent_trajectory.generate,
    "equivalent-law": equivalent_law.generate,
    "finite-moments": finite_moments.generate,
    "flow-trajectory": flow_trajectory.generate,
    "gradient-mean-square": gradient_mean_square.generate,
    "gradient-tail": gradient_tail.generate,
    "infinite-prompt-operator": infinite_prompt_operator.generate,
    "joint-max-margin": joint_max_margin.generate,
    "linearization": linearization.generate,
    "max-margin": max_margin.generate,
    "normalizer-bound": normalizer_bound.generate,
    "not-marchenko-pastur": not_marchenko_pastur.generate,
    "output-deviation": output_deviation.generate,
    "output-mean-square": output_mean_square.generate,
    "output-tail": output_tail.generate,
    "proposition-3-1": proposition_3_1.generate,
    "proposition-3-4": proposition_3_4.generate,
    "regression-risk": regression_risk.generate,
    "regularization-path": regularization_path.generate,
    "risk-gap": risk_gap.generate,
    "risk-transfer": risk_transfer.generate,
    "selection-counterexample": selection_counterexample.generate,
    "selection-direction": selection_direction.generate,
    "selection-on-a-head": selection_on_a_head.generate,
    "singular-values": singular_values.generate,
    "softmax-mean": softmax_mean.generate,
    "spectral-distance": spectral_distance.generate,
    "token-optimality": token_optimality.generate,
    "training-convergence": training_convergence.generate,
    "typical-prompt": typical_prompt.generate,
    "universality-bound": universality_bound.generate,
}
