package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Parts of a GO Feature Flag that change with time are converted if all of their dates are past,
// since the flag does not change any more then.

// timedReason is the reason for refusing flags with future dates.
const timedReason = "changes with time, which is not supported here"

// dateLayouts are the date formats of JSON and of YAML, in which the time is optional.
var dateLayouts = []string{time.RFC3339Nano, "2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999 Z07:00", "2006-1-2 15:4:5.999999999", time.DateOnly}

// date parses a date.
func (n *node) date() time.Time {
	text := n.text()
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	n.want("a date, such as 2026-01-31T09:00:00Z")
	return time.Time{}
}

// pastDate parses a date that must be past, since a future date would change the flag.
func (b *builder) pastDate(n *node) time.Time {
	t := n.date()
	if t.After(b.options.now()) {
		n.refuse(timedReason + ": this date is in the future")
	}
	return t
}

// now returns the time that dates are compared with.
func (o *Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

// finalShares returns the shares after the end of a progressive rollout.
func (b *builder) finalShares(p *node, v *variantSet) []share {
	initial, end := p.get("initial"), p.get("end")
	for _, src := range []*node{initial.get("variation"), initial.get("date"), end.get("variation"), end.get("date")} {
		if src.value == nil {
			src.refuse("is missing in a rollout that changes with time: users would get the caller's default")
		}
	}
	if !b.pastDate(end.get("date")).After(initial.get("date").date()) {
		end.get("date").refuse("is not after the first date: users would get the caller's default")
	}
	percent := end.get("percentage").numberOr(0)
	if percent == 0 || percent > 100 {
		percent = 100
	}
	return []share{
		{percent, v.outcome(end.get("variation"), v.nameOf(end.get("variation")))},
		{100 - percent, v.outcome(initial.get("variation"), v.nameOf(initial.get("variation")))},
	}
}

// experimentation reports whether an experiment is over, after which users get the caller's
// default.
func (b *builder) experimentation(n *node) (over bool) {
	n.object()
	if src := n.get("start"); src.value != nil {
		b.pastDate(src)
	}
	if src := n.get("end"); src.value != nil {
		b.pastDate(src)
		b.note(n, "is over: users get the caller's default, here too while the flag is inactive")
		over = true
	}
	return over
}

// applySchedule returns a flag after the steps of its schedule, oldest first. A step without a date
// never takes effect.
func (b *builder) applySchedule(n *node) *node {
	type step struct {
		at   *node
		date time.Time
	}
	var steps []step
	for _, s := range n.get("scheduledRollout").items() {
		s.object()
		if d := s.get("date"); d.value != nil {
			steps = append(steps, step{s, b.pastDate(d)})
		}
	}
	if len(steps) == 0 {
		return n
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.date.Compare(b.date) })
	flag := maps.Clone(n.object())
	for _, s := range steps {
		flag["targeting"] = mergeRules(n.with(flag).get("targeting"), s.at.get("targeting"))
		if s.at.get("disable").value != nil {
			flag["disable"] = s.at.get("disable").value
		}
		if rule := s.at.get("defaultRule"); rule.value != nil {
			flag["defaultRule"] = mergeRule(n.with(flag).get("defaultRule"), rule)
		}
		for _, name := range []string{"variations", "experimentation"} {
			if more := s.at.get(name); more.value != nil {
				flag[name] = overlay(n.with(flag).get(name), more, more.names()...)
			}
		}
	}
	return n.with(flag)
}

// with returns a copy of the node with another value.
func (n *node) with(value any) *node {
	return &node{value: value, parent: n.parent, name: n.name, index: n.index}
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.object())) }

// overlay returns the members of n, with the named members replaced by those of more that are not
// nil.
func overlay(n, more *node, names ...string) map[string]any {
	out := map[string]any{}
	maps.Copy(out, n.object())
	for _, name := range names {
		if v := more.get(name).value; v != nil {
			out[name] = v
		}
	}
	return out
}

// mergeRules returns rules after a step: a rule with an existing name changes that rule, and other
// rules are appended.
func mergeRules(rules, step *node) []any {
	changes := map[string]*node{}
	for _, r := range step.items() {
		if name := r.get("name"); name.value != nil {
			changes[name.text()] = r
		}
	}
	var out []any
	merged := map[string]bool{}
	for _, r := range rules.items() {
		name := r.get("name").textOr()
		if change := changes[name]; change != nil {
			merged[name] = true
			out = append(out, mergeRule(r, change))
			continue
		}
		out = append(out, r.value)
	}
	for _, r := range step.items() {
		if !merged[r.get("name").textOr()] {
			out = append(out, r.value)
		}
	}
	return out
}

// mergeRule returns a rule after the changes of a step. A negative percentage removes a variation.
func mergeRule(r, step *node) map[string]any {
	out := overlay(r, step, "disable", "query", "variation")
	if p := step.get("progressiveRollout"); p.value != nil {
		both := overlay(r.get("progressiveRollout"), p)
		for _, end := range []string{"initial", "end"} {
			both[end] = overlay(r.get("progressiveRollout").get(end), p.get(end), "variation", "date", "percentage")
		}
		out["progressiveRollout"] = both
	}
	if p := step.get("percentage"); p.value != nil {
		shares := overlay(r.get("percentage"), p, p.names()...)
		maps.DeleteFunc(shares, func(_ string, v any) bool {
			num, ok := v.(json.Number)
			return ok && strings.HasPrefix(string(num), "-")
		})
		out["percentage"] = shares
	}
	return out
}
