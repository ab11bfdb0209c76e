(** [Softmax] over floats whose mantissas are the machine integers of Coq's kernel: faster, and these are trusted. *)
From Interval Require Import Float.Specific_bigint.
From CertAttn Require Import Softmax.
Module S := Softmax BigIntRadix2.
