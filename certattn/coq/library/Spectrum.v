(** Eigenvalues of symmetric matrices between bounds: by elimination on enclosures of the entries, all pivots positive. *)
From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval Require Import Float.Sig Float.Specific_sig Interval.Interval.
From CertAttn Require Import Statements Integers Enclosures Softmax Heads.
Import ListNotations.
Open Scope R_scope.

(** * Quadratic forms of upper triangles: in each row the entries from the diagonal on *)

Fixpoint form (triangle : list vector) (x : vector) : R :=
  match triangle, x with
  | (u :: b) :: rest, t :: y => u * t * t + 2 * t * dot b y + form rest y
  | _, _ => 0
  end.
Fixpoint triangular (n : nat) (triangle : list vector) : Prop :=
  match n, triangle with
  | O, [] => True
  | S n', row :: rest => length row = n /\ triangular n' rest
  | _, _ => False
  end.

(** What is left of it when the first row, with the diagonal entry u and b beside it, is eliminated. *)
Fixpoint eliminated (u : R) (rest : list vector) (b : vector) : list vector :=
  match rest, b with
  | row :: rest', v :: b' => minus row (map (fun w => v * w / u) b) :: eliminated u rest' b'
  | _, _ => []
  end.
Fixpoint pivots (n : nat) (triangle : list vector) : Prop :=
  match n with
  | O => True
  | S n' => match triangle with (u :: b) :: rest => 0 < u /\ pivots n' (eliminated u rest b) | _ => False end
  end.

Lemma dot_minus : forall a b y, length a = length b -> dot (minus a b) y = dot a y - dot b y.
Proof.
  induction a as [|u a IH]; intros [|v b] [|w y] H; simpl in *; try discriminate; try ring.
  rewrite IH by congruence. ring.
Qed.
Lemma dot_scaled : forall v u b y, dot (map (fun w => v * w / u) b) y = v * dot b y / u.
Proof.
  intros v u. unfold Rdiv. induction b as [|w b IH]; intros [|z y]; simpl; try (now rewrite Rmult_0_r, Rmult_0_l).
  rewrite IH. ring.
Qed.
Lemma length_minus : forall a b, length a = length b -> length (minus a b) = length a.
Proof. induction a as [|u a IH]; intros [|v b] H; simpl in *; try discriminate; auto. Qed.

Lemma triangular_eliminated : forall n u rest b, triangular n rest -> length b = n ->
  triangular n (eliminated u rest b).
Proof.
  induction n as [|n IH]; intros u [|row rest] [|v b] H Hb; simpl in H, Hb; try discriminate; try contradiction; simpl.
  - exact I.
  - destruct H as [Hl Hr]. split; auto. change (length (minus row (map (fun w => v * w / u) (v :: b))) = S n).
    rewrite length_minus; auto. rewrite map_length. simpl. lia.
Qed.
Lemma form_eliminated : forall n u rest b y, u <> 0 -> triangular n rest -> length b = n -> length y = n ->
  form (eliminated u rest b) y = form rest y - dot b y * dot b y / u.
Proof.
  induction n as [|n IH]; intros u [|row rest] [|v b] [|t y] Hu H Hb Hy; simpl in H, Hb, Hy; try discriminate;
    try contradiction.
  - simpl. field. auto.
  - destruct H as [Hl Hr]. destruct row as [|r row]; try discriminate. simpl in Hl. simpl.
    assert (Hb' : length b = n) by congruence. assert (Hy' : length y = n) by congruence.
    rewrite (IH u rest b y) by auto. rewrite dot_minus by (rewrite map_length; congruence).
    rewrite dot_scaled. field. auto.
Qed.
Lemma form_ge_0 : forall n triangle x, triangular n triangle -> pivots n triangle -> length x = n ->
  0 <= form triangle x.
