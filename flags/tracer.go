package flags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// tracer observes an evaluation and builds its trace. Evaluations without a trace have a nil
// tracer; its methods return at once.
type tracer struct {
	set        *Set
	evaluation *evaluation
	trace      *Trace
	slots      map[int32]bool // slots of the facts that were used

	flag      *FlagTrace
	compiled  *compiledFlag
	condition *ConditionTrace
	// open is the stack of nodes and cohorts that are being evaluated; new filters belong to
	// the last.
	open    []*FilterTrace
	cohorts []*CohortTrace
}

// Methods that are called for every flag, condition and property are split in two, so that
// the nil check is inlined into the callers and evaluations without a trace make no calls.

func (t *tracer) beginFlag(f *compiledFlag) {
	if t != nil {
		t.showFlag(f)
	}
}

func (t *tracer) endFlag(d *Decision) {
	if t != nil {
		t.showDecision(d)
	}
}

func (t *tracer) met(v verdict) {
	if t != nil {
		t.showMet(v)
	}
}

func (t *tracer) beginCondition(i int, cond *compiledCondition) {
	if t != nil {
		t.showCondition(i, cond)
	}
}

func (t *tracer) filter(f *filter, seen *fact, v verdict) {
	if t != nil {
		t.showFilter(f, seen, v)
	}
}

func (t *tracer) skip(filters []filter) {
	if t != nil {
		t.showSkipped(filters)
	}
}

func (t *tracer) rollout(b *bucketing, cond *compiledCondition, hashed bool, in verdict) {
	if t != nil {
		t.showRollout(b, cond, hashed, in)
	}
}

//go:noinline
func (t *tracer) showFlag(f *compiledFlag) {
	t.compiled, t.condition = f, nil
	t.flag = &FlagTrace{Key: f.key()}
	t.trace.Flags = append(t.trace.Flags, t.flag)
}

func (t *tracer) showDecision(d *Decision) {
	t.flag.Decision = traceDecision(d)
	for i := len(t.flag.Conditions); i < len(t.compiled.conditions); i++ {
		c := &ConditionTrace{Index: i, For: t.bucketedBy(&t.compiled.conditions[i]), Outcome: "not reached"}
		t.condition = c
		t.showSkipped(t.compiled.conditions[i].filters)
		t.flag.Conditions = append(t.flag.Conditions, c)
	}
	t.flag.Decided = t.decided(d)
	t.condition = nil
}

// showMet sets the outcome of a condition according to its requirements.
func (t *tracer) showMet(v verdict) {
	switch e := t.evaluation; {
	case e.failure != NoReason:
		t.condition.Outcome = e.failure.String()
	case v == unknown || e.mayFail:
		t.condition.Outcome = unknown.String()
	case v == no:
		t.condition.Outcome = NoConditionMatch.String()
	default:
		t.condition.Outcome = ConditionMatch.String()
	}
}

func (t *tracer) bucketedBy(cond *compiledCondition) string {
	if !cond.grouped {
		return "person"
	}
	if cond.group == "" {
		return "group of a type that is not defined"
	}
	return "group " + cond.group
}

//go:noinline
func (t *tracer) showCondition(i int, cond *compiledCondition) {
	t.condition = &ConditionTrace{Index: i, For: t.bucketedBy(cond), Reached: true}
	t.flag.Conditions = append(t.flag.Conditions, t.condition)
	t.open = t.open[:0]
}

func (t *tracer) noGroup() {
	if t == nil {
		return
	}
	t.condition.Outcome = NoGroupType.String()
	t.condition.Note = "the request names no such group"
}

// noBucket records that a condition needs a bucket and the subject has no identifier for it.
func (t *tracer) noBucket(outcome ReasonCode, note string) {
	if t != nil {
		t.condition.Outcome, t.condition.Note = outcome.String(), note
	}
}

