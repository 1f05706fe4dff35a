package featureflags

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// surveyFlagPrefix begins the keys of the flags that surveys make for themselves.
const surveyFlagPrefix = "survey-targeting-"

// surveyFlagKey is a new key.
func surveyFlagKey() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return surveyFlagPrefix + hex.EncodeToString(b[:])
}

// saveFlags makes and changes the flags of a survey: the one that it is linked to,
// the one that chooses persons, and the one that leaves out who has answered. was
// is the survey before.
func (s Surveys) saveFlags(tx Tx, scope *management.Scope, x, before *storedSurvey, v management.Values) error {
	if err := s.link(tx, scope, x, before, v); err != nil {
		return err
	}
	filters := surveyTargeting(v.Raw("targeting_flag_filters"))
	if err := s.setTargeting(tx, scope, x, v, filters); err != nil {
		return err
	}
	if x.TargetingID != nil && x.OwnTargeting {
		if err := s.changeFlag(tx, scope, *x.TargetingID, x.isRunning(), filters); err != nil {
			return err
		}
	}
	if x.InternalTargeting == 0 {
		id, err := s.makeFlag(tx, scope, x, surveyFlagKey()+"-custom", x.unansweredFilters(s.Env.Now()))
		if err != nil {
			return err
		}
		x.InternalTargeting = id
	} else if err := s.changeFlag(tx, scope, x.InternalTargeting, x.isRunning(), x.unansweredFilters(s.Env.Now())); err != nil {
		return err
	}
	return s.scheduleIteration(tx, scope.Project.ID, x)
}

func (s Surveys) makeFlag(tx Tx, scope *management.Scope, x *storedSurvey, key string, filters json.RawMessage) (int64, error) {
	f, err := Flags{s.core}.makeFlag(tx, scope, flagDraft{
		Key: key, Name: "Targeting flag for survey " + x.Name, Filters: filters, Active: x.isRunning(), Context: "surveys", Hidden: true,
	})
	if err != nil {
		return 0, err
	}
	return f.ID, nil
}

// changeFlag switches a flag of the survey on or off, and gives it other filters
// unless they are nil.
func (s Surveys) changeFlag(tx Tx, scope *management.Scope, id int64, active bool, filters json.RawMessage) error {
	flags := Flags{s.core}
	f, err := findFlag(tx, scope, flags, id)
	if err != nil || f == nil || f.Active == active && (filters == nil || string(compactJSON(filters)) == string(compactJSON(f.Filters))) {
		return err
	}
	if f.Active = active; filters != nil {
		f.Filters = filters
	}
	return flags.saveFlag(tx, scope, f)
}

// link takes the survey to the flag that it is linked to. Flags of files are not
// told of it: they cannot be changed.
func (s Surveys) link(tx Tx, scope *management.Scope, x, before *storedSurvey, v management.Values) error {
	flags := Flags{s.core}
	if x.LinkedFlagID != nil && v.Has("linked_flag_id") {
		if _, err := loadLinked(tx, scope, flags, *x.LinkedFlagID, "linked_flag_id"); err != nil {
			return err
		}
	}
	if before.LinkedFlagID != nil && valueOrZero(x.LinkedFlagID) != *before.LinkedFlagID {
		if err := s.unlink(tx, scope, before); err != nil {
			return err
		}
	}
	if x.LinkedFlagID == nil {
		return nil
	}
	f, err := findFlag(tx, scope, flags, *x.LinkedFlagID)
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	links := setLink(f.Links.Surveys, flagLink{ID: linkID(x.ID), Name: x.Name})
	if slices.Equal(links, f.Links.Surveys) {
		return nil
	}
	f.Links.Surveys = links
	return flags.saveLinked(tx, scope, f)
}

// unlink takes the survey out of the flag that it is linked to.
func (s Surveys) unlink(tx Tx, scope *management.Scope, x *storedSurvey) error {
	flags := Flags{s.core}
	f, err := findFlag(tx, scope, flags, valueOrZero(x.LinkedFlagID))
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	f.Links.Surveys = removeLink(f.Links.Surveys, x.ID)
	return flags.saveLinked(tx, scope, f)
}