Proof.
  induction n as [|n IH]; intros [|row rest] [|t y] H Hp Hx; simpl in H, Hp, Hx; try discriminate; try contradiction;
    simpl; try lra.
  destruct H as [Hl Hr]. destruct row as [|u b]; try contradiction. destruct Hp as [Hu Hp]. simpl in Hl.
  assert (Hb : length b = n) by congruence. assert (Hy : length y = n) by congruence.
  pose proof (IH _ y (triangular_eliminated n u rest b Hr Hb) Hp Hy) as Hf.
  rewrite (form_eliminated n) in Hf; auto; try lra.
  replace (u * t * t + 2 * t * dot b y + form rest y)
    with (u * ((t + dot b y / u) * (t + dot b y / u)) + (form rest y - dot b y * dot b y / u)) by (field; lra).
  apply Rplus_le_le_0_compat; auto. apply Rmult_le_pos; try lra. apply Rle_0_sqr.
Qed.

(** * Matrices by their entries *)

Definition full (g : nat -> nat -> R) (k n : nat) : matrix := map (fun a => map (g a) (seq k n)) (seq k n).
Fixpoint upper (g : nat -> nat -> R) (k n : nat) : list vector :=
  match n with O => [] | S n' => map (g k) (seq k n) :: upper g (S k) n' end.
Lemma dot_heads : forall (f : nat -> R) t y s c,
  dot y (map (fun a => f a * t + c a) s) = t * dot y (map f s) + dot y (map c s).
Proof.
  intros f t y s c. revert y. induction s as [|a s IH]; intros [|u y]; simpl; try ring. rewrite IH. ring.
Qed.
Lemma dot_sym : forall a b, dot a b = dot b a.
Proof. induction a as [|u a IH]; intros [|v b]; simpl; auto. rewrite IH. ring. Qed.
Lemma form_upper : forall g, (forall a b, g a b = g b a) -> forall n k x, length x = n ->
  form (upper g k n) x = dot x (image (full g k n) x).
Proof.
  intros g Hg. induction n as [|n IH]; intros k [|t y] H; try discriminate; auto.
  simpl in H. assert (Hy : length y = n) by congruence.
  simpl. rewrite (IH (S k) y Hy). unfold image, full. rewrite !map_map. simpl.
  rewrite (dot_heads (fun a => g a k) t y (seq (S k) n) (fun a => dot (map (g a) (seq (S k) n)) y)).
  rewrite (map_ext (fun a => g a k) (g k)) by auto. rewrite (dot_sym y (map (g k) (seq (S k) n))). ring.
Qed.
Lemma triangular_upper : forall g n k, triangular n (upper g k n).
Proof.
  intros g. induction n as [|n IH]; intros k; simpl; auto. split; auto.
  now rewrite map_length, seq_length.
Qed.

(** M - r and r - M, as triangles *)
Fixpoint above (r : R) (triangle : list vector) : list vector :=
  match triangle with
  | (u :: b) :: rest => ((u - r) :: b) :: above r rest
  | _ => []
  end.
Fixpoint below (r : R) (triangle : list vector) : list vector :=
  match triangle with
  | (u :: b) :: rest => ((r - u) :: map (fun w => 0 - w) b) :: below r rest
  | _ => []
  end.
Lemma dot_opposite : forall b y, dot (map (fun w => 0 - w) b) y = - dot b y.
Proof. induction b as [|w b IH]; intros [|z y]; simpl; try ring. rewrite IH. ring. Qed.
Lemma form_above : forall r n triangle x, triangular n triangle -> length x = n ->
  form (above r triangle) x = form triangle x - r * dot x x.
Proof.
  intros r. induction n as [|n IH]; intros [|[|u b] rest] [|t y] H Hx; simpl in H, Hx; try discriminate;
    try contradiction; simpl; try ring; destruct H as [Hl H]; try discriminate. rewrite IH by auto. ring.
Qed.
Lemma form_below : forall r n triangle x, triangular n triangle -> length x = n ->
  form (below r triangle) x = r * dot x x - form triangle x.
Proof.
  intros r. induction n as [|n IH]; intros [|[|u b] rest] [|t y] H Hx; simpl in H, Hx; try discriminate;
    try contradiction; simpl; try ring; destruct H as [Hl H]; try discriminate.
  rewrite IH by auto. rewrite dot_opposite. ring.
