(** [Softmax] and what includes it over floats whose mantissas are Coq's own binary integers: no primitive integers, no
    primitive floats. *)
From Interval Require Import Float.Specific_stdz.
From CertAttn Require Import Rules.
Module S := Rules StdZRadix2.
