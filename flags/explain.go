package flags

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Explain evaluates one flag like [Set.Select] and records how it got the result; the Keys of
// sel are ignored. It runs the same code as every other evaluation, with a tracer, so that
// evaluations without one have no overhead. Lists and objects among the properties are shared
// between the subject and the trace.
func (s *Set) Explain(key string, sub *Subject, now time.Time, sel Selection) *Trace {
	s, sub, _ = orEmptyInput(s, sub, nil)
	sel.Keys, sel.Contexts = []string{key}, slices.Clone(sel.Contexts)
	t := &Trace{Flag: key, At: now, Selection: sel}
	var out Decisions
	tracer := &tracer{set: s, trace: t, slots: map[int32]bool{}}
	s.selectTraced(sub, now, &sel, &out, tracer)
	if d := out.Find(key); d != nil {
		t.Found = true
		t.Decision = traceDecision(d)
		t.Decided = t.Flags[len(t.Flags)-1].Decided
	} else {
		t.Decided = s.absence(key, &sel)
	}
	t.Subject = tracer.subject(sub)
	return t
}

// Replay repeats the evaluation of a trace, with the facts in the trace only. With the set
// that the trace is from, the result is the same. It returns false if the flag is not
// evaluated.
func (s *Set) Replay(t *Trace) (Decision, bool) {
	if t == nil {
		return Decision{}, false
	}
	var out Decisions
	s.Select(&t.Subject.Subject, t.At, &t.Selection, &out)
	if d := out.Find(t.Flag); d != nil {
		return *d, true
	}
	return Decision{}, false
}

// absence describes why a flag has no result.
func (s *Set) absence(key string, sel *Selection) string {
	switch s.Status(key) {
	case Absent:
		return "there is no flag " + values.Quote(key)
	case Inactive:
		return "the flag is not active: it has no value, and is false for flags that depend on it"
	case Unanswered:
		return "the flag is in, or depends on, a cycle of dependencies: it has no value"
	}
	if !s.flags[s.byKey[key]].isSelected(sel) {
		return "the flag is left out by the runtime, context or survey filter of the request"
	}
	return "the flag has no value"
}

// traceDecision converts a decision to its form in a trace.
func traceDecision(d *Decision) TraceDecision {
	return TraceDecision{
		Enabled: d.Enabled, Variant: d.Variant, Payload: d.Payload, Code: d.Reason.Code.String(),
		Condition: d.Reason.Condition, Description: d.Reason.Description(), Failed: d.Failed(), Undecided: d.Undecided, ReasonOpen: d.ReasonOpen,
	}
}

// subject copies the facts that the evaluation used, each to its layer, and the identifiers.
func (t *tracer) subject(in *Subject) TraceSubject {
	out := Subject{
		DistinctID: in.DistinctID, AnonymousID: in.anonymousID(), DeviceID: in.deviceID(), Groups: maps.Clone(in.Groups),
		LocatedByPeer: in.LocatedByPeer, Partial: in.Partial,
	}
	from, to := &Stored{}, &Stored{} // used for a subject without stored facts
	if st := in.Stored; st != nil {
		from, to = st, &Stored{
			Failure: st.Failure, OverridesFailure: st.OverridesFailure,
			Cohorts: slices.Clone(st.Cohorts), Overrides: maps.Clone(st.Overrides),
		}
		out.Stored = to
	}
	for i := range t.slots {
		switch s := &t.set.slots[i]; s.kind {
		case slotCreatedAt:
			to.CreatedAt = from.CreatedAt
		case slotGroup:
			copyGroupFact(&out.GroupProperties, in.GroupProperties, s)
			copyGroupFact(&to.Groups, from.Groups, s)
		default:
			for _, key := range []string{s.key, s.initial} {
				copyFact(&out.Person, in.Person, key)
				copyFact(&out.Located, in.Located, key)
				copyFact(&to.Person, from.Person, key)
			}
		}
	}
	return TraceSubject{out}
}

