package experiments

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// call is a transition in the life cycle of an experiment (experiments.md §3.7).
type call struct {
	// Fields are the fields of the request body.
	Fields management.Fields
	// Title is a short description for the documentation of the API.
	Title string
	// check returns an error if the experiment is in the wrong state. flag is the experiment's
	// flag.
	check func(x *storedExperiment, flag *storedflags.Flag, v management.Values) error
	// do changes the experiment and the flag in memory. It is nil if people is not.
	do func(x *storedExperiment, flag *storedflags.Flag, v management.Values, now management.Stamp)
	// people is do for a transition that needs the people who have been exposed. It may store other
	// records in the transaction.
	people func(s Service, e *experimentEdit, flag *storedflags.Flag, exposed *exposedPeople) error
}

// Queries reports whether the transition runs a query, which may take longer than other requests.
func (c *call) Queries() bool { return c.people != nil }

// Calls are the transitions by their name in the URL path.
var Calls = map[string]call{
	"launch": {
		Title: "Launch an experiment now and enable its flag",
		check: func(x *storedExperiment, flag *storedflags.Flag, _ management.Values) error {
			if !x.isDraft() {
				return experimentFault("Experiment has already been launched.")
			}
			if len(variantsOf(flag)) < 2 {
				return experimentFault(tooFewVariants)
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedflags.Flag, _ management.Values, now management.Stamp) {
			// An end date may have been set while the experiment was a draft.
			x.Start, x.End, flag.Active = now, management.Stamp{}, true
		},
	},
	// Paused is not stored: an experiment is paused while its flag is off (statusOf).
	"pause": {
		Title: "Pause a running experiment by disabling its flag",
		check: func(x *storedExperiment, flag *storedflags.Flag, _ management.Values) error {
			return x.checkRunning("Experiment is already paused.", !flag.Active)
		},
		do: func(_ *storedExperiment, flag *storedflags.Flag, _ management.Values, _ management.Stamp) {
			flag.Active = false
		},
	},
	"resume": {
		Title: "Resume a paused experiment by enabling its flag",
		check: func(x *storedExperiment, flag *storedflags.Flag, _ management.Values) error {
			return x.checkRunning("Experiment is not paused.", flag.Active)
		},
		do: func(_ *storedExperiment, flag *storedflags.Flag, _ management.Values, _ management.Stamp) {
			flag.Active = true
		},
	},
	// The flag remains on, so persons do not lose their variant.
	"end": {
		Title: "End an experiment now without changing its flag", Fields: conclusionFields,
		check: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values) error {
			return x.checkRunning("", false)
		},
		do: func(x *storedExperiment, _ *storedflags.Flag, v management.Values, now management.Stamp) {
			x.End = now
			x.conclude(v)
		},
	},
	// Without release_to_everyone, the flag's conditions still decide who gets the variant.
	"ship_variant": {
		Title: "Ship one variant to everyone in an experiment, and end it",
		Fields: append(management.Fields{
			{Name: "variant_key", Type: management.Text, Required: true, MaxLength: 400},
			{Name: "release_to_everyone", Type: management.Bool, Help: "true: everyone gets the variant, not only those who match the flag's conditions"},
		}, conclusionFields...),
		check: func(x *storedExperiment, flag *storedflags.Flag, v management.Values) error {
			if x.isDraft() {
				return experimentFault("Experiment has not been launched yet.")
			}
			if key := v.Text("variant_key"); !slices.ContainsFunc(variantsOf(flag), func(o experimentVariant) bool { return o.Key == key }) {
				return experimentFault("Variant '%s' not found on feature flag.", key)
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedflags.Flag, v management.Values, now management.Stamp) {
			flag.Filters = shipVariant(flag.Filters, v.Text("variant_key"), v.Bool("release_to_everyone"))
			// A variant may also be shipped after the end: then the end date does not change.
			if x.End.IsZero() {
				x.End = now
			}
			x.conclude(v)
		},
	},
	// After the next launch, results are computed from the new start date.
	"reset": {
		Title: "Reset an experiment to a draft without changing its flag",
		check: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values) error {
			if x.isDraft() {
				return experimentFault("Experiment is already in draft state.")
			}
			return nil
		},
		do: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values, _ management.Stamp) {
			x.Start, x.End, x.Conclusion, x.Comment, x.Archived = management.Stamp{}, management.Stamp{}, nil, nil, false
		},
	},
	"freeze_exposure": {
		Title: "Freeze the exposure of an experiment: its flag stays on only for the people who have been exposed",
		check: checkFreeze, people: Service.freeze,
	},
	"unfreeze_exposure": {
		Title: "Unfreeze the exposure of an experiment",
		check: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values) error {
			if x.Frozen == nil {
				return experimentFault("Experiment exposure is not frozen.")
			}
			return nil
		},
		do: unfreeze,
	},
	// Archiving hides the experiment from lists, unless they request archived experiments.
	"archive": {
		Title:  "Archive an experiment that has ended",
		Fields: management.Fields{{Name: "disable_feature_flag", Type: management.Bool, Help: "true disables the experiment's flag"}},
		check: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values) error {
			switch {
			case x.Archived:
				return experimentFault("Experiment is already archived.")
			case x.End.IsZero():
				return experimentFault(notEnded)
			}
			return nil
		},
		do: func(x *storedExperiment, flag *storedflags.Flag, v management.Values, _ management.Stamp) {
			x.Archived, flag.Active = true, flag.Active && !v.Bool("disable_feature_flag")
		},
	},
	// The flag is not switched on, even if archiving switched it off.
	"unarchive": {
		Title: "Unarchive an experiment",
		check: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values) error {
			if !x.Archived {
				return experimentFault("Experiment is not archived.")
			}
			return nil
		},
		do: func(x *storedExperiment, _ *storedflags.Flag, _ management.Values, _ management.Stamp) {
			x.Archived = false
		},
	},
}