Qed.
Lemma triangular_above : forall r n triangle, triangular n triangle -> triangular n (above r triangle).
Proof.
  intros r. induction n as [|n IH]; intros [|[|u b] rest] H; simpl in *; try contradiction; auto.
  - destruct H. discriminate.
  - destruct H. split; auto.
Qed.
Lemma triangular_below : forall r n triangle, triangular n triangle -> triangular n (below r triangle).
Proof.
  intros r. induction n as [|n IH]; intros [|[|u b] rest] H; simpl in *; try contradiction; auto.
  - destruct H. discriminate.
  - destruct H. split; auto. now rewrite map_length.
Qed.

Lemma dot_eigenvector : forall l x, dot x (map (fun u => l * u) x) = l * dot x x.
Proof. intros l. induction x as [|u x IH]; simpl. ring. rewrite IH. ring. Qed.
Lemma length_full : forall g k n, length (full g k n) = n.
Proof. intros. unfold full. now rewrite map_length, seq_length. Qed.
Theorem eigenvalues_above : forall g n r, (forall a b, g a b = g b a) -> pivots n (above r (upper g 0 n)) ->
  forall l, eigenvalue (full g 0 n) l -> r <= l.
Proof.
  intros g n r Hg Hp l [x [Hl [Hx He]]]. rewrite length_full in Hl. pose proof (triangular_upper g n 0) as Ht.
  pose proof (form_ge_0 n _ x (triangular_above r n _ Ht) Hp Hl) as H.
  rewrite (form_above r n) in H by auto. rewrite form_upper in H by auto. rewrite He, dot_eigenvector in H.
  apply Rmult_le_reg_r with (1 := Hx). lra.
Qed.
Theorem eigenvalues_below : forall g n r, (forall a b, g a b = g b a) -> pivots n (below r (upper g 0 n)) ->
  forall l, eigenvalue (full g 0 n) l -> l <= r.
Proof.
  intros g n r Hg Hp l [x [Hl [Hx He]]]. rewrite length_full in Hl. pose proof (triangular_upper g n 0) as Ht.
  pose proof (form_ge_0 n _ x (triangular_below r n _ Ht) Hp Hl) as H.
  rewrite (form_below r n) in H by auto. rewrite form_upper in H by auto. rewrite He, dot_eigenvector in H.
  apply Rmult_le_reg_r with (1 := Hx). lra.
Qed.

Lemma products_sym : forall x y, products x y = products y x.
Proof. induction x as [|u x IH]; intros [|v y]; simpl; auto. rewrite IH. f_equal. ring. Qed.
Lemma covariance_sym : forall t x y, covariance t x y = covariance t y x.
Proof. intros. unfold covariance. rewrite products_sym. ring. Qed.

Module Spectrum (C : FloatCarrier with Definition radix := Zaux.radix2).
Include Heads C.
Import E.

(** * The same on enclosures *)

Fixpoint eliminatedI (p : F.precision) (u : I.type) (rest : list (list I.type)) (b : list I.type)
    : list (list I.type) :=
  match rest, b with
  | row :: rest', v :: b' => minusI p row (map (fun w => I.div p (I.mul p v w) u) b) :: eliminatedI p u rest' b'
  | _, _ => []
  end.
Fixpoint pivotsI (p : F.precision) (n : nat) (triangle : list (list I.type)) : bool :=
  match n with
  | O => true
  | S n' =>
      match triangle with
      | (u :: b) :: rest => ltI p I.zero u && pivotsI p n' (eliminatedI p u rest b)
      | _ => false
      end
  end.
Lemma eliminated_correct : forall p ui u rests rest bs b, u <> 0 -> enc ui u -> rows rests rest -> encs bs b ->
  rows (eliminatedI p ui rests bs) (eliminated u rest b).
