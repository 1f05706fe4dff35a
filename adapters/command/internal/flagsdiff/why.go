package flagsdiff

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Cause is the kind of difference between two definitions that changed a result.
type Cause string

// The causes of a change.
const (
	CauseNew         Cause = "new"         // the flag is only in the second set
	CauseRemoved     Cause = "removed"     // the flag is only in the first set
	CauseActivated   Cause = "activated"   // the flag was not active before
	CauseDeactivated Cause = "deactivated" // the flag is no longer active
	CauseUnanswered  Cause = "unanswered"  // on one side the flag is on, or depends on, a cycle of dependencies
	CauseFailed      Cause = "failed"      // the evaluation failed or was not decided on one side
	CausePinned      Cause = "pinned"      // a value is pinned for the subject
	CauseEnrollment  Cause = "enrollment"  // early access
	CauseHoldout     Cause = "holdout"
	CauseCondition   Cause = "condition" // a condition is new, removed or has different requirements
	CauseOrder       Cause = "order"     // a different condition matches first
	CauseGroup       Cause = "group"     // a condition applies to a different group or person
	CauseProperty    Cause = "property"  // the same requirement compares differently
	CauseCohort      Cause = "cohort"    // the same cohort has different members
	CauseDependency  Cause = "dependency"
	CauseRollout     Cause = "rollout"  // the share of a rollout changed
	CauseBucket      Cause = "bucket"   // the subject has a different bucket
	CauseVariants    Cause = "variants" // the variants, their shares or the forced variant changed
	CausePayload     Cause = "payload"
	CauseReason      Cause = "reason" // the same result for a different reason
)

