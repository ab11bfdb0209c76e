"""`certattn generate`: one module per claim."""

from __future__ import annotations

import click

from certattn.cli.generate.binary64_exponential import binary64_exponential
from certattn.cli.generate.descent_trajectory import descent_trajectory
from certattn.cli.generate.equivalent_law import equivalent_law
from certattn.cli.generate.finite_moments import finite_moments
from certattn.cli.generate.flow_trajectory import flow_trajectory
from certattn.cli.generate.gradient_mean_square import gradient_mean_square
from certattn.cli.generate.gradient_tail import gradient_tail
from certattn.cli.generate.infinite_prompt_operator import infinite_prompt_operator
from certattn.cli.generate.joint_max_margin import joint_max_margin
from certattn.cli.generate.linearization import linearization
from certattn.cli.generate.max_margin import max_margin
from certattn.cli.generate.normalizer_bound import normalizer_bound
from certattn.cli.generate.not_marchenko_pastur import not_marchenko_pastur
from certattn.cli.generate.output_deviation import output_deviation
from certattn.cli.generate.output_mean_square import output_mean_square
from certattn.cli.generate.output_tail import output_tail
from certattn.cli.generate.proposition_3_1 import proposition_3_1
from certattn.cli.generate.proposition_3_4 import proposition_3_4
from certattn.cli.generate.regression_risk import regression_risk
from certattn.cli.generate.regularization_path import regularization_path
from certattn.cli.generate.risk_gap import risk_gap
from certattn.cli.generate.risk_transfer import risk_transfer
from certattn.cli.generate.selection_counterexample import selection_counterexample
from certattn.cli.generate.selection_direction import selection_direction
from certattn.cli.generate.selection_on_a_head import selection_on_a_head
from certattn.cli.generate.singular_values import singular_values
from certattn.cli.generate.softmax_mean import softmax_mean
from certattn.cli.generate.spectral_distance import spectral_distance
from certattn.cli.generate.token_optimality import token_optimality
from certattn.cli.generate.training_convergence import training_convergence
from certattn.cli.generate.typical_prompt import typical_prompt
from certattn.cli.generate.universality_bound import universality_bound
from certattn.cli.suggesting import SuggestingGroup


@click.group(cls=SuggestingGroup)
def generate() -> None:
    """Make a certificate. What is generated is not trusted: `certattn check` proves it."""


for command in (
    binary64_exponential,
    descent_trajectory,
    equivalent_law,
    finite_moments,
    flow_trajectory,
    gradient_mean_square,
    gradient_tail,
    infinite_prompt_operator,
    joint_max_margin,
    linearization,
    max_margin,
    normalizer_bound,
    not_marchenko_pastur,
    output_deviation,
    output_mean_square,
    output_tail,
    proposition_3_1,
    proposition_3_4,
    regression_risk,
    regularization_path,
    risk_gap,
    risk_transfer,
    selection_counterexample,
    selection_direction,
    selection_on_a_head,
    singular_values,
    softmax_mean,
    spectral_distance,
    token_optimality,
    training_convergence,
    typical_prompt,
    universality_bound,
):
    generate.add_command(command)
