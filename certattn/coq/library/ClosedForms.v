(** The tactic [interval] of coq-interval over Coq's own binary integers, where as it comes it takes machine floats. *)
From Coq Require Import Reals.
From Interval Require Export Tactic.
From Interval Require Import Float.Specific_ops Float.Specific_stdz.
From CertAttn Require Import Statements Formulas.
Module ExactFloats := SpecificFloat StdZRadix2.
Module ExactInterval := Interval.Tactic.IntervalTactic ExactFloats.
Export ExactInterval.

Ltac unfold_formulas :=
  unfold equivalence_bound, linear_squares, rank_one, lipschitz, deviation_bound, mean_universality, form_variance,
    form_root, form_rest, form_single, form_plain, form_diagonal, norm_sum, plain_sum, rest, other_squares,
    weighted_squares, diagonal_squares, largest_row, largest_norm, improbable, linearisation, on_diagonal,
    off_diagonal, normalizer_bound, normalizer_square,
    long_query, fourth_moment, mean_power, mean_exponential, power, ratio in *.
