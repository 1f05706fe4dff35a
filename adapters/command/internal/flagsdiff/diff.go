// Package flagsdiff compares the results of two sets of flags for a series of subjects, and
// explains which difference between the definitions causes each change.
package flagsdiff

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Diff compares the results of two sets for one subject after another. It is not safe for
// concurrent use.
type Diff struct {
	before, after *flags.Set
	options       Options

	keys                            []string // of both sets, sorted, without duplicates
	totals                          map[string]*Total
	users                           int64
	changed                         int64
	decisionsBefore, decisionsAfter flags.Decisions
}

// Options are the settings of a Diff. The zero value compares all flags for every runtime, and
// returns every change.
type Options struct {
	// Keys restricts the comparison to these flags. If nil, all flags of both sets are compared.
	Keys []string
	// Reasons also counts a different reason for the same result as a change. A reason that is
	// unknown on one side (Decision.ReasonOpen) never counts as different.
	Reasons bool
	// Limit is how many changes of each flag are returned and explained; further changes are only
	// counted. 0 means no limit.
	Limit int64
}

// Answer is the result of a flag on one side.
type Answer struct {
	// Answered is false if the flag does not exist or is not active.
	Answered bool `json:"answered"`
	// Value is false, true or the name of the variant; null if Answered is false.
	Value   any             `json:"value"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Failed and Undecided mark results for which the evaluation did not succeed.
	Failed    bool `json:"failed,omitempty"`
	Undecided bool `json:"undecided,omitempty"`

	reason flags.Reason
	open   bool // the reason is unknown
}

// Change is a flag with different results for one subject.
type Change struct {
	Key        string `json:"flag"`
	DistinctID string `json:"distinct_id"`
	Before     Answer `json:"before"`
	After      Answer `json:"after"`
	Why        Why    `json:"why"`
}

// Total counts the changes of one flag.
type Total struct {
	Key     string `json:"flag"`
	Changed int64  `json:"changed"`
	Users   int64  `json:"users"`
	// Share is Changed / Users, from 0 to 1; 0 without users.
	Share float64 `json:"share"`
}

// Difference is a flag that only one side can evaluate.
type Difference struct {
	Key   string `json:"flag"`
	Cause Cause  `json:"cause"` // new, removed, activated, deactivated, unanswered
}

// New returns a comparison of two sets.
func New(before, after *flags.Set, options Options) *Diff {
	d := &Diff{before: before, after: after, options: options, totals: map[string]*Total{}}
	for _, s := range []*flags.Set{before, after} {
		for key := range s.All() {
			if options.Keys == nil || slices.Contains(options.Keys, key) {
				d.keys = append(d.keys, key)
			}
		}
	}
	slices.Sort(d.keys)
	// Most flags are in both sets.
	d.keys = slices.Compact(d.keys)
	return d
}

// Compare evaluates all flags for a subject on both sides and returns the differences, by key: in
// the value, in the payload, or in whether there is a result at all.
func (d *Diff) Compare(sub *flags.Subject, now time.Time) []Change {
	sel := d.selection()
	d.before.Select(sub, now, &sel, &d.decisionsBefore)
	d.after.Select(sub, now, &sel, &d.decisionsAfter)
	d.users++
	was, is := answersByKey(&d.decisionsBefore), answersByKey(&d.decisionsAfter)
	var out []Change
	// some is true if at least one flag changed.
	some := false
	for _, key := range d.keys {
		before, after := was[key], is[key]
		// A flag without a result is the zero Answer.
		if before.isEqual(&after, d.options.Reasons) {
			continue
		}
		some = true
		if d.count(key); d.options.Limit > 0 && d.totals[key].Changed > d.options.Limit {
			continue
		}
		out = append(out, Change{
			Key: key, DistinctID: sub.DistinctID, Before: before, After: after,
			Why: d.explain(key, sub, now),
		})
	}
	if some {
		d.changed++
	}
	return out
}

// selection returns the flags to evaluate, for every runtime.
func (d *Diff) selection() flags.Selection {
	return flags.Selection{Keys: d.options.Keys, Runtime: "all"}
}

// count adds one to the changes of a flag.
func (d *Diff) count(key string) {
	t := d.totals[key]
	if t == nil {
		t = &Total{Key: key}
		d.totals[key] = t
	}
	t.Changed++
}

// answersByKey converts decisions to answers. An undecided flag has no value.
func answersByKey(d *flags.Decisions) map[string]Answer {
	out := make(map[string]Answer, len(d.List))
	for i := range d.List {
		f := &d.List[i]
		a := Answer{
			Answered: true, Value: f.Value(), Payload: f.Payload,
			Failed: f.Failed(), Undecided: f.Undecided != nil, reason: f.Reason, open: f.ReasonOpen != nil,
		}
		if a.Undecided {
			a.Value, a.Payload = nil, nil
		}
		out[f.Key] = a
	}
	return out
}

// isEqual reports whether the answers are equal, including their reasons if reasons is true.
func (a *Answer) isEqual(b *Answer, reasons bool) bool {
	return a.Answered == b.Answered && a.Value == b.Value && a.Failed == b.Failed && a.Undecided == b.Undecided &&
		bytes.Equal(a.Payload, b.Payload) && (!reasons || a.open || b.open || a.reason == b.reason)
}

// Unknown returns the keys of Options.Keys that neither side has.
func (d *Diff) Unknown() []string {
	return slices.DeleteFunc(slices.Clone(d.options.Keys), func(key string) bool { return slices.Contains(d.keys, key) })
}

// Users returns how many subjects were compared, and for how many of them at least one flag
// changed.
func (d *Diff) Users() (compared, changed int64) { return d.users, d.changed }

// Totals returns the number of changes of each flag that changed, by key.
func (d *Diff) Totals() []Total {
	out := []Total{}
	for _, t := range d.totals {
		total := *t
		total.Users = d.users
		total.Share = float64(t.Changed) / float64(d.users)
		out = append(out, total)
	}
	slices.SortFunc(out, func(a, b Total) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Flags returns the flags that only one side can evaluate, for any subject, by key.
func (d *Diff) Flags() []Difference {
	out := []Difference{}
	for _, key := range d.keys {
		if cause := d.presence(key); cause != "" {
			out = append(out, Difference{key, cause})
		}
	}
	return out
}

// presence returns the cause for which only one side can evaluate a flag, or only one side has its
// definition. It is empty if the sides do not differ in this.
func (d *Diff) presence(key string) Cause {
	before, after := d.before.Status(key), d.after.Status(key)
	switch {
	case before == after:
		return ""
	case before == flags.Absent:
		return CauseNew
	case after == flags.Absent:
		return CauseRemoved
	case before == flags.Inactive:
		return CauseActivated
	case after == flags.Inactive:
		return CauseDeactivated
	}
	return CauseUnanswered
}