// add adds a filter to the innermost open node, or to the condition.
func (t *tracer) add(f *FilterTrace) {
	if n := len(t.open); n > 0 {
		t.open[n-1].Items = append(t.open[n-1].Items, f)
		return
	}
	if t.condition != nil {
		t.condition.Filters = append(t.condition.Filters, f)
	}
}

// showFilter records a requirement with the compared value and the result.
func (t *tracer) showFilter(f *filter, seen *fact, v verdict) {
	out := t.describe(f)
	out.Result = v.String()
	if seen != nil {
		t.slots[f.target] = true
		out.setSeen(seen)
	}
	switch {
	case f.kind == filterFlag && f.target >= 0:
		t.setSeenFlag(f, out)
	case f.kind == filterCohort:
		co := &t.set.cohorts[f.target]
		out.Cohort = &CohortTrace{ID: co.id, Result: co.failure.String()}
		out.Note = t.set.cohortProblem(f.target)
	case f.operator == nil:
		out.Kind, out.Note = "behavioral", "about events: not evaluated here, no match"
	case f.kind == filterNever:
		out.Note = "can never match"
	case t.evaluation.timedOut:
		t.evaluation.timedOut = false
		out.Note = "the regular expression ran into its time limit, or the text is longer than its limit: no match"
	case v == invalid && out.Note == "":
		out.Note = "cannot be compared: no match"
	}
	t.add(out)
}

func (f *FilterTrace) setSeen(seen *fact) {
	f.Source = seen.source
	switch seen.state {
	case factPresent:
		f.Seen.Value, f.Type = seen.value, typeName(seen.value)
		if text, ok := seen.value.(string); ok {
			f.Seen.Value = strings.Clone(text)
		}
	case factMissing:
		f.Type = "missing"
	case factUnknown:
		f.Type = "unknown"
		if bad, ok := seen.value.(values.NoForm); ok {
			f.Seen.Value, f.Note = bad, "the value cannot be encoded as JSON: "+bad.Problem
		}
	}
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int64, uint64:
		return "integer"
	case float64, values.Decimal:
		return "float"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "unsupported"
}

func (t *tracer) setSeenFlag(f *filter, out *FilterTrace) {
	e := t.evaluation
	s := &e.states[f.target]
	out.Source, out.Type = SourceNone, "flag"
	switch {
	case s.epoch != e.epoch:
		out.Seen.Value, out.Note = false, "the flag is not evaluated in this request"
	case s.value == valueNone:
		out.Note = "the flag failed and has no value"
	case s.value == valueUnknown:
		out.Type = "unknown"
	case s.variant != "":
		out.Seen.Value = s.variant
	default:
		out.Seen.Value = s.value == valueOn
	}
}

// describe returns the trace of a requirement without a value and result.
func (t *tracer) describe(f *filter) *FilterTrace {
	out := &FilterTrace{Negated: f.leaf, Result: "not reached"}
	if f.operator != nil {
		out.Operator = f.operator.name
	}
	switch f.kind {
	case filterProperty:
		s := &t.set.slots[f.target]
		out.Key = s.key
		out.Kind = s.undecided.Fact
		if s.kind == slotGroup {
			out.Kind += " of " + s.groupType
		}
		out.Operand.Value = f.matcher.operand(&t.evaluation.reader)
	case filterNever:
		out.Kind, out.Key = "property", f.name
	case filterFlag:
		out.Kind = "flag"
		if f.target >= 0 {
			out.Key = t.set.flags[f.target].key()
		}
		switch {
		case f.wantOn || f.wantOff:
			out.Operand.Value = f.wantOn
		default:
			out.Operand.Value = f.name
		}
	case filterCohort:
		out.Kind = "cohort"
		out.Operand.Value = t.set.cohorts[f.target].id
	}
	return out
}

// showSkipped records the requirements after the one that failed.
func (t *tracer) showSkipped(filters []filter) {
	for i := range filters {
		t.add(t.describe(&filters[i]))
	}
}

