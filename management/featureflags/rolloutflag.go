package featureflags

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// rolloutArms say how a flag can be raised, and where its arms lie (experiments.md §4.3).
type rolloutArms struct {
	// treatment and control are places of variants; -1 for flags without.
	treatment, control int
	both               float64 // what they have together, in per cent; 100 for flags without
	percent            float64 // of both, to the treatment now
	before             float64 // what variants before them have, in per cent
	names              []string
	hash               flags.Hash
	key                string
	group              *int
}

func notComparable(field, format string, args ...any) error {
	return &management.Error{Kind: management.Invalid, Code: "not_comparable", Field: field, Message: fmt.Sprintf(format, args...)}
}

// newRolloutArms says how a flag is raised, or why it cannot be.
func newRolloutArms(p *management.ProjectRecord, x *storedRollout, f *storedFlag) (*rolloutArms, error) {
	shape := f.shape()
	switch {
	case f.Origin != "":
		return nil, errInFile(f)
	case f.Archived:
		return nil, notComparable("feature_flag", "The flag is archived.")
	case f.RemoteConfig:
		return nil, notComparable("feature_flag", "The flag is remote configuration: nobody is left without it.")
	case f.Bucketing == "device_id":
		return nil, notComparable("feature_flag", "The flag goes by devices, which exposures do not tell. Let it go by people.")
	case f.Continuity != nil && *f.Continuity:
		return nil, notComparable("feature_flag", "The flag keeps values across sign-in, so that exposures do not tell by which id it was decided. Switch that off.")
	}
	a := &rolloutArms{treatment: -1, control: -1, both: 100, key: f.Key, group: shape.Aggregation, hash: hashOf(p, f)}
	if len(shape.Groups) > 0 && a.group == nil {
		a.group = shape.Groups[0].Aggregation
	}
	if slices.ContainsFunc(shape.Groups, func(g groupShape) bool {
		return g.Aggregation != nil && (a.group == nil || *a.group != *g.Aggregation) || g.Aggregation == nil && shape.Aggregation == nil && a.group != nil
	}) {
		return nil, notComparable("feature_flag", "Conditions of the flag are about people, others about groups: make them about one.")
	}
	if variants := shape.variants(); len(variants) > 0 {
		return a, a.useVariants(x, variants)
	}
	return a, a.useCondition(x, shape)
}

// hashOf is the hash of a flag.
func hashOf(p *management.ProjectRecord, f *storedFlag) flags.Hash {
	if f.Hash != "" {
		return flags.Hash(f.Hash)
	}
	return flags.Hash(management.JSONText(p.Settings["bucketing_hash"]))
}

// useCondition is for flags without variants: one condition, for everybody.
func (a *rolloutArms) useCondition(x *storedRollout, shape *filterShape) error {
	switch {
	case x.Treatment != nil || x.Control != nil:
		return notComparable("treatment_variant", "The flag has no variants: leave treatment_variant and control_variant out, or give it two.")
	case x.Condition != 0 || len(shape.Groups) != 1:
		return notComparable("condition", "Without variants a rollout is of a flag with one condition: those in others would look like control. Give the flag two variants instead.")
	case len(shape.Groups[0].Properties) > 0:
		return notComparable("condition", "People outside of the condition would look like control. Give the flag two variants instead: people outside then are in no arm.")
	}
	a.percent = rolloutOf(shape.Groups[0].Rollout)
	return nil
}

// useVariants is for flags with variants, of which two take part.
func (a *rolloutArms) useVariants(x *storedRollout, variants []variantShape) error {
	find := func(name string) int {
		return slices.IndexFunc(variants, func(v variantShape) bool { return v.Key == name })
	}
	if x.Treatment == nil && x.Control == nil && len(variants) == 2 {
		control := max(find("control"), 0)
		x.Control, x.Treatment = &variants[control].Key, &variants[1-control].Key
	}
	for field, to := range map[string]struct {
		name  *string
		place *int
	}{"treatment_variant": {x.Treatment, &a.treatment}, "control_variant": {x.Control, &a.control}} {
		if to.name == nil {
			return management.CodedFault(management.CodeRequired, field, "The flag has variants: say which one this is.")
		}
		if *to.place = find(*to.name); *to.place < 0 {
			return management.CodedFault(management.CodeDoesNotExist, field, "The feature flag has no variant %q.", management.ShortText(*to.name))
		}
	}
	if a.treatment == a.control {
		return notComparable("control_variant", "Treatment and control are one variant.")
	}
	first, last := min(a.treatment, a.control), max(a.treatment, a.control)
	for i := first + 1; i < last; i++ {
		if variants[i].Rollout > 0 {
			return notComparable("treatment_variant", "The variant %q lies between: raising the treatment would move its people. Put treatment and control next to each other.", variants[i].Key)
		}
	}
	for i := range first {
		a.before += variants[i].Rollout
	}
	t, c := variants[a.treatment].Rollout, variants[a.control].Rollout
	if a.both = t + c; !(a.both > 0) {
		return notComparable("treatment_variant", "Treatment and control have no share that could move from one to the other.")
	}
	a.percent, a.names = 100*t/a.both, []string{*x.Treatment, *x.Control}
	return nil
}

// share is a percentage without the dust of binary fractions.
func share(v float64) json.RawMessage {
	return strconv.AppendFloat(nil, math.Round(v*1e8)/1e8, 'f', -1, 64)
}

// set gives the treatment its percentage of both.
func (a *rolloutArms) set(f *storedFlag, percent float64) error {
	if a.treatment < 0 {
		return f.editConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
			group := management.JSONObject(groups[0])
			group["rollout_percentage"] = share(percent)
			groups[0] = management.Encode(group)
			return groups, nil
		})
	}
	return f.editFilters(func(filters map[string]json.RawMessage) error {
		multivariate := management.JSONObject(filters["multivariate"])
		var variants []map[string]json.RawMessage
		if err := json.Unmarshal(multivariate["variants"], &variants); err != nil {
			return err
		}
		t := math.Round(a.both*percent*1e6) / 1e8
		variants[a.treatment]["rollout_percentage"] = share(t)
		variants[a.control]["rollout_percentage"] = share(a.both - t)
		multivariate["variants"] = management.Encode(variants)
		filters["multivariate"] = management.Encode(multivariate)
		return nil
	})
}

// query is the query for what the events say of a step at a percentage.
func (a *rolloutArms) query(percent float64) map[string]any {
	q := map[string]any{"kind": "GuardedRolloutQuery", "flag_key": a.key, "hash": string(a.hash), "border": percent / 100}
	if a.group != nil {
		q["group_type_index"] = *a.group
	}
	if a.treatment >= 0 {
		part := a.both * percent / 100
		if a.control < a.treatment {
			part = a.both - part
			q["control_first"] = true
		}
		q["arms"], q["from"], q["border"], q["to"] = a.names, a.before/100, (a.before+part)/100, (a.before+a.both)/100
	}
	return q
}

// hasChanged says whether somebody else has changed what the rollout writes.
func (a *rolloutArms) hasChanged(x *storedRollout) bool {
	return math.Abs(a.percent-x.LastPercent) > 1e-6 || math.Abs(a.both-x.Both) > 1e-6
}
