(** [Softmax] over floats whose mantissas are Coq's own binary integers: no primitive integers, no primitive floats. *)
From Interval Require Import Float.Specific_stdz.
From CertAttn Require Import Softmax.
Module S := Softmax StdZRadix2.
