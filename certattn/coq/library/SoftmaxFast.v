(** [Softmax] and what includes it over floats whose mantissas are the machine integers of Coq's kernel: faster, and these
    are trusted. *)
From Interval Require Import Float.Specific_bigint.
From CertAttn Require Import Rules.
Module S := Rules BigIntRadix2.
