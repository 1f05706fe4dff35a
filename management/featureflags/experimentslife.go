package featureflags

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// ExperimentCall is a step in an experiment's life (experiments.md §3.7).
type ExperimentCall struct {
	// Fields are those of its body.
	Fields management.Fields
	// Title says what it does.
	Title string
	// check refuses; flag is the experiment's.
	check func(x *storedExperiment, flag *storedFlag, v management.Values) error
	do    func(x *storedExperiment, flag *storedFlag, v management.Values, now management.Stamp)
}

var conclusionFields = management.Fields{
	{Name: "conclusion", Type: management.Choice, Null: true, Choices: []string{"won", "lost", "inconclusive", "stopped_early", "invalid"}},
	{Name: "conclusion_comment", Type: management.Text, Null: true, Blank: true, MaxLength: 4000},
}

// ExperimentCalls are the steps by their names in paths.
var ExperimentCalls = map[string]ExperimentCall{
	"launch": {
		Title: "Start an experiment now, and switch its flag on",
		check: func(x *storedExperiment, flag *storedFlag, _ management.Values) error {
			if !x.isDraft() {
				return experimentFault("Experiment has already been launched.")
			}
			if len(variantsOf(flag)) < 2 {
				return experimentFault("Feature flag must have at least 2 variants (control and at least one test variant)")
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedFlag, _ management.Values, now management.Stamp) {
			x.Start, x.End, flag.Active = now, management.Stamp{}, true
		},
	},
	"pause": {
		Title: "Switch the flag of a running experiment off",
		check: func(x *storedExperiment, flag *storedFlag, _ management.Values) error {
			return x.checkRunning("Experiment is already paused.", !flag.Active)
		},
		do: func(_ *storedExperiment, flag *storedFlag, _ management.Values, _ management.Stamp) {
			flag.Active = false
		},
	},
	"resume": {
		Title: "Switch the flag of a paused experiment on again",
		check: func(x *storedExperiment, flag *storedFlag, _ management.Values) error {
			return x.checkRunning("Experiment is not paused.", flag.Active)
		},
		do: func(_ *storedExperiment, flag *storedFlag, _ management.Values, _ management.Stamp) {
			flag.Active = true
		},
	},
	"end": {
		Title: "End an experiment now; its flag stays as it is", Fields: conclusionFields,
		check: func(x *storedExperiment, _ *storedFlag, _ management.Values) error { return x.checkRunning("", false) },
		do: func(x *storedExperiment, _ *storedFlag, v management.Values, now management.Stamp) {
			x.End = now
			x.conclude(v)
		},
	},
	"ship_variant": {
		Title: "Give everybody in an experiment one variant, and end it",
		Fields: append(management.Fields{
			{Name: "variant_key", Type: management.Text, Required: true, MaxLength: 400},
			{Name: "release_to_everyone", Type: management.Bool, Help: "true: whoever asks gets it, not only those in the flag's conditions"},
		}, conclusionFields...),
		check: func(x *storedExperiment, flag *storedFlag, v management.Values) error {
			if x.isDraft() {
				return experimentFault("Experiment has not been launched yet.")
			}
			if key := v.Text("variant_key"); !slices.ContainsFunc(variantsOf(flag), func(o experimentVariant) bool { return o.Key == key }) {
				return experimentFault("Variant '%s' not found on feature flag.", key)
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedFlag, v management.Values, now management.Stamp) {
			flag.Filters = shipVariant(flag.Filters, v.Text("variant_key"), v.Bool("release_to_everyone"))
			if x.End.IsZero() {
				x.End = now
			}
			x.conclude(v)
		},
	},
	"reset": {
		Title: "Make an experiment a draft again; its flag stays as it is",
		check: func(x *storedExperiment, _ *storedFlag, _ management.Values) error {
			if x.isDraft() {
				return experimentFault("Experiment is already in draft state.")
			}
			return nil
		},
		do: func(x *storedExperiment, _ *storedFlag, _ management.Values, _ management.Stamp) {
			x.Start, x.End, x.Conclusion, x.Comment, x.Archived = management.Stamp{}, management.Stamp{}, nil, nil, false
		},
	},
	"archive": {
		Title:  "Archive an experiment that has ended",
		Fields: management.Fields{{Name: "disable_feature_flag", Type: management.Bool, Help: "true switches its flag off"}},
		check: func(x *storedExperiment, _ *storedFlag, _ management.Values) error {
			switch {
			case x.Archived:
				return experimentFault("Experiment is already archived.")
			case x.End.IsZero():
				return experimentFault("Experiment must be ended before it can be archived.")
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedFlag, v management.Values, _ management.Stamp) {
			x.Archived, flag.Active = true, flag.Active && !v.Bool("disable_feature_flag")
		},
	},
	"unarchive": {
		Title: "Take an experiment out of the archive",
		check: func(x *storedExperiment, _ *storedFlag, _ management.Values) error {
			if !x.Archived {
				return experimentFault("Experiment is not archived.")
			}
			return nil
		},
		do: func(x *storedExperiment, _ *storedFlag, _ management.Values, _ management.Stamp) { x.Archived = false },
	},
}

func experimentFault(text string, args ...any) error { return management.Fault("", text, args...) }

// checkRunning refuses for an experiment that is not, and then with a text where that is so.
func (x *storedExperiment) checkRunning(text string, refuse bool) error {
	switch {
	case x.isDraft():
		return experimentFault("Experiment has not been launched yet.")
	case !x.End.IsZero():
		return experimentFault("Experiment has already ended.")
	case refuse:
		return experimentFault("%s", text)
	}
	return nil
}

func (x *storedExperiment) conclude(v management.Values) {
	for name, to := range map[string]**string{"conclusion": &x.Conclusion, "conclusion_comment": &x.Comment} {
		if v.Has(name) {
			*to = nil
			if text := v.Text(name); !v.IsNull(name) {
				*to = &text
			}
		}
	}
}

// variantsOf are those of a flag; what cannot be read are none.
func variantsOf(flag *storedFlag) []experimentVariant {
	list, _ := readVariants(management.JSONObject(management.JSONObject(flag.Filters)["multivariate"])["variants"])
	return list
}

// shipVariant are filters in which one variant gets all; to everyone, with a condition of
// its own before the others.
func shipVariant(filters json.RawMessage, key string, everyone bool) json.RawMessage {
	out := management.JSONObject(filters)
	multivariate := management.JSONObject(out["multivariate"])
	var variants, groups []map[string]json.RawMessage
	_ = json.Unmarshal(multivariate["variants"], &variants) // of a stored flag, which was checked
	_ = json.Unmarshal(out["groups"], &groups)
	for _, v := range variants {
		v["rollout_percentage"] = json.RawMessage("0")
		if management.JSONText(v["key"]) == key {
			v["rollout_percentage"] = json.RawMessage("100")
		}
	}
	multivariate["variants"] = management.Encode(variants)
	out["multivariate"] = management.Encode(multivariate)
	if everyone {
		first := management.JSONObject(json.RawMessage(`{"properties":[],"rollout_percentage":100,"description":"Added automatically when the experiment was ended to keep only one variant."}`))
		out["groups"] = management.Encode(append([]map[string]json.RawMessage{first}, groups...))
	}
	return management.Encode(out)
}

// Call does a step in an experiment's life: the experiment, its flag and what the log
// says of both are one write.
func (s Experiments) Call(ctx context.Context, scope *management.Scope, id, name string, b management.Body) (*Experiment, error) {
	call := ExperimentCalls[name]
	v, err := call.Fields.Change(b)
	if err != nil {
		return nil, err
	}
	for _, f := range call.Fields {
		if f.Required && !v.Has(f.Name) {
			return nil, management.CodedFault(management.CodeRequired, f.Name, "This field is required.")
		}
	}
	return management.RunAction(ctx, s.Resource, scope, id, func(e *experimentEdit) error {
		flags := Flags{s.core}
		flag, err := findFlag(e.Tx, e.Scope, flags, e.After.Flag)
		if err != nil {
			return err
		}
		if flag == nil {
			return experimentFault("The linked feature flag has been deleted.")
		}
		if err := call.check(e.After, flag, v); err != nil {
			return err
		}
		filtersBefore := string(flag.Filters)
		now := management.NewStamp(s.Env.Now())
		call.do(e.After, flag, v, now)
		e.After.UpdatedAt = now
		if err := s.setFingerprints(e.View, e.After); err != nil {
			return err
		}
		if flag.Active == flag.before.Active && string(flag.Filters) == filtersBefore {
			return nil
		}
		if err := e.RequireAccess(management.Editor, flag.accessObject()); err != nil {
			return err
		}
		return flags.saveLinked(e.Tx, e.Scope, flag)
	})
}
