package flags

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Diff compares what two sets answer, one subject after the other. It is for one
// goroutine.
type Diff struct {
	before, after *Set
	options       DiffOptions

	keys    []string // of both sets, sorted, each once
	totals  map[string]*DiffTotal
	users   int64
	changed int64
	was, is Decisions
}

// DiffOptions are the choices of a Diff. The zero value compares all flags for
// every runtime, and returns every change.
type DiffOptions struct {
	// Keys restricts the comparison to these flags. Nil: all of both sets.
	Keys []string
	// Reasons counts another reason for the same answer as a change too. One that is not
	// known on a side (Decision.ReasonOpen) is no other.
	Reasons bool
	// Limit is how many changes of each flag are returned and explained; those
	// beyond it are only counted. 0: all.
	Limit int64
}

// DiffAnswer is the answer for a flag on one side.
type DiffAnswer struct {
	// Answered is false where the flag does not exist or is not active.
	Answered bool `json:"answered"`
	// Value is false, true or the variant; null without an answer.
	Value   any             `json:"value"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Failed and Undecided mark answers that are no decision.
	Failed    bool `json:"failed,omitempty"`
	Undecided bool `json:"undecided,omitempty"`

	reason Reason
	open   bool // the reason is not known
}

// Change is one flag that is answered otherwise for one subject.
type Change struct {
	Key        string     `json:"flag"`
	DistinctID string     `json:"distinct_id"`
	Before     DiffAnswer `json:"before"`
	After      DiffAnswer `json:"after"`
	Why        DiffWhy    `json:"why"`
}

// DiffTotal counts the changes of one flag.
type DiffTotal struct {
	Key     string `json:"flag"`
	Changed int64  `json:"changed"`
	Users   int64  `json:"users"`
	// Share is Changed / Users, from 0 to 1; 0 without users.
	Share float64 `json:"share"`
}

// FlagDifference is a flag that only one side can answer.
type FlagDifference struct {
	Key   string `json:"flag"`
	Cause Cause  `json:"cause"` // new, removed, activated, deactivated, unanswered
}

// NewDiff makes a comparison of two sets.
func NewDiff(before, after *Set, options DiffOptions) *Diff {
	d := &Diff{before: before, after: after, options: options, totals: map[string]*DiffTotal{}}
	for _, s := range []*Set{before, after} {
		for key := range s.byKey {
			if options.Keys == nil || slices.Contains(options.Keys, key) {
				d.keys = append(d.keys, key)
			}
		}
	}
	slices.Sort(d.keys)
	d.keys = slices.Compact(d.keys)
	return d
}

// Compare decides all flags for a subject on both sides and returns what
// differs, by key: the value, the payload, or whether there is an answer at all.
func (d *Diff) Compare(sub *Subject, at time.Time) []Change {
	sel := d.selection()
	d.before.Select(sub, at, &sel, &d.was)
	d.after.Select(sub, at, &sel, &d.is)
	d.users++
	was, is := answersByKey(&d.was), answersByKey(&d.is)
	var out []Change
	some := false
	for _, key := range d.keys {
		before, after := was[key], is[key]
		if before.same(&after, d.options.Reasons) {
			continue
		}
		some = true
		if d.count(key); d.options.Limit > 0 && d.totals[key].Changed > d.options.Limit {
			continue
		}
		out = append(out, Change{
			Key: key, DistinctID: sub.DistinctID, Before: before, After: after,
			Why: d.why(key, sub, at),
		})
	}
	if some {
		d.changed++
	}
	return out
}

func (d *Diff) selection() Selection { return Selection{Keys: d.options.Keys, Runtime: "all"} }

func (d *Diff) count(key string) {
	t := d.totals[key]
	if t == nil {
		t = &DiffTotal{Key: key}
		d.totals[key] = t
	}
	t.Changed++
}

func answersByKey(d *Decisions) map[string]DiffAnswer {
	out := make(map[string]DiffAnswer, len(d.List))
	for i := range d.List {
		f := &d.List[i]
		a := DiffAnswer{
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

func (a *DiffAnswer) same(b *DiffAnswer, reasons bool) bool {
	return a.Answered == b.Answered && a.Value == b.Value && a.Failed == b.Failed && a.Undecided == b.Undecided &&
		bytes.Equal(a.Payload, b.Payload) && (!reasons || a.open || b.open || a.reason == b.reason)
}

// Unknown lists the keys asked for that neither side has.
func (d *Diff) Unknown() []string {
	return slices.DeleteFunc(slices.Clone(d.options.Keys), func(key string) bool { return slices.Contains(d.keys, key) })
}

// Users is how many subjects were compared, and how many of them any flag is
// answered otherwise for.
func (d *Diff) Users() (compared, changed int64) { return d.users, d.changed }

// Totals counts the changes of each flag that has any, by key.
func (d *Diff) Totals() []DiffTotal {
	out := []DiffTotal{}
	for _, t := range d.totals {
		total := *t
		total.Users = d.users
		total.Share = float64(t.Changed) / float64(d.users)
		out = append(out, total)
	}
	slices.SortFunc(out, func(a, b DiffTotal) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Flags lists the flags that only one side can answer, whoever asks, by key.
func (d *Diff) Flags() []FlagDifference {
	out := []FlagDifference{}
	for _, key := range d.keys {
		if cause := d.presence(key); cause != "" {
			out = append(out, FlagDifference{key, cause})
		}
	}
	return out
}

// presence says how it comes that only one side can answer a flag, or that only
// one side has its definition; empty when both are alike in this.
func (d *Diff) presence(key string) Cause {
	before, after := d.before.standing(key), d.after.standing(key)
	switch {
	case before == after:
		return ""
	case before == flagAbsent:
		return CauseNew
	case after == flagAbsent:
		return CauseRemoved
	case before == flagInactive:
		return CauseActivated
	case after == flagInactive:
		return CauseDeactivated
	}
	return CauseUnanswered
}

// standing of a flag in a set.
type standing uint8

const (
	flagAbsent standing = iota
	flagInactive
	flagUnanswered // on or behind a cycle
	flagAnswered
)

func (s *Set) standing(key string) standing {
	i, ok := s.byKey[key]
	switch {
	case !ok:
		return flagAbsent
	case !s.flags[i].is(bitActive):
		return flagInactive
	case !s.answered(i):
		return flagUnanswered
	}
	return flagAnswered
}
