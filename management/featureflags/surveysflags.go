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
func (s Surveys) saveFlags(tx Tx, st *management.Standing, x, was *storedSurvey, v management.Values) error {
	if err := s.link(tx, st, x, was, v); err != nil {
		return err
	}
	filters := surveyTargeting(v.Raw("targeting_flag_filters"))
	if err := s.target(tx, st, x, v, filters); err != nil {
		return err
	}
	if x.TargetingID != nil && x.OwnTargeting {
		if err := s.changeFlag(tx, st, *x.TargetingID, x.running(), filters); err != nil {
			return err
		}
	}
	if x.InternalTargeting == 0 {
		id, err := s.makeFlag(tx, st, x, surveyFlagKey()+"-custom", x.unanswered(s.Desk.Now()))
		if err != nil {
			return err
		}
		x.InternalTargeting = id
	} else if err := s.changeFlag(tx, st, x.InternalTargeting, x.running(), x.unanswered(s.Desk.Now())); err != nil {
		return err
	}
	return s.plant(tx, st.Project.ID, x)
}

func (s Surveys) makeFlag(tx Tx, st *management.Standing, x *storedSurvey, key string, filters json.RawMessage) (int64, error) {
	f, err := Flags{s.core}.makeFlag(tx, st, flagDraft{
		Key: key, Name: "Targeting flag for survey " + x.Name, Filters: filters, Active: x.running(), Context: "surveys", Hidden: true,
	})
	if err != nil {
		return 0, err
	}
	return f.ID, nil
}

// changeFlag switches a flag of the survey on or off, and gives it other filters
// unless they are nil.
func (s Surveys) changeFlag(tx Tx, st *management.Standing, id int64, active bool, filters json.RawMessage) error {
	flags := Flags{s.core}
	f, err := flagOf(tx, st, flags, id)
	if err != nil || f == nil || f.Active == active && (filters == nil || string(compactOf(filters)) == string(compactOf(f.Filters))) {
		return err
	}
	if f.Active = active; filters != nil {
		f.Filters = filters
	}
	return flags.saveFlag(tx, st, f)
}

// link takes the survey to the flag that it is linked to. Flags of files are not
// told of it: they cannot be changed.
func (s Surveys) link(tx Tx, st *management.Standing, x, was *storedSurvey, v management.Values) error {
	flags := Flags{s.core}
	if x.LinkedFlagID != nil && v.Has("linked_flag_id") {
		if _, err := loadLinked(tx, st, flags, *x.LinkedFlagID, "linked_flag_id"); err != nil {
			return err
		}
	}
	if was.LinkedFlagID != nil && numberOr0(x.LinkedFlagID) != *was.LinkedFlagID {
		if err := s.unlink(tx, st, was); err != nil {
			return err
		}
	}
	if x.LinkedFlagID == nil {
		return nil
	}
	f, err := flagOf(tx, st, flags, *x.LinkedFlagID)
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	links := setLink(f.Links.Surveys, flagLink{ID: linkID(x.ID), Name: x.Name})
	if slices.Equal(links, f.Links.Surveys) {
		return nil
	}
	f.Links.Surveys = links
	return flags.saveLinked(tx, st, f)
}

// unlink takes the survey out of the flag that it is linked to.
func (s Surveys) unlink(tx Tx, st *management.Standing, x *storedSurvey) error {
	flags := Flags{s.core}
	f, err := flagOf(tx, st, flags, numberOr0(x.LinkedFlagID))
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	f.Links.Surveys = dropLink(f.Links.Surveys, x.ID)
	return flags.saveLinked(tx, st, f)
}

// target sets the flag that chooses the persons: none, one that is there, or one
// of the survey's own.
func (s Surveys) target(tx Tx, st *management.Standing, x *storedSurvey, v management.Values, filters json.RawMessage) error {
	if err := checkTargeting(filters); err != nil {
		return err
	}
	other := v.Has("targeting_flag_id") && v.Int("targeting_flag_id") != numberOr0(x.TargetingID)
	if other && !v.Null("targeting_flag_id") {
		if _, err := loadLinked(tx, st, Flags{s.core}, v.Int("targeting_flag_id"), "targeting_flag_id"); err != nil {
			return err
		}
	}
	if v.Bool("remove_targeting_flag") || other {
		if err := s.dropTargeting(tx, st, x); err != nil {
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
	id, err := s.makeFlag(tx, st, x, surveyFlagKey(), filters)
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
		own, known := listOperators[operator]
		if _, list := p["value"].([]any); known && list && (p["type"] == nil || p["type"] == "person") {
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

func (s Surveys) dropTargeting(tx Tx, st *management.Standing, x *storedSurvey) error {
	if x.TargetingID == nil || !x.OwnTargeting {
		return nil
	}
	return s.dropFlag(tx, st, *x.TargetingID)
}

// dropFlag deletes a flag of the survey.
func (s Surveys) dropFlag(tx Tx, st *management.Standing, id int64) error {
	flags := Flags{s.core}
	f, err := flagOf(tx, st, flags, id)
	if err != nil || f == nil {
		return err
	}
	f.Active, f.Deleted = false, true
	return flags.saveFlag(tx, st, f)
}

// dropFlags deletes the flags that the survey has made and unlinks the other one.
func (s Surveys) dropFlags(tx Tx, st *management.Standing, x *storedSurvey) error {
	if err := s.unlink(tx, st, x); err != nil {
		return err
	}
	if err := s.dropTargeting(tx, st, x); err != nil {
		return err
	}
	if err := tx.Delete(kindSurveyTurn, "", x.ID); err != nil {
		return err
	}
	return s.dropFlag(tx, st, x.InternalTargeting)
}

// Launch begins to show a survey now (spec/clients.md §8.1).
func (s Surveys) Launch(ctx context.Context, st *management.Standing, id string) (*Survey, error) {
	return s.turn(ctx, st, id, func(x *storedSurvey, now management.Stamp) error {
		if !x.Start.IsZero() {
			return management.Fault("", "The survey has been launched already.")
		}
		x.Start = now
		return nil
	})
}

// Stop ends a survey now.
func (s Surveys) Stop(ctx context.Context, st *management.Standing, id string) (*Survey, error) {
	return s.turn(ctx, st, id, func(x *storedSurvey, now management.Stamp) error {
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

// turn changes a time of a survey, and its flags with it.
func (s Surveys) turn(ctx context.Context, st *management.Standing, id string, change func(*storedSurvey, management.Stamp) error) (*Survey, error) {
	return management.Act(ctx, s.Resource, st, id, func(e *management.Edit[Tx, storedSurvey]) error {
		if err := change(e.Now, management.At(s.Desk.Now())); err != nil {
			return err
		}
		e.Values = management.Values{}
		return s.rules(e)
	})
}
