package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	stats "github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// errDoesNotExist returns the error for a field that references an object that does not exist.
func errDoesNotExist(field string, id int64) error {
	return management.CodedFault(management.CodeDoesNotExist, field, "Invalid pk \"%d\" - object does not exist.", id)
}

// maxVariants is the maximum number of variants of an experiment.
const maxVariants = stats.MaxVariants

// tooFewVariants is the message of an error about a flag with fewer than two variants.
const tooFewVariants = "Feature flag must have at least 2 variants (control and at least one test variant)"

// experimentVariant contains the members of a variant that matter to experiments.
type experimentVariant struct {
	Key string `json:"key"`
	// Rollout is the percentage of the flag's audience that gets the variant.
	Rollout json.Number `json:"rollout_percentage"`
}

// readVariants decodes a list of variants. It returns nil if raw is absent or null.
func readVariants(raw json.RawMessage) (out []experimentVariant, err error) {
	if management.EmptyJSON(raw) {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, management.Fault("parameters", "The feature_flag_variants have to be a list of objects with key and rollout_percentage.")
	}
	return out, nil
}

// checkVariants checks the variants in the parameters: at most maxVariants, one of which is
// control. If areNew is true, the request contains them, and there must be at least two.
func (x *storedExperiment) checkVariants(areNew bool) error {
	list, err := readVariants(management.JSONObject(x.Parameters)["feature_flag_variants"])
	switch {
	case err != nil:
		return err
	case len(list) > maxVariants:
		return management.Fault("parameters", "Feature flag variants must be less than %d", maxVariants+1)
	case len(list) > 0 && !slices.ContainsFunc(list, func(v experimentVariant) bool { return v.Key == "control" }):
		return management.Fault("parameters", "Feature flag variants must contain a control variant")
	case areNew && len(list) == 1:
		return management.Fault("parameters", tooFewVariants)
	}
	return nil
}

// filters returns the filters for the experiment's flag: the current ones with the variants and
// the aggregation of the experiment's parameters or, if current is nil, new ones. By default new
// filters have a control and a test variant with 50 percent each.
func (x *storedExperiment) filters(current json.RawMessage) json.RawMessage {
	out, parameters := management.JSONObject(current), management.JSONObject(x.Parameters)
	if out == nil {
		out = map[string]json.RawMessage{"groups": json.RawMessage(`[{"properties":[],"rollout_percentage":100}]`), "payloads": json.RawMessage("{}")}
	}
	variants := parameters["feature_flag_variants"]
	switch {
	// Variants in the parameters replace those of the flag.
	case !management.EmptyJSON(variants):
		out["multivariate"] = storage.Encode(map[string]json.RawMessage{"variants": variants})
	case current == nil:
		out["multivariate"] = json.RawMessage(`{"variants":[{"key":"control","name":"Control Group","rollout_percentage":50},{"key":"test","name":"Test Variant","rollout_percentage":50}]}`)
	}
	if index, ok := parameters["aggregation_group_type_index"]; ok {
		out["aggregation_group_type_index"] = index
	}
	return storage.Encode(out)
}

// withVariants returns the parameters with their variants replaced by those in the flag's
// filters. Parameters without variants are returned unchanged.
func withVariants(parameters, filters json.RawMessage) json.RawMessage {
	object := management.JSONObject(parameters)
	variants := management.JSONObject(management.JSONObject(filters)["multivariate"])["variants"]
	if management.EmptyJSON(object["feature_flag_variants"]) || management.EmptyJSON(variants) || bytes.Equal(storedflags.CompactJSON(object["feature_flag_variants"]), storedflags.CompactJSON(variants)) {
		return parameters
	}
	object["feature_flag_variants"] = variants
	return storage.Encode(object)
}

// takeSplits renames split_percent of the variants in the parameters of a request to
// rollout_percentage (experiments.md §3.6).
func (x *storedExperiment) takeSplits(v management.Values) error {
	parameters := management.JSONObject(x.Parameters)
	var variants []map[string]json.RawMessage
	if !v.Has("parameters") || json.Unmarshal(parameters["feature_flag_variants"], &variants) != nil {
		return nil // checkVariants reports other faults
	}
	renamed := false
	for _, variant := range variants {
		split, ok := variant["split_percent"]
		if !ok {
			continue
		}
		rollout := variant["rollout_percentage"]
		if !isAbsent(split) && !isAbsent(rollout) && !equalRollout(json.Number(split), json.Number(rollout)) {
			return management.Fault("parameters", "The variant %q has a split_percent of %s and a rollout_percentage of %s: send only one of them.", management.JSONText(variant["key"]), split, rollout)
		}
		if !isAbsent(split) {
			variant["rollout_percentage"] = split
		}
		delete(variant, "split_percent")
		renamed = true
	}
	if renamed {
		parameters["feature_flag_variants"] = storage.Encode(variants)
		x.Parameters = storage.Encode(parameters)
	}
	return nil
}