func (t *tracer) enrollment(slot int32, seen *fact) {
	if t == nil {
		return
	}
	t.slots[slot] = true
	f := &FilterTrace{Kind: "person property", Key: t.set.slots[slot].key, Operator: Exact, Result: "not set"}
	f.Operand.Value = true
	f.setSeen(seen)
	if seen.state == factPresent {
		f.Result = verdictOf(seen.value == true || seen.value == "true").String()
	}
	t.flag.Enrollment = f
}

func (t *tracer) holdout(h *compiledHoldout) {
	if t == nil {
		return
	}
	b := &BucketTrace{Hashed: !h.everyone, Share: h.share, Result: "yes"}
	if b.Hashed {
		b.Input, b.Hash, b.Bucket = holdoutPrefix+t.evaluation.holdoutID, SHA1, t.evaluation.holdoutBucket
		b.Result = verdictOf(b.Bucket <= h.share).String()
	}
	t.flag.Holdout = b
}

func (t *tracer) showRollout(b *bucketing, cond *compiledCondition, hashed bool, in verdict) {
	out := &BucketTrace{Hashed: hashed, Share: cond.share, Result: in.String()}
	if hashed {
		out.Input, out.Hash, out.Bucket = b.input(""), b.f.hash(), b.rolloutBucket
	}
	t.condition.Rollout = out
	if in == no {
		t.condition.Outcome = OutOfRolloutBound.String()
	}
}

func (t *tracer) variant(b *bucketing, bucket float64, variant int32) {
	if t == nil {
		return
	}
	out := &BucketTrace{Hashed: true, Input: b.input(variantSalt), Hash: b.f.hash(), Bucket: bucket, Result: "none"}
	if variant >= 0 {
		out.Result, out.Share = b.f.variants[variant].key, b.f.variants[variant].below
	}
	t.condition.Variant = out
}

// input returns the hash input. An empty identifier is not hashed: its bucket is 0.
func (b *bucketing) input(salt string) string {
	if b.id == "" {
		return ""
	}
	return b.f.prefix + b.id + salt
}

func (f *compiledFlag) hash() Hash {
	if f.has(bitMurmur3) {
		return Murmur3
	}
	return SHA1
}

func (t *tracer) beginCohort(co *compiledCohort) {
	if t == nil {
		return
	}
	t.cohorts = append(t.cohorts, &CohortTrace{ID: co.id, Static: co.static})
	t.open = append(t.open, &FilterTrace{Kind: "all"})
}

func (t *tracer) endCohort(in verdict) {
	if t == nil {
		return
	}
	n := len(t.open) - 1
	root := t.open[n]
	t.open = t.open[:n]
	co := t.cohorts[len(t.cohorts)-1]
	co.Result = in.String()
	if len(root.Items) == 1 {
		co.Tree = root.Items[0]
	}
}

func (t *tracer) repeatCohort(co *compiledCohort, in verdict) {
	if t == nil {
		return
	}
	t.cohorts = append(t.cohorts, &CohortTrace{ID: co.id, Static: co.static, Result: in.String(), Repeated: true})
}

// cohortFilter records a membership that was just evaluated.
func (t *tracer) cohortFilter(f *filter, v verdict) {
	if t == nil {
		return
	}
	out := t.describe(f)
	out.Result = v.String()
	n := len(t.cohorts) - 1
	out.Cohort = t.cohorts[n]
	t.cohorts = t.cohorts[:n]
	t.add(out)
}

func (t *tracer) beginNode(n *compiledNode) {
	if t == nil {
		return
	}
	kind := "all"
	if n.any {
		kind = "any"
	}
	f := &FilterTrace{Kind: kind}
	t.add(f)
	t.open = append(t.open, f)
}

func (t *tracer) endNode(v verdict) {
	if t == nil {
		return
	}
	n := len(t.open) - 1
	t.open[n].Result = v.String()
	t.open = t.open[:n]
}
