package rollouts

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// rolloutArms describes how a rollout changes a flag: the positions and shares of the treatment and
// the control arm (experiments.md §4.3). For a flag without variants, the treatment is the share of
// its condition and the control the rest.
type rolloutArms struct {
	// treatment and control are the indexes of the variants; -1 if the flag has no variants.
	treatment, control int
	combined           float64 // percentage of both arms together; 100 if the flag has no variants
	percent            float64 // percentage of both that receives the treatment now
	before             float64 // percentage of the variants that precede both arms
	// names are the keys of treatment and control; nil if the flag has no variants.
	names []string
	hash  flags.Hash
	// key is the key of the flag, and hash its hash function.
	key string
	// group is the index of the group type; nil if the flag is about persons.
	group *int
}

// notComparable returns an error with the code not_comparable: a rollout cannot use the flag,
// because treatment and control would not be comparable.
func notComparable(field, format string, args ...any) error {
	return &management.Error{Kind: management.Invalid, Code: "not_comparable", Field: field, Message: fmt.Sprintf(format, args...)}
}

// newRolloutArms returns the arms of a flag, or an error with the reason why a rollout cannot use
// the flag. For a flag with two variants it also sets the missing names of the variants in x.
func newRolloutArms(p *management.ProjectRecord, x *storedRollout, f *storedflags.Flag) (*rolloutArms, error) {
	shape := f.Shape()
	switch {
	case f.Origin != "":
		return nil, storedflags.ErrInFile(f)
	case f.Archived:
		return nil, notComparable("feature_flag", "The flag is archived.")
	case f.RemoteConfig:
		return nil, notComparable("feature_flag", "The flag is a remote configuration: everyone gets it, so there is no one to compare with.")
	case f.Bucketing == "device_id":
		return nil, notComparable("feature_flag", "The flag is bucketed by device, which exposure events do not identify. Bucket it by person instead.")
	case f.Continuity != nil && *f.Continuity:
		return nil, notComparable("feature_flag", "The flag ensures experience continuity, so exposure events do not show by which id it was evaluated. Switch experience continuity off.")
	}
	a := &rolloutArms{treatment: -1, control: -1, combined: 100, key: f.Key, group: shape.Aggregation, hash: hashOf(p, f)}
	// The first condition determines whether the flag is about persons or groups; the next check
	// refuses a flag whose conditions differ.
	if len(shape.Groups) > 0 && a.group == nil {
		a.group = shape.Groups[0].Aggregation
	}
	if slices.ContainsFunc(shape.Groups, func(g storedflags.Group) bool {
		return g.Aggregation != nil && (a.group == nil || *a.group != *g.Aggregation) || g.Aggregation == nil && shape.Aggregation == nil && a.group != nil
	}) {
		return nil, notComparable("feature_flag", "Some conditions of the flag are about persons and others about groups: use the same for all of them.")
	}
	if variants := shape.Variants(); len(variants) > 0 {
		return a, a.useVariants(x, variants)
	}
	return a, a.useCondition(x, shape)
}

// hashOf returns the hash function of a flag, by default that of the project.
func hashOf(p *management.ProjectRecord, f *storedflags.Flag) flags.Hash {
	if f.Hash != "" {
		return flags.Hash(f.Hash)
	}
	return flags.Hash(management.JSONText(p.Settings["bucketing_hash"]))
}

// useCondition sets the arms of a flag without variants. The flag must have exactly one condition,
// which matches everybody: otherwise subjects outside of the condition would be counted as control.
func (a *rolloutArms) useCondition(x *storedRollout, shape *storedflags.Shape) error {
	switch {
	case x.Treatment != nil || x.Control != nil:
		return notComparable("treatment_variant", "The flag has no variants: leave treatment_variant and control_variant out, or add two variants to the flag.")
	case x.Condition != 0 || len(shape.Groups) != 1:
		return notComparable("condition", "Without variants, the flag must have exactly one condition: persons in other conditions would count as control. Add two variants to the flag instead.")
	case len(shape.Groups[0].Properties) > 0:
		return notComparable("condition", "Persons outside the condition would count as control. Add two variants to the flag instead: persons outside are then in neither arm.")
	}
	a.percent = storedflags.RolloutOf(shape.Groups[0].Rollout)
	return nil
}