// notEnded is the message of an error about an experiment that cannot be archived yet.
const notEnded = "Experiment must be ended before it can be archived."

// checkRunning returns an error if the experiment has not been launched or has ended. Otherwise,
// if refuse is true, it returns an error with the given text.
func (x *storedExperiment) checkRunning(message string, refuse bool) error {
	switch {
	case x.isDraft():
		return experimentFault("Experiment has not been launched yet.")
	// An experiment that has ended cannot be paused, resumed or ended again.
	case !x.End.IsZero():
		return experimentFault("Experiment has already ended.")
	case refuse:
		return experimentFault("%s", message)
	}
	return nil
}

// conclude sets the conclusion and its comment to the values in the request. Absent fields are
// unchanged.
func (x *storedExperiment) conclude(v management.Values) {
	// A field that is absent is unchanged; null removes the value.
	for name, to := range map[string]**string{"conclusion": &x.Conclusion, "conclusion_comment": &x.Comment} {
		if v.Has(name) {
			*to = nil
			if text := v.Text(name); !v.IsNull(name) {
				*to = &text
			}
		}
	}
}

// variantsOf returns the variants of a flag, or nil if they cannot be decoded.
func variantsOf(flag *storedflags.Flag) []experimentVariant {
	list, _ := readVariants(management.JSONObject(management.JSONObject(flag.Filters)["multivariate"])["variants"])
	return list
}

// shipVariant returns filters with a rollout of 100 percent for one variant and 0 for all other
// variants. If everyone is true, it also inserts a first condition that matches everyone.
func shipVariant(filters json.RawMessage, key string, everyone bool) json.RawMessage {
	out := management.JSONObject(filters)
	multivariate := management.JSONObject(out["multivariate"])
	var variants, groups []map[string]json.RawMessage
	// Variants and conditions are decoded as maps to preserve all their members.
	_ = json.Unmarshal(multivariate["variants"], &variants) // stored flags have been validated
	_ = json.Unmarshal(out["groups"], &groups)
	for _, v := range variants {
		v["rollout_percentage"] = json.RawMessage("0")
		if management.JSONText(v["key"]) == key {
			v["rollout_percentage"] = json.RawMessage("100")
		}
	}
	multivariate["variants"] = storage.Encode(variants)
	out["multivariate"] = storage.Encode(multivariate)
	if everyone {
		// Conditions are evaluated in order, so the new one must be the first.
		first := management.JSONObject(json.RawMessage(`{"properties":[],"rollout_percentage":100,"description":"Added automatically when the experiment was ended to keep only one variant."}`))
		out["groups"] = storage.Encode(append([]map[string]json.RawMessage{first}, groups...))
	}
	return storage.Encode(out)
}

// Call performs the transition with the given name, which must be a key of Calls. The
// experiment, its flag and their log entries are written in one transaction. The caller needs
// permission to edit the flag if the transition changes it.
func (s Service) Call(ctx context.Context, scope *management.Scope, id, name string, b management.Body) (*Experiment, error) {
	call := Calls[name]
	v, err := call.read(b)
	if err != nil {
		return nil, err
	}
	check := func(x *storedExperiment, flag *storedflags.Flag) error { return call.check(x, flag, v) }
	var exposed *exposedPeople
	if call.people != nil {
		// The query runs outside of the transaction, since it may take seconds.
		if exposed, err = s.findExposed(ctx, scope, id, check); err != nil {
			return nil, err
		}
	}
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *experimentEdit) error {
		flag, err := s.linkedFlag(e.View, e.After)
		if err != nil {
			return err
		}
		if err := check(e.After, flag); err != nil {
			return err
		}
		now := management.NewStamp(s.env.Now())
		if call.people != nil {
			if err := call.people(s, e, flag, exposed); err != nil {
				return err
			}
		} else {
			call.do(e.After, flag, v, now)
		}
		e.After.UpdatedAt = now
		if err := s.setFingerprints(e.View, e.After); err != nil {
			return err
		}
		if err := s.saveChanged(e.View, flag); err != nil {
			return err
		}
		// The cohort can be deleted only after the flag no longer uses it.
		if e.Before.Frozen != nil && e.After.Frozen == nil {
			return s.deleteCohort(e.View, *e.Before.Frozen)
		}
		return nil
	})
}

// read reads the body of a request. Change treats all fields as optional, but some calls have
// required fields.
func (c *call) read(b management.Body) (management.Values, error) {
	v, err := c.Fields.Change(b)
	for _, f := range c.Fields {
		if err == nil && f.Required && !v.Has(f.Name) {
			err = management.CodedFault(management.CodeRequired, f.Name, "This field is required.")
		}
	}
	return v, err
}

// saveChanged stores a flag if its state or its filters have changed.
func (s Service) saveChanged(v *view, flag *storedflags.Flag) error {
	if flag.Active == flag.Before.Active && string(flag.Filters) == string(flag.Before.Filters) {
		return nil
	}
	if err := v.RequireAccess(management.Editor, flag.AccessObject()); err != nil {
		return err
	}
	return s.stored.SaveLinked(v.Tx, v.Scope, flag)
}

// linkedFlag returns the flag of an experiment. All transitions need the flag, even those that do
// not change it, so it returns an error if the flag was deleted.
func (s Service) linkedFlag(v *view, x *storedExperiment) (*storedflags.Flag, error) {
	flag, err := s.stored.Find(v.Tx, v.Scope, x.Flag)
	if err == nil && flag == nil {
		err = experimentFault("The linked feature flag has been deleted.")
	}
	return flag, err
}
