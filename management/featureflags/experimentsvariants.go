package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

func errDoesNotExist(field string, id int64) error {
	return management.CodedFault(management.CodeDoesNotExist, field, "Invalid pk \"%d\" - object does not exist.", id)
}

// maxVariants is how many variants an experiment may have.
const maxVariants = experiments.MaxVariants

// experimentVariant is what counts of a variant.
type experimentVariant struct {
	Key     string      `json:"key"`
	Rollout json.Number `json:"rollout_percentage"`
}

func readVariants(raw json.RawMessage) (out []experimentVariant, err error) {
	if !isPresent(raw) {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, management.Fault("parameters", "The feature_flag_variants have to be a list of objects with key and rollout_percentage.")
	}
	return out, nil
}

func (x *storedExperiment) checkVariants() error {
	list, err := readVariants(management.JSONObject(x.Parameters)["feature_flag_variants"])
	switch {
	case err != nil:
		return err
	case len(list) > maxVariants:
		return management.Fault("parameters", "Feature flag variants must be less than %d", maxVariants+1)
	case len(list) > 0 && !slices.ContainsFunc(list, func(v experimentVariant) bool { return v.Key == "control" }):
		return management.Fault("parameters", "Feature flag variants must contain a control variant")
	}
	return nil
}

// filters are the filters of the experiment's flag: was with the variants of the
// experiment, or new ones.
func (x *storedExperiment) filters(current json.RawMessage) json.RawMessage {
	out, parameters := management.JSONObject(current), management.JSONObject(x.Parameters)
	if out == nil {
		out = map[string]json.RawMessage{"groups": json.RawMessage(`[{"properties":[],"rollout_percentage":100}]`), "payloads": json.RawMessage("{}")}
	}
	variants := parameters["feature_flag_variants"]
	switch {
	case isPresent(variants):
		out["multivariate"] = management.Encode(map[string]json.RawMessage{"variants": variants})
	case current == nil:
		out["multivariate"] = json.RawMessage(`{"variants":[{"key":"control","name":"Control Group","rollout_percentage":50},{"key":"test","name":"Test Variant","rollout_percentage":50}]}`)
	}
	if index, ok := parameters["aggregation_group_type_index"]; ok {
		out["aggregation_group_type_index"] = index
	}
	return management.Encode(out)
}

// withVariants are parameters with the variants that the flag has, where they
// name any.
func withVariants(parameters, filters json.RawMessage) json.RawMessage {
	object := management.JSONObject(parameters)
	variants := management.JSONObject(management.JSONObject(filters)["multivariate"])["variants"]
	if !isPresent(object["feature_flag_variants"]) || !isPresent(variants) || bytes.Equal(compactJSON(object["feature_flag_variants"]), compactJSON(variants)) {
		return parameters
	}
	object["feature_flag_variants"] = variants
	return management.Encode(object)
}

// changeVariants takes the experiment's variants to its flag; after the launch
// they have to be those that it has.
func (x *storedExperiment) changeVariants(flag *storedFlag, draft bool) error {
	requested := management.JSONObject(x.Parameters)["feature_flag_variants"]
	if draft {
		if changed := x.filters(flag.Filters); string(compactJSON(changed)) != string(compactJSON(flag.Filters)) {
			flag.Filters = changed
		}
		return nil
	}
	if !isPresent(requested) {
		return nil
	}
	current, err := readVariants(management.JSONObject(management.JSONObject(flag.Filters)["multivariate"])["variants"])
	if err != nil {
		return err
	}
	list, err := readVariants(requested)
	if err == nil && !slices.EqualFunc(list, current, equalVariant) {
		err = management.Fault("", "Can't update feature_flag_variants on Experiment")
	}
	return err
}

func equalVariant(a, b experimentVariant) bool {
	x, err1 := strconv.ParseFloat(string(a.Rollout), 64)
	y, err2 := strconv.ParseFloat(string(b.Rollout), 64)
	return a.Key == b.Key && (a.Rollout == b.Rollout || err1 == nil && err2 == nil && x == y)
}

// exposures are how often the flag of an experiment gave which value.
type exposures struct {
	FlagKey   string           `json:"feature_flag_key"`
	Start     management.Stamp `json:"start_date"`
	End       management.Stamp `json:"end_date"`
	Total     int64            `json:"total"`
	Exposures []exposure       `json:"exposures"`
}

// exposure is how often a flag gave one value, as exposures told:
// since the flag exists, also before the start and after the end.
type exposure struct {
	Variant string           `json:"variant"`
	Calls   int64            `json:"calls"`
	First   management.Stamp `json:"first_called_at"`
	Last    management.Stamp `json:"last_called_at"`
}

// Exposures counts the calls of an experiment's flag.
func (s Experiments) Exposures(ctx context.Context, scope *management.Scope, id string) (*exposures, error) {
	return management.ReadOne(ctx, s.Resource, scope, id, func(v *view, e *storedExperiment) (*exposures, error) {
		experiment, err := s.show(v, e)
		if err != nil {
			return nil, err
		}
		key := e.FlagKey
		flag, err := findFlag(v.Tx, scope, Flags{s.core}, e.Flag)
		if flag != nil { // which may have another one now
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