// useVariants sets the arms of a flag with variants. If the rollout names no variants and the flag
// has two, the control is the variant "control", or else the first.
func (a *rolloutArms) useVariants(x *storedRollout, variants []storedflags.Variant) error {
	find := func(name string) int {
		return slices.IndexFunc(variants, func(v storedflags.Variant) bool { return v.Key == name })
	}
	if x.Treatment == nil && x.Control == nil && len(variants) == 2 {
		control := max(find("control"), 0)
		x.Control, x.Treatment = &variants[control].Key, &variants[1-control].Key
	}
	for _, to := range []struct {
		field string
		name  *string
		place *int
	}{{"treatment_variant", x.Treatment, &a.treatment}, {"control_variant", x.Control, &a.control}} {
		if to.name == nil {
			return management.CodedFault(management.CodeRequired, to.field, "The flag has variants: give the key of one of them.")
		}
		if *to.place = find(*to.name); *to.place < 0 {
			return management.CodedFault(management.CodeDoesNotExist, to.field, "The feature flag has no variant %q.", plain.ShortText(*to.name))
		}
	}
	if a.treatment == a.control {
		return notComparable("control_variant", "Treatment and control must be different variants.")
	}
	// The arms must be adjacent: only then does a higher treatment share move subjects from one arm
	// to the other and leave the subjects of other variants where they are.
	first, last := min(a.treatment, a.control), max(a.treatment, a.control)
	for i := first + 1; i < last; i++ {
		if variants[i].Rollout > 0 {
			return notComparable("treatment_variant", "The variant %q is between treatment and control: raising the treatment would move its persons. Put treatment and control next to each other.", variants[i].Key)
		}
	}
	for i := range first {
		a.before += variants[i].Rollout
	}
	t, c := variants[a.treatment].Rollout, variants[a.control].Rollout
	if a.combined = t + c; !(a.combined > 0) {
		return notComparable("treatment_variant", "Treatment and control have no share to move from one to the other.")
	}
	a.percent, a.names = 100*t/a.combined, []string{*x.Treatment, *x.Control}
	return nil
}

// share returns a percentage as a JSON number, rounded to 8 decimals to remove errors of binary
// fractions.
func share(v float64) json.RawMessage {
	return strconv.AppendFloat(nil, math.Round(v*1e8)/1e8, 'f', -1, 64)
}

// set changes the flag so that percent of both arms receive the treatment.
func (a *rolloutArms) set(f *storedflags.Flag, percent float64) error {
	if a.treatment < 0 {
		return f.EditConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
			group := management.JSONObject(groups[0])
			group["rollout_percentage"] = share(percent)
			groups[0] = storage.Encode(group)
			return groups, nil
		})
	}
	return f.EditFilters(func(filters map[string]json.RawMessage) error {
		multivariate := management.JSONObject(filters["multivariate"])
		var variants []map[string]json.RawMessage
		if err := json.Unmarshal(multivariate["variants"], &variants); err != nil {
			return err
		}
		// Round to 8 decimals, as share does, so that the two shares add up to both.
		t := math.Round(a.combined*percent*1e6) / 1e8
		variants[a.treatment]["rollout_percentage"] = share(t)
		variants[a.control]["rollout_percentage"] = share(a.combined - t)
		multivariate["variants"] = storage.Encode(variants)
		filters["multivariate"] = storage.Encode(multivariate)
		return nil
	})
}

// query returns the members of the GuardedRolloutQuery that depend on the flag, for a step with a
// percentage. Shares are fractions of the hash range: the arm that lies first is from "from" to
// "border", the second arm from "border" to "to".
func (a *rolloutArms) query(percent float64) map[string]any {
	q := map[string]any{"kind": "GuardedRolloutQuery", "flag_key": a.key, "hash": string(a.hash), "border": percent / 100}
	if a.group != nil {
		q["group_type_index"] = *a.group
	}
	if a.treatment >= 0 {
		part := a.combined * percent / 100
		if a.control < a.treatment {
			part = a.combined - part
			q["control_first"] = true
		}
		q["arms"], q["from"], q["border"], q["to"] = a.names, a.before/100, (a.before+part)/100, (a.before+a.combined)/100
	}
	return q
}

// hasChanged reports whether the shares in the flag differ from the shares that the rollout wrote,
// that is, whether a user changed them.
func (a *rolloutArms) hasChanged(x *storedRollout) bool {
	return math.Abs(a.percent-x.LastPercent) > 1e-6 || math.Abs(a.combined-x.Combined) > 1e-6
}
