(** [Softmax] and [Heads] over floats whose mantissas are Coq's own binary integers: no primitive integers, no primitive
    floats. *)
From Interval Require Import Float.Specific_stdz.
From CertAttn Require Import Heads.
Module S := Heads StdZRadix2.