// Why explains a change.
type Why struct {
	Cause Cause `json:"cause"`
	// Text describes the difference; Before and After are the lines of the traces that decided.
	Text   string `json:"text"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// explain evaluates a changed flag on both sides once more, with a trace, and compares the traces.
func (d *Diff) explain(key string, sub *flags.Subject, now time.Time) Why {
	was, is := d.before.Explain(key, sub, now, d.selection()), d.after.Explain(key, sub, now, d.selection())
	w := Why{Before: was.Decided, After: is.Decided}
	if !was.Found || !is.Found {
		w.Cause, w.Text = d.presence(key), presenceTexts[d.presence(key)]
		return w
	}
	// The last flag of a trace is the flag itself; the flags that it depends on precede it.
	c := &comparison{before: was.Flags[len(was.Flags)-1], after: is.Flags[len(is.Flags)-1]}
	w.Cause, w.Text = c.find()
	return w
}

// presenceTexts are the texts of the causes that presence returns.
var presenceTexts = map[Cause]string{
	CauseNew: "the flag is new", CauseRemoved: "the flag is removed", CauseActivated: "the flag was not active",
	CauseDeactivated: "the flag is not active any more", CauseUnanswered: "the flag is in, or depends on, a cycle of dependencies on one side",
}

// comparison finds the first difference between two evaluations of a flag for one subject, in the
// order of evaluation.
type comparison struct{ before, after *flags.FlagTrace }

// find returns the cause of the difference and its text. The cases are in the order of evaluation:
// failures first, then pinned values, early access, holdouts and conditions.
func (c *comparison) find() (Cause, string) {
	was, is := &c.before.Decision, &c.after.Decision
	switch {
	case was.Failed || is.Failed || was.Undecided != nil || is.Undecided != nil:
		return CauseFailed, "it was: " + c.before.Decided + "; it is: " + c.after.Decided
	case was.Code == flags.MissingDependency.String() || is.Code == flags.MissingDependency.String():
		return CauseDependency, "a flag that it depends on is missing on one side"
	case was.Code == flags.Pinned.String() || is.Code == flags.Pinned.String():
		return CausePinned, "it was: " + c.before.Decided + "; it is: " + c.after.Decided
	case isDecided(c.before.Enrollment) != isDecided(c.after.Enrollment):
		return CauseEnrollment, "early access " + nowOrNoLonger(isDecided(c.after.Enrollment)) + " decides"
	case isDecided(c.before.Enrollment):
		return CausePayload, "the payload has changed"
	case isHeldOut(c.before.Holdout) != isHeldOut(c.after.Holdout):
		return CauseHoldout, fmt.Sprintf("the holdout's share was %s and is %s", holdoutShare(c.before.Holdout), holdoutShare(c.after.Holdout))
	case isHeldOut(c.before.Holdout):
		if was.Variant != is.Variant {
			return CauseHoldout, "the holdout has changed"
		}
		return CausePayload, "the payload has changed"
	case was.ReasonOpen != nil || is.ReasonOpen != nil:
		return CauseCondition, "on one side it is not known which condition decides; it was: " + c.before.Decision.String() + "; it is: " + c.after.Decision.String()
	}
	return c.conditions()
}

// isDecided reports whether early access decided: f is nil without early access, and its property
// may be missing or unknown.
func isDecided(f *flags.FilterTrace) bool {
	return f != nil && f.Type != "missing" && f.Type != "unknown"
}

// isHeldOut reports whether the subject is in the holdout; b is nil for a flag without one.
func isHeldOut(b *flags.BucketTrace) bool { return b != nil && b.Result == "yes" }

// nowOrNoLonger returns the word for a text about a difference.
func nowOrNoLonger(now bool) string {
	if now {
		return "now"
	}
	return "no longer"
}

// holdoutShare returns the share of a holdout for a text.
func holdoutShare(b *flags.BucketTrace) string {
	if b == nil {
		return "none"
	}
	return percent(b.Share)
}

// conditions compares the conditions that decided: it first looks for the previously deciding
// condition on the new side, then for the now deciding one on the old side.
func (c *comparison) conditions() (Cause, string) {
	was, is := decidingCondition(c.before), decidingCondition(c.after)
	if was != nil {
		// First follow the condition that decided before.
		peer := findPeer(was, c.after, len(c.before.Conditions))
		switch {
		case peer == nil:
			return CauseCondition, fmt.Sprintf("condition %d, which decided before, is removed or has other requirements: %s", was.Index+1, requirements(was))
		case peer == is:
			return c.answers(was, is)
		case peer.Reached:
			return c.condition(was, peer)
		case is == nil:
			return CauseOrder, fmt.Sprintf("condition %d, which decided before, is not reached: %s", was.Index+1, c.after.Decided)
		}
	}
	if is == nil { // both sides match no condition; only their reasons differ
		return CauseReason, "it was: " + c.before.Decided + "; it is: " + c.after.Decided
	}
	// Then look for the origin of the condition that decides now.
	peer := findPeer(is, c.before, len(c.after.Conditions))
	switch {
	case peer == nil:
		return CauseCondition, fmt.Sprintf("condition %d, which decides now, is new or has other requirements: %s", is.Index+1, requirements(is))
	case peer.Reached:
		return c.condition(peer, is)
	}
	return CauseOrder, fmt.Sprintf("condition %d, which decides now, was not reached before", is.Index+1)
}

// decidingCondition returns the condition that matched, or nil if no condition did.
func decidingCondition(f *flags.FlagTrace) *flags.ConditionTrace {
	if f.Decision.Code != flags.ConditionMatch.String() {
		return nil
	}
	return f.Conditions[f.Decision.Condition]
}

// findPeer returns the condition of f with the same requirements as cond, preferably at the same
// index. If there is none and the number of conditions is the same, it returns the condition at the
// same index if that checks the same properties.
func findPeer(cond *flags.ConditionTrace, f *flags.FlagTrace, count int) *flags.ConditionTrace {
	same := func(c *flags.ConditionTrace) bool { return requirements(c) == requirements(cond) }
	if cond.Index < len(f.Conditions) && same(f.Conditions[cond.Index]) {
		return f.Conditions[cond.Index]
	}
	for _, c := range f.Conditions {
		if same(c) {
			return c
		}
	}
	if count == len(f.Conditions) && len(f.Conditions[cond.Index].Filters) > 0 {
		return f.Conditions[cond.Index]
	}
	return nil
}

// requirements returns the requirements of a condition in words.
func requirements(c *flags.ConditionTrace) string {
	parts := make([]string, len(c.Filters))
	for i, f := range c.Filters {
		parts[i] = f.Requirement()
	}
	if len(parts) == 0 {
		return "about a " + c.For + ", no requirement"
	}
	return "about a " + c.For + ", " + strings.Join(parts, " and ")
}

// condition explains the difference of a condition that matched on one side only.
func (c *comparison) condition(before, after *flags.ConditionTrace) (Cause, string) {
	name := fmt.Sprintf("condition %d", after.Index+1)
	if before.For != after.For {
		return CauseGroup, fmt.Sprintf("%s was about a %s and is about a %s", name, before.For, after.For)
	}
	if requirements(before) != requirements(after) {
		return CauseCondition, fmt.Sprintf("the requirements of %s were %s and are %s", name, requirements(before), requirements(after))
	}
	// Both have the same requirements, so the filters correspond.
	for i := range before.Filters {
		a, b := before.Filters[i], after.Filters[i]
		if a.Result == b.Result {
			continue
		}
		switch a.Kind {
		case "cohort":
			return CauseCohort, fmt.Sprintf("%s: membership of cohort %s was %s and is %s", name, b.Operand, member(a), member(b))
		case "flag":
			return CauseDependency, fmt.Sprintf("%s: flag %q was %s and is %s", name, b.Key, a.Seen, b.Seen)
		}
		return CauseProperty, fmt.Sprintf("%s: %s; it was %s: the properties are compared differently", name, b, a.Result)
	}
	return c.shares(name, before.Rollout, after.Rollout)
}

// member returns the result of a cohort filter: that of the cohort's conditions if they were
// evaluated, without the operator in or not_in.
func member(f *flags.FilterTrace) string {
	if f.Cohort == nil {
		return f.Result
	}
	return f.Cohort.Result
}

// shares explains the difference of two rollouts with different outcomes.
func (c *comparison) shares(name string, before, after *flags.BucketTrace) (Cause, string) {
	switch {
	case before == nil || after == nil:
		return CauseCondition, name + " is evaluated differently"
	case before.Share != after.Share:
		text := fmt.Sprintf("the rollout of %s was %s and is %s", name, percent(before.Share), percent(after.Share))
		for _, b := range []*flags.BucketTrace{after, before} {
			if b.Hashed {
				return CauseRollout, text + "; the bucket is " + strconv.FormatFloat(b.Bucket, 'g', -1, 64)
			}
		}
		return CauseRollout, text
	}
	return CauseBucket, fmt.Sprintf("%s has the same rollout, and the bucket was %s of %q and is %s of %q", name, before.Hash, before.Input, after.Hash, after.Input)
}

// answers explains the difference in the results of conditions that decided on both sides.
func (c *comparison) answers(condBefore, condAfter *flags.ConditionTrace) (Cause, string) {
	before, after := &c.before.Decision, &c.after.Decision
	name := fmt.Sprintf("condition %d", condAfter.Index+1)
	switch a, b := condBefore.Variant, condAfter.Variant; {
	case before.Variant == after.Variant && string(before.Payload) != string(after.Payload):
		return CausePayload, "the payload has changed"
	case before.Variant == after.Variant:
		return CauseReason, name + " decided as condition " + fmt.Sprint(condBefore.Index+1) + " before"
	case a == nil || b == nil:
		return CauseVariants, fmt.Sprintf("%s gave %s and gives %s: the variants, or the variant that it forces, have changed", name, before.ValueText(), after.ValueText())
	case a.Bucket != b.Bucket:
		return CauseBucket, fmt.Sprintf("the variant's bucket was %s of %q and is %s of %q", a.Hash, a.Input, b.Hash, b.Input)
	default:
		return CauseVariants, fmt.Sprintf("the shares of the variants moved: bucket %s was in %s and is in %s", strconv.FormatFloat(b.Bucket, 'g', -1, 64), a.Result, b.Result)
	}
}

// percent returns a share from 0 to 1 as a percentage.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 10, 64) + " %" }
