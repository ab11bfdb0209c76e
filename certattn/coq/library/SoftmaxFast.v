(** [Softmax] and [Heads] over floats whose mantissas are the machine integers of Coq's kernel: faster, and these are
    trusted. *)
From Interval Require Import Float.Specific_bigint.
From CertAttn Require Import Heads.
Module S := Heads BigIntRadix2.
