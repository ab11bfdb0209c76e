"""Where the kernel's formulas come from: derived from first principles, proved equal to what it runs.

Everything here is exact symbolic algebra (sympy, `pip install sympy`). The kernel does
not depend on it; a derivation shows that the formula a certificate is checked with is the right one.
"""

from __future__ import annotations

from collections.abc import Mapping

from certattn.theory.arithmetic import binary64_exponential
from certattn.theory.attention import output_deviation, softmax_mean
from certattn.theory.derivation import Derivation
from certattn.theory.prompts import (
    gradient_mean_square,
    gradient_tail,
    infinite_prompt_operator,
    output_mean_square,
    output_tail,
    proposition_3_1,
    proposition_3_4,
    typical_prompt,
)
from certattn.theory.selection import (
    joint_max_margin,
    max_margin,
    regularization_path,
    selection_counterexample,
    selection_direction,
    selection_on_a_head,
    token_optimality,
)
from certattn.theory.spectrum import (
    equivalent_law,
    finite_moments,
    linearization,
    normalizer_bound,
    not_marchenko_pastur,
    singular_values,
    spectral_distance,
    universality_bound,
)
from certattn.theory.training import (
    descent_trajectory,
    flow_trajectory,
    regression_risk,
    risk_gap,
    risk_transfer,
    training_convergence,
)

DERIVATIONS: Mapping[str, Derivation] = {
    "binary64-exponential": binary64_exponential.DERIVATION,
    "descent-trajectory": descent_trajectory.DERIVATION,
    "equivalent-law": equivalent_law.DERIVATION,
    "finite-moments": finite_moments.DERIVATION,
    "flow-trajectory": flow_trajectory.DERIVATION,
    "gradient-mean-square": gradient_mean_square.DERIVATION,
    "gradient-tail": gradient_tail.DERIVATION,
    "infinite-prompt-operator": infinite_prompt_operator.DERIVATION,
    "joint-max-margin": joint_max_margin.DERIVATION,
    "linearization": linearization.DERIVATION,
    "max-margin": max_margin.DERIVATION,
    "normalizer-bound": normalizer_bound.DERIVATION,
    "not-marchenko-pastur": not_marchenko_pastur.DERIVATION,
    "output-deviation": output_deviation.DERIVATION,
    "output-mean-square": output_mean_square.DERIVATION,
    "output-tail": output_tail.DERIVATION,
    "proposition-3-1": proposition_3_1.DERIVATION,
    "proposition-3-4": proposition_3_4.DERIVATION,
    "regression-risk": regression_risk.DERIVATION,
    "regularization-path": regularization_path.DERIVATION,
    "risk-gap": risk_gap.DERIVATION,
    "risk-transfer": risk_transfer.DERIVATION,
    "selection-counterexample": selection_counterexample.DERIVATION,
    "selection-direction": selection_direction.DERIVATION,
    "selection-on-a-head": selection_on_a_head.DERIVATION,
    "singular-values": singular_values.DERIVATION,
    "softmax-mean": softmax_mean.DERIVATION,
    "spectral-distance": spectral_distance.DERIVATION,
    "token-optimality": token_optimality.DERIVATION,
    "training-convergence": training_convergence.DERIVATION,
    "typical-prompt": typical_prompt.DERIVATION,
    "universality-bound": universality_bound.DERIVATION,
}
