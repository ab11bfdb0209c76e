(** The tactic [interval] of coq-interval over Coq's own binary integers, where as it comes it takes machine floats. *)
From Coq Require Import Reals.
From Interval Require Export Tactic.
From Interval Require Import Float.Specific_ops Float.Specific_stdz.
From CertAttn Require Import Statements Formulas.
Module ExactFloats := SpecificFloat StdZRadix2.
Module ExactInterval := Interval.Tactic.IntervalTactic ExactFloats.
Export ExactInterval.

Ltac unfold_formulas :=
  unfold equivalence_bound, lipschitz, deviation_bound, mean_universality, universality_inside, squares, slopes,
    largest_norm, covariance_distance, linearisation, on_diagonal, off_diagonal, normalizer_bound, normalizer_square,
    long_query, fourth_moment, mean_power, mean_exponential, power, ratio in *.