// copyFact copies a property if it is present.
func copyFact(to *Properties, from Properties, key string) {
	v, ok := from[key]
	if !ok {
		return
	}
	if *to == nil {
		*to = Properties{}
	}
	(*to)[key] = v
}

// copyGroupFact copies the property of a group slot if it is present.
func copyGroupFact(to *map[string]Properties, from map[string]Properties, s *slot) {
	group := (*to)[s.groupType]
	if copyFact(&group, from[s.groupType], s.key); group == nil {
		return
	}
	if *to == nil {
		*to = map[string]Properties{}
	}
	(*to)[s.groupType] = group
}

// decided describes in one line how a flag was decided.
func (t *tracer) decided(d *Decision) string {
	f := t.flag
	switch {
	case d.Undecided != nil:
		return d.Undecided.Error()
	case d.Failed():
		return "failed: " + d.Reason.Description()
	case d.ReasonOpen != nil:
		return "certain, but not for which reason: that could change with the " + d.ReasonOpen.describe()
	}
	switch d.Reason.Code {
	case Pinned:
		return "a value is pinned for " + f.Pin.For
	case SuperConditionValue:
		return "early access: the person property " + f.Enrollment.Key + " is " + show(f.Enrollment.Seen.Value)
	case HoldoutConditionValue:
		return "in the holdout: " + f.Holdout.String()
	case ConditionMatch:
		c := f.Conditions[d.Reason.Condition]
		line := fmt.Sprintf("condition %d of %d matched", c.Index+1, len(f.Conditions))
		if c.Rollout != nil && c.Rollout.Hashed {
			line += ": " + c.Rollout.String()
		}
		if c.Variant != nil {
			line += "; variant " + c.Variant.Result + " by bucket " + decimal(c.Variant.Bucket)
		} else if d.Variant != "" {
			line += "; variant " + d.Variant
		}
		return line
	case MissingDependency:
		return "it depends, directly or not, on a flag that does not exist"
	}
	if d.Reason.Condition < 0 {
		return "it has no conditions"
	}
	c := f.Conditions[d.Reason.Condition]
	line := fmt.Sprintf("no condition matched; condition %d came closest: ", c.Index+1)
	if c.Note != "" {
		return line + c.Note
	}
	if c.Outcome == OutOfRolloutBound.String() && c.Rollout != nil {
		return line + c.Rollout.String()
	}
	for _, filter := range c.Filters {
		if filter.Result == "no" || filter.Result == "invalid" {
			return line + filter.String()
		}
	}
	return line + d.Reason.Description()
}

// decimal formats a number with the fewest digits that identify it.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// percent formats a share from 0 to 1 as a percentage.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 10, 64) + " %" }

// String returns the bucket and its comparison with the share as text.
func (b *BucketTrace) String() string {
	if !b.Hashed {
		return percent(b.Share) + " of all users, no hash needed: " + b.Result
	}
	sign := "<="
	if b.Result == "no" {
		sign = ">"
	}
	return fmt.Sprintf("%s of %q is %s %s %s", b.Hash, b.Input, decimal(b.Bucket), sign, decimal(b.Share))
}

// Requirement returns the requirement as text, without its result.
func (f *FilterTrace) Requirement() string {
	text := f.Kind
	if f.Key != "" {
		text += " " + values.Quote(f.Key)
	}
	if f.Operator != "" {
		text += " " + string(f.Operator)
	}
	if f.Operator != IsSet && f.Operator != IsNotSet {
		text += " " + show(f.Operand.Value)
	}
	return text
}

