package guarded

// Situation has the facts about a step that do not follow from events.
type Situation struct {
	FlagDeleted, FlagChanged, FlagInactive bool
	Settled                                bool // the settling time of the step has ended
	DwellOver                              bool
	IngestionBehind                        bool // events are not complete yet
	TrustClients                           bool // Integrity is ignored, for a dry run
}

// condition is a row of the table of decisions. The first condition that holds determines the
// decision, and all that hold add their reason.
type condition struct {
	reason   string
	decision Decision
	holds    func(r *Rollout, e *Evaluation, s *Situation) bool
}

// conditions are the rows of §4.7, in its order. Mismatches and metrics, except for guardrails,
// count only after the settling time.
var conditions = []condition{
	{"flag_gone", Fail, func(_ *Rollout, _ *Evaluation, s *Situation) bool { return s.FlagDeleted }},
	{"flag_changed", Hold, func(_ *Rollout, _ *Evaluation, s *Situation) bool { return s.FlagChanged && !s.FlagDeleted }},
	{"guardrail", Rollback, func(_ *Rollout, e *Evaluation, _ *Situation) bool { return hasRegression(e.Guardrails) }},
	{"signal", Hold, func(_ *Rollout, e *Evaluation, s *Situation) bool { return s.Settled && hasRegression(e.Signals) }},
	{"sample_ratio_mismatch", Hold, func(r *Rollout, e *Evaluation, s *Situation) bool {
		return s.Settled && e.SRM.Mismatch && !r.IgnoreSampleRatio
	}},
	{"assignment_mismatch", Hold, func(_ *Rollout, e *Evaluation, s *Situation) bool {
		return s.Settled && e.Integrity.isBroken() && !s.TrustClients
	}},
	{"metric_error", Hold, func(_ *Rollout, e *Evaluation, s *Situation) bool {
		return s.Settled && (hasError(e.Guardrails) || hasError(e.Signals))
	}},
	{"flag_inactive", Hold, func(_ *Rollout, _ *Evaluation, s *Situation) bool { return s.FlagInactive && !s.FlagDeleted }},
	{"", wait, func(_ *Rollout, _ *Evaluation, s *Situation) bool { return !s.DwellOver }},
	{"ingestion_lag", Hold, func(_ *Rollout, _ *Evaluation, s *Situation) bool { return s.DwellOver && s.IngestionBehind }},
	{"too_few_exposures", Hold, func(r *Rollout, e *Evaluation, s *Situation) bool {
		return s.DwellOver && min(e.Matured.Treatment, e.Matured.Control) < r.MinimumExposures
	}},
	{"approval", Hold, func(r *Rollout, e *Evaluation, s *Situation) bool {
		return s.DwellOver && e.Step+1 < len(r.Steps) && r.Steps[e.Step+1].Approve
	}},
	{"", Complete, func(r *Rollout, e *Evaluation, _ *Situation) bool { return e.Step+1 == len(r.Steps) }},
	{"", Advance, func(*Rollout, *Evaluation, *Situation) bool { return true }},
}

// Decide sets the decision of an evaluation and its reasons.
func (r *Rollout) Decide(e *Evaluation, s *Situation) {
	e.Decision, e.Reasons = "", []string{}
	for _, c := range conditions {
		if !c.holds(r, e, s) {
			continue
		}
		if e.Decision == "" {
			e.Decision = c.decision
		}
		if c.reason != "" {
			e.Reasons = append(e.Reasons, c.reason)
		}
	}
}

// hasRegression reports whether a metric is harmed.
func hasRegression(list []harm) bool {
	for i := range list {
		if list[i].Regression {
			return true
		}
	}
	return false
}

// hasError reports whether a metric could not be measured.
func hasError(list []harm) bool {
	for i := range list {
		if list[i].Error != nil {
			return true
		}
	}
	return false
}