// isAbsent reports whether a member is absent or null.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// withSplits returns the parameters with the rollout_percentage of each variant also as
// split_percent.
func withSplits(parameters json.RawMessage) json.RawMessage {
	object := management.JSONObject(parameters)
	var variants []map[string]json.RawMessage
	if json.Unmarshal(object["feature_flag_variants"], &variants) != nil || len(variants) == 0 {
		return parameters
	}
	for _, variant := range variants {
		if rollout, ok := variant["rollout_percentage"]; ok {
			variant["split_percent"] = rollout
		}
	}
	object["feature_flag_variants"] = storage.Encode(variants)
	return storage.Encode(object)
}

// changeVariants applies the variants in the experiment's parameters to its flag. If draft is
// false, other variants than those of the flag are an error, and so are other shares unless reshare
// is true.
func (x *storedExperiment) changeVariants(flag *storedflags.Flag, draft, reshare bool) error {
	requested := management.JSONObject(x.Parameters)["feature_flag_variants"]
	if draft {
		if changed := x.filters(flag.Filters); string(storedflags.CompactJSON(changed)) != string(storedflags.CompactJSON(flag.Filters)) {
			flag.Filters = changed
		}
		return nil
	}
	if management.EmptyJSON(requested) {
		return nil
	}
	// Names and other members of variants may differ: only keys and rollouts matter.
	current, err := readVariants(management.JSONObject(management.JSONObject(flag.Filters)["multivariate"])["variants"])
	if err != nil {
		return err
	}
	list, err := readVariants(requested)
	if err != nil || slices.EqualFunc(list, current, equalVariant) {
		return err
	}
	if !reshare || !slices.EqualFunc(list, current, func(a, b experimentVariant) bool { return a.Key == b.Key }) {
		return management.Fault("", "Can't update feature_flag_variants on Experiment")
	}
	return setShares(flag, list)
}

// setShares sets the rollouts of a flag's variants to those of list, which has the same keys in the
// same order. All other members of the variants stay.
func setShares(flag *storedflags.Flag, list []experimentVariant) error {
	return flag.EditFilters(func(filters map[string]json.RawMessage) error {
		multivariate := management.JSONObject(filters["multivariate"])
		var variants []map[string]json.RawMessage
		if err := json.Unmarshal(multivariate["variants"], &variants); err != nil {
			return err
		}
		for i := range variants {
			variants[i]["rollout_percentage"] = storage.Encode(list[i].Rollout)
		}
		multivariate["variants"] = storage.Encode(variants)
		filters["multivariate"] = storage.Encode(multivariate)
		return nil
	})
}

// equalVariant reports whether two variants have the same key and, numerically, the same rollout.
func equalVariant(a, b experimentVariant) bool {
	return a.Key == b.Key && equalRollout(a.Rollout, b.Rollout)
}

// equalRollout reports whether two rollouts are the same number: 50 and 50.0 are.
func equalRollout(a, b json.Number) bool {
	x, err1 := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

// exposures are the numbers of calls of an experiment's flag, by value.
type exposures struct {
	FlagKey   string           `json:"feature_flag_key"`
	Start     management.Stamp `json:"start_date"`
	End       management.Stamp `json:"end_date"`
	Total     int64            `json:"total"`
	Exposures []exposure       `json:"exposures"`
}

// exposure is the number of calls of a flag that returned one value, as counted from exposure
// events. It covers all time, including before the start and after the end of the experiment.
type exposure struct {
	Variant string           `json:"variant"`
	Calls   int64            `json:"calls"`
	First   management.Stamp `json:"first_called_at"`
	Last    management.Stamp `json:"last_called_at"`
}

// Exposures returns the numbers of calls of the experiment's flag.
func (s Service) Exposures(ctx context.Context, scope *management.Scope, id string) (*exposures, error) {
	return resource.ReadOne(ctx, s.Resource, scope, id, func(v *view, e *storedExperiment) (*exposures, error) {
		// The response has the key under which the caller sees the flag.
		experiment, err := s.show(v, e)
		if err != nil {
			return nil, err
		}
		// Calls are counted by key: use the flag's current one, if the flag still exists.
		key := e.FlagKey
		flag, err := s.stored.Find(v.Tx, scope, e.Flag)
		if flag != nil {
			key = flag.Key
		}
		if err != nil {
			return nil, err
		}
		calls, err := v.Tx.FlagCalls(scope.Project.ID, key)
		if err != nil {
			return nil, fmt.Errorf("exposures: %w", err)
		}
		out := &exposures{FlagKey: experiment.FlagKey, Start: e.Start, End: e.End, Exposures: []exposure{}}
		for _, c := range calls {
			out.Total += c.Calls
			out.Exposures = append(out.Exposures, exposure{c.Value, c.Calls, management.NewStamp(c.First), management.NewStamp(c.Last)})
		}
		return out, nil
	})
}