// String returns the requirement, the value that was compared and the result as text.
func (f *FilterTrace) String() string {
	var b strings.Builder
	switch f.Kind {
	case "all":
		b.WriteString("all of")
	case "any":
		b.WriteString("any of")
	case "cohort":
		fmt.Fprintf(&b, "%s cohort", f.Operator)
		if f.Operand.Value != nil {
			b.WriteString(" " + show(f.Operand.Value))
		}
	case "flag":
		fmt.Fprintf(&b, "flag %q is %s, wanted %s", f.Key, show(f.Seen.Value), show(f.Operand.Value))
	default:
		fmt.Fprintf(&b, "%s %q %s", f.Kind, f.Key, f.Operator)
		if f.Operator != IsSet && f.Operator != IsNotSet {
			b.WriteString(" " + show(f.Operand.Value))
		}
		switch f.Type {
		case "":
		case "missing", "unknown":
			b.WriteString("; it is " + f.Type)
		default:
			fmt.Fprintf(&b, "; saw %s (%s, %s)", show(f.Seen.Value), f.Type, f.Source)
		}
	}
	b.WriteString(": " + f.Result)
	if f.Negated {
		b.WriteString(", negated")
	}
	if f.Note != "" {
		b.WriteString(" (" + f.Note + ")")
	}
	return b.String()
}

// String returns the whole trace as indented text, for people. Its format may change.
func (t *Trace) String() string {
	var b strings.Builder
	w := &traceWriter{b: &b}
	w.line(0, "flag %q at %s", t.Flag, t.At.UTC().Format(time.RFC3339))
	if !t.Found {
		w.line(1, "no answer: %s", t.Decided)
		return b.String()
	}
	w.line(1, "answer: %s", &t.Decision)
	w.line(1, "because: %s", t.Decided)
	for i, f := range t.Flags {
		if i < len(t.Flags)-1 {
			w.line(1, "depends on flag %q: %s, because %s", f.Key, &f.Decision, f.Decided)
			w.flag(2, f)
			continue
		}
		w.flag(1, f)
	}
	return b.String()
}

// String returns the value and its reason, or why there is no value.
func (d *TraceDecision) String() string {
	value := strconv.FormatBool(d.Enabled)
	if d.Variant != "" {
		value = strconv.Quote(d.Variant)
	}
	switch {
	case d.Undecided != nil:
		return "not decided"
	case d.Failed:
		return "failed (" + d.Code + ")"
	case d.ReasonOpen != nil:
		return value + " (reason not known: " + d.ReasonOpen.describe() + ")"
	}
	return value + " (" + d.Code + ": " + d.Description + ")"
}

// traceWriter writes the lines of a trace's text.
type traceWriter struct{ b *strings.Builder }

// maxIndent limits the indentation, so that deeply nested cohorts are not mostly white space.
const maxIndent = 100

func (w *traceWriter) line(depth int, format string, args ...any) {
	w.b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	fmt.Fprintf(w.b, format, args...)
	w.b.WriteByte('\n')
}

// flag writes the steps of one flag's evaluation, in their order.
func (w *traceWriter) flag(depth int, f *FlagTrace) {
	if f.Pin != nil {
		w.line(depth, "pinned value: %s", f.Pin)
	}
	if f.Enrollment != nil {
		w.line(depth, "early access: %s", f.Enrollment)
	}
	if f.Holdout != nil {
		w.line(depth, "holdout: %s: %s", f.Holdout, f.Holdout.Result)
	}
	for _, c := range f.Conditions {
		note := ""
		if c.Note != "" {
			note = " (" + c.Note + ")"
		}
		w.line(depth, "condition %d, about a %s: %s%s", c.Index+1, c.For, c.Outcome, note)
		for _, filter := range c.Filters {
			w.filter(depth+1, filter)
		}
		if c.Rollout != nil {
			w.line(depth+1, "rollout: %s", c.Rollout)
		}
		if v := c.Variant; v != nil {
			w.line(depth+1, "variant: %s of %q is %s: %s", v.Hash, v.Input, decimal(v.Bucket), v.Result)
		}
	}
}

// filter writes a requirement, then the cohort or the items in it.
func (w *traceWriter) filter(depth int, f *FilterTrace) {
	w.line(depth, "%s", f)
	if co := f.Cohort; co != nil {
		switch {
		case co.Repeated:
			w.line(depth+1, "cohort %d: %s, as above", co.ID, co.Result)
		case co.Static:
			w.line(depth+1, "cohort %d is a list: %s", co.ID, co.Result)
		case co.Tree != nil:
			w.filter(depth+1, co.Tree)
		}
	}
	for _, item := range f.Items {
		w.filter(depth+1, item)
	}
}