// setTargeting sets the flag that chooses the persons: none, one that is there, or one
// of the survey's own.
func (s Surveys) setTargeting(tx Tx, scope *management.Scope, x *storedSurvey, v management.Values, filters json.RawMessage) error {
	if err := checkTargeting(filters); err != nil {
		return err
	}
	other := v.Has("targeting_flag_id") && v.Int("targeting_flag_id") != valueOrZero(x.TargetingID)
	if other && !v.IsNull("targeting_flag_id") {
		if _, err := loadLinked(tx, scope, Flags{s.core}, v.Int("targeting_flag_id"), "targeting_flag_id"); err != nil {
			return err
		}
	}
	if v.Bool("remove_targeting_flag") || other {
		if err := s.deleteTargeting(tx, scope, x); err != nil {
			return err
		}
		x.TargetingID, x.OwnTargeting = nil, false
		if !v.Bool("remove_targeting_flag") {
			management.SetNull(v, "targeting_flag_id", &x.TargetingID)
		}
	}
	if filters == nil || v.Bool("remove_targeting_flag") || x.TargetingID != nil && x.OwnTargeting {
		return nil
	}
	id, err := s.makeFlag(tx, scope, x, surveyFlagKey(), filters)
	x.TargetingID, x.OwnTargeting = &id, true
	return err
}

// listOperators are what agents write where a person's property is one of a list, which
// a flag says in other words (clients.md §8.1).
var listOperators = map[string]string{"in": "exact", "not_in": "is_not"}

// surveyTargeting puts the operators of flags into filters.
func surveyTargeting(filters json.RawMessage) json.RawMessage {
	form, changed := anyObject(wire.Value(filters)), false
	for _, p := range propertiesOf(form) {
		operator, _ := p["operator"].(string)
		own, ok := listOperators[operator]
		if _, list := p["value"].([]any); ok && list && (p["type"] == nil || p["type"] == "person") {
			p["operator"], changed = own, true
		}
	}
	if !changed {
		return filters
	}
	return wire.MustEncode(form)
}

// checkTargeting refuses a choice of persons that chooses everybody.
func checkTargeting(filters json.RawMessage) error {
	if filters == nil {
		return nil
	}
	var form struct {
		Groups []struct {
			Properties []json.RawMessage `json:"properties"`
			Rollout    *float64          `json:"rollout_percentage"`
		} `json:"groups"`
	}
	if json.Unmarshal(filters, &form) != nil {
		return management.Fault("targeting_flag_filters", "The filters need groups with properties and rollout_percentage.")
	}
	for _, g := range form.Groups {
		if len(g.Properties) == 0 && (g.Rollout == nil || *g.Rollout >= 100) {
			return management.Fault("", "Invalid operation: User targeting rolls out to everyone. Narrow it down, or leave the targeting out.")
		}
	}
	return nil
}

func (s Surveys) deleteTargeting(tx Tx, scope *management.Scope, x *storedSurvey) error {
	if x.TargetingID == nil || !x.OwnTargeting {
		return nil
	}
	return s.deleteFlag(tx, scope, *x.TargetingID)
}

// deleteFlag deletes a flag of the survey.
func (s Surveys) deleteFlag(tx Tx, scope *management.Scope, id int64) error {
	flags := Flags{s.core}
	f, err := findFlag(tx, scope, flags, id)
	if err != nil || f == nil {
		return err
	}
	f.Active, f.Deleted = false, true
	return flags.saveFlag(tx, scope, f)
}

// deleteFlags deletes the flags that the survey has made and unlinks the other one.
func (s Surveys) deleteFlags(tx Tx, scope *management.Scope, x *storedSurvey) error {
	if err := s.unlink(tx, scope, x); err != nil {
		return err
	}
	if err := s.deleteTargeting(tx, scope, x); err != nil {
		return err
	}
	if err := tx.Delete(kindSurveyIteration, "", x.ID); err != nil {
		return err
	}
	return s.deleteFlag(tx, scope, x.InternalTargeting)
}

// Launch begins to show a survey now (spec/clients.md §8.1).
func (s Surveys) Launch(ctx context.Context, scope *management.Scope, id string) (*Survey, error) {
	return s.changeTimes(ctx, scope, id, func(x *storedSurvey, now management.Stamp) error {
		if !x.Start.IsZero() {
			return management.Fault("", "The survey has been launched already.")
		}
		x.Start = now
		return nil
	})
}

// Stop ends a survey now.
func (s Surveys) Stop(ctx context.Context, scope *management.Scope, id string) (*Survey, error) {
	return s.changeTimes(ctx, scope, id, func(x *storedSurvey, now management.Stamp) error {
		switch {
		case x.Start.IsZero():
			return management.Fault("", "The survey has not been launched yet.")
		case !x.End.IsZero():
			return management.Fault("", "The survey has been stopped already.")
		}
		x.End = now
		return nil
	})
}

// changeTimes changes a time of a survey, and its flags with it.
func (s Surveys) changeTimes(ctx context.Context, scope *management.Scope, id string, change func(*storedSurvey, management.Stamp) error) (*Survey, error) {
	return management.RunAction(ctx, s.Resource, scope, id, func(e *management.Edit[Tx, storedSurvey]) error {
		if err := change(e.After, management.NewStamp(s.Env.Now())); err != nil {
			return err
		}
		e.Values = management.Values{}
		return s.rules(e)
	})
}