Proof.
  intros p ui u rests rest bs b Hu Hui H. revert bs b. induction H as [|r row rests rest Hr H IH]; intros bs b Hb;
    inversion Hb; subst; simpl; constructor; [|now apply IH].
  apply enc_minus; auto. change (encs (map (fun w => I.div p (I.mul p x w) ui) (x :: l))
    (map (fun w => y * w / u) (y :: l'))).
  clear - Hu Hui H0 Hb. induction Hb; simpl; constructor; auto. apply enc_div; auto. apply enc_mul; auto.
Qed.
Lemma pivots_correct : forall p n Ts T, rows Ts T -> pivotsI p n Ts = true -> pivots n T.
Proof.
  intros p. induction n as [|n IH]; intros Ts T H Hp; simpl; auto. simpl in Hp.
  destruct H as [|ts t Ts T Ht H]; try discriminate. destruct Ht as [|ui u bs b Hu Hb]; try discriminate.
  apply andb_prop in Hp. destruct Hp as [H0 Hp]. pose proof (ltI_correct _ _ _ _ _ enc_0 Hu H0). split; auto.
  eapply IH; eauto. apply eliminated_correct; auto. lra.
Qed.

Fixpoint aboveI (p : F.precision) (r : I.type) (triangle : list (list I.type)) : list (list I.type) :=
  match triangle with
  | (u :: b) :: rest => (I.sub p u r :: b) :: aboveI p r rest
  | _ => []
  end.
Fixpoint belowI (p : F.precision) (r : I.type) (triangle : list (list I.type)) : list (list I.type) :=
  match triangle with
  | (u :: b) :: rest => (I.sub p r u :: map (negI p) b) :: belowI p r rest
  | _ => []
  end.
Lemma above_correct : forall p ri r Ts T, enc ri r -> rows Ts T -> rows (aboveI p ri Ts) (above r T).
Proof.
  intros p ri r Ts T Hr H. induction H as [|ts t Ts T Ht H IH]; simpl; [constructor|].
  destruct Ht; constructor; auto. constructor; auto. now apply enc_sub.
Qed.
Lemma below_correct : forall p ri r Ts T, enc ri r -> rows Ts T -> rows (belowI p ri Ts) (below r T).
Proof.
  intros p ri r Ts T Hr H. induction H as [|ts t Ts T Ht H IH]; simpl; [constructor|].
  destruct Ht as [|u x b y Hu Hb]; constructor; auto. constructor. now apply enc_sub.
  clear - Hb. induction Hb; simpl; constructor; auto. apply enc_sub; auto. apply enc_0.
Qed.

(** * Covariances *)

Fixpoint upperI (g : list Z -> list Z -> I.type) (columns : list (list Z)) : list (list I.type) :=
  match columns with
  | [] => []
  | x :: columns' => map (g x) columns :: upperI g columns'
  end.
Definition triangleI p pe s dk K dx (X : list (list Z)) dq q : list (list I.type) :=
  let T := weightsI pe s 1 (unit K) dk K dq q in
  let S := totalI p T in
  upperI (covarianceI p T S dx dx) (map (fun c => columnZ c X) (seq 0 (length (hd [] X)))).
Definition covariance_at (s : scale) (keys xs : matrix) (q : vector) (a b : nat) : R :=
  covariance (tilts (factor s) (ones keys) keys q) (column a xs) (column b xs).
Lemma enc_triangle : forall p pe s dk K dx X dq q, prompt_ok K = true ->
  rows (triangleI p pe s dk K dx X dq q)
    (upper (covariance_at s (mat dk K) (mat dx X) (vec dq q)) 0 (columns (mat dx X))).
Proof.
  intros p pe s dk K dx X dq q H. unfold triangleI. rewrite columns_mat. apply valid_unit in H.
  generalize (length (hd [] X)). intros n. generalize 0%nat. induction n as [|n IH]; intros k; simpl; constructor;
    [|apply IH].
  change (encs (map (covarianceI p (weightsI pe s 1 (unit K) dk K dq q) (totalI p (weightsI pe s 1 (unit K) dk K dq q))
    dx dx (columnZ k X)) (map (fun c => columnZ c X) (seq k (S n))))
    (map (covariance_at s (mat dk K) (mat dx X) (vec dq q) k) (seq k (S n)))).
  clear IH. induction (seq k (S n)) as [|c l IH]; simpl; constructor; auto.
  unfold covariance_at. rewrite !column_mat, ones_mat. pose proof (enc_tilts pe s 1 (unit K) dk K dq q) as HT.
  apply enc_covariance; auto. apply enc_total; auto. apply Rgt_not_eq. apply (valid_total s 1 (unit K) dk K dq H q).
Qed.

Definition triangles p pe s dk K dx X dq Q : list (list (list I.type)) := map (triangleI p pe s dk K dx X dq) Q.
Definition spectrumI (p : F.precision) (n : nat) (Ts : list (list (list I.type))) (b : spectral_bound) : bool :=
  let all (f : I.type -> list (list I.type) -> list (list I.type)) d rs :=
    Nat.eqb (length Ts) (length rs) &&
    forallb (fun Tr => pivotsI p n (f (ratioI p (snd Tr) d) (fst Tr))) (combine Ts rs) in
  match b with
  | no_smaller d rs => all (aboveI p) d rs
  | no_larger d rs => all (belowI p) d rs
  end.
Lemma all_correct : forall (f : I.type -> list (list I.type) -> list (list I.type)) (P : matrix -> R -> Prop) p d n
    (g : list Z -> list (list I.type)) (G : vector -> matrix) dq,
  (forall q r, pivotsI p n (f (ratioI p r d) (g q)) = true -> P (G (vec dq q)) (IZR r / IZR (Zpos d))) ->
  forall Q rs, Nat.eqb (length (map g Q)) (length rs) &&
    forallb (fun Tr => pivotsI p n (f (ratioI p (snd Tr) d) (fst Tr))) (combine (map g Q) rs) = true ->
  Forall2 P (map G (mat dq Q)) (vec d rs).
Proof.
  intros f P p d n g G dq Hf. induction Q as [|q Q IH]; intros [|r rs] H; simpl in *; try discriminate; constructor;
    apply andb_prop in H; destruct H as [Hl H]; apply andb_prop in H; destruct H as [H H']; auto.
  apply IH. now rewrite Hl, H'.
Qed.
Theorem spectra_sound : forall p pe s dk K dx X dq Q all, prompt_ok K = true ->
  forallb (spectrumI p (length (hd [] X)) (triangles p pe s dk K dx X dq Q)) all = true ->
  Forall (spectra (map (covariance_matrix s (mat dk K) (mat dx X)) (mat dq Q))) all.
Proof.
  intros p pe s dk K dx X dq Q all Hk H. rewrite forallb_forall in H. apply Forall_forall. intros b Hb.
  specialize (H b Hb). clear Hb.
  assert (Hg : forall q a b, covariance_at s (mat dk K) (mat dx X) q a b = covariance_at s (mat dk K) (mat dx X) q b a)
    by (intros; apply covariance_sym).
  destruct b as [d rs|d rs]; unfold spectrumI, triangles in H; simpl.
  - refine (all_correct (aboveI p) _ p d _ _ _ dq _ Q rs H). intros q r Hp.
    change (covariance_matrix s (mat dk K) (mat dx X) (vec dq q))
      with (full (covariance_at s (mat dk K) (mat dx X) (vec dq q)) 0 (columns (mat dx X))).
    apply eigenvalues_above; auto. rewrite columns_mat at 1. refine (pivots_correct p _ _ _ _ Hp).
    apply above_correct. apply enc_ratio. now apply enc_triangle.
  - refine (all_correct (belowI p) _ p d _ _ _ dq _ Q rs H). intros q r Hp.
    change (covariance_matrix s (mat dk K) (mat dx X) (vec dq q))
      with (full (covariance_at s (mat dk K) (mat dx X) (vec dq q)) 0 (columns (mat dx X))).
    apply eigenvalues_below; auto. rewrite columns_mat at 1. refine (pivots_correct p _ _ _ _ Hp).
    apply below_correct. apply enc_ratio. now apply enc_triangle.
Qed.
End Spectrum.
