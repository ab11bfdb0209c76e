(** One number for a constant, to compare what Coq has read with what a certificate says: the symbols of its integers
    are the coefficients of a polynomial over the integers modulo the prime 2^61 - 1, evaluated at a point that the
    comparison draws. Different constants have different symbols; no theorem rests on this file. *)
From Coq Require Import ZArith List.
Import ListNotations.
Open Scope Z_scope.

Definition modulus : Z := Z.ones 61.
Definition reduce (x : Z) : Z :=
  let y := Z.land x modulus + Z.shiftr x 61 in
  let z := Z.land y modulus + Z.shiftr y 61 in
  if z =? modulus then 0 else z.
Definition step (point acc symbol : Z) : Z := reduce (acc * point + symbol).

(** Below 2^56 in size one symbol; else 0 or 1 for the sign, and the digits in base 2^56, the last ones first. *)
Definition digit : Z := Z.ones 56.
Fixpoint digits (fuel : nat) (point acc x : Z) : Z :=
  match fuel with
  | O => acc
  | S fuel' => digits fuel' point (step point acc (Z.land x digit + 2)) (Z.shiftr x 56)
  end.
Definition of_Z (point acc x : Z) : Z :=
  let a := Z.abs x in
  if a <=? digit then step point acc (x + Z.shiftl 1 58)
  else digits (S (Z.to_nat (Z.log2 a / 56))) point (step point acc (if x <? 0 then 1 else 0)) a.
Definition opening : Z := Z.shiftl 1 60.
Definition of_list (point acc : Z) (l : list Z) : Z := fold_left (of_Z point) l (step point acc opening).
Definition of_rows (point acc : Z) (l : list (list Z)) : Z :=
  fold_left (of_list point) l (step point acc (opening + 1)).
Definition of_tables (point acc : Z) (l : list (list (list Z))) : Z :=
  fold_left (of_rows point) l (step point acc (opening + 2)).
Definition of_marks (point acc : Z) (l : list bool) : Z :=
  of_list point acc (map (fun b : bool => if b then 1 else 0) l).
Definition of_indices (point acc : Z) (l : list nat) : Z := of_list point acc (map Z.of_nat l).
Definition of_index_lists (point acc : Z) (l : list (list nat)) : Z := of_rows point acc (map (map Z.of_nat) l).
Definition of_pairs (point acc : Z) (l : list (option (nat * nat))) : Z :=
  of_index_lists point acc (map (fun e => match e with Some (i, t) => [i; t] | None => [] end) l).
