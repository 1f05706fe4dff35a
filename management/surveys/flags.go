package surveys

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// surveyFlagPrefix is the prefix of the keys of flags that surveys create.
const surveyFlagPrefix = "survey-targeting-"

// newFlagKey returns a random key for a new flag of a survey.
func newFlagKey() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return surveyFlagPrefix + hex.EncodeToString(b[:])
}

// saveFlags creates and changes the flags of a survey. A survey has up to three flags: the linked
// flag, which must be on; the targeting flag, which selects persons; and the internal targeting
// flag, which excludes persons who have responded or dismissed the survey. before is the stored
// survey.
func (s Service) saveFlags(tx storeTx, scope *management.Scope, x, before *storedSurvey, v management.Values) error {
	if err := s.link(tx, scope, x, before, v); err != nil {
		return err
	}
	filters := surveyTargeting(v.Raw("targeting_flag_filters"))
	if err := s.setTargeting(tx, scope, x, v, filters); err != nil {
		return err
	}
	// A flag of the survey is on while the survey is running.
	if x.TargetingID != nil && x.OwnTargeting {
		if err := s.changeFlag(tx, scope, *x.TargetingID, x.isRunning(), filters); err != nil {
			return err
		}
	}
	// The internal targeting flag exists for every survey.
	if x.InternalTargeting == 0 {
		id, err := s.makeFlag(tx, scope, x, newFlagKey()+"-custom", x.unansweredFilters(s.Env.Now()))
		if err != nil {
			return err
		}
		x.InternalTargeting = id
	} else if err := s.changeFlag(tx, scope, x.InternalTargeting, x.isRunning(), x.unansweredFilters(s.Env.Now())); err != nil {
		return err
	}
	return s.scheduleIteration(tx, scope.Project.ID, x)
}

// Make creates a hidden flag and returns its id.
func (s Service) makeFlag(tx storeTx, scope *management.Scope, x *storedSurvey, key string, filters json.RawMessage) (int64, error) {
	f, err := s.stored.Make(tx, scope, storedflags.Draft{
		Key: key, Name: "Targeting flag for survey " + x.Name, Filters: filters, Active: x.isRunning(), Context: "surveys", Hidden: true,
	})
	if err != nil {
		return 0, err
	}
	return f.ID, nil
}

// changeFlag switches a flag of the survey on or off, and replaces its filters unless filters is
// nil. It stores nothing if the flag does not change.
func (s Service) changeFlag(tx storeTx, scope *management.Scope, id int64, active bool, filters json.RawMessage) error {
	f, err := s.stored.Find(tx, scope, id)
	if err != nil || f == nil || f.Active == active && (filters == nil || string(storedflags.CompactJSON(filters)) == string(storedflags.CompactJSON(f.Filters))) {
		return err
	}
	if f.Active = active; filters != nil {
		f.Filters = filters
	}
	return s.stored.Save(tx, scope, f)
}

// link adds the survey to the links of its linked flag, and removes it from the flag to which it
// was linked before. Flags of definitions files cannot be changed and get no link.
func (s Service) link(tx storeTx, scope *management.Scope, x, before *storedSurvey, v management.Values) error {
	// Check the flag only if it was sent: the stored flag may be deleted meanwhile.
	if x.LinkedFlagID != nil && v.Has("linked_flag_id") {
		if _, err := s.stored.LoadLinked(tx, scope, *x.LinkedFlagID, "linked_flag_id"); err != nil {
			return err
		}
	}
	// The survey was linked to another flag before: remove the link there.
	if before.LinkedFlagID != nil && plain.OrZero(x.LinkedFlagID) != *before.LinkedFlagID {
		if err := s.unlink(tx, scope, before); err != nil {
			return err
		}
	}
	if x.LinkedFlagID == nil {
		return nil
	}
	f, err := s.stored.Find(tx, scope, *x.LinkedFlagID)
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	links := storedflags.SetLink(f.Links.Surveys, storedflags.FlagLink{ID: storedflags.LinkID(x.ID), Name: x.Name})
	if slices.Equal(links, f.Links.Surveys) {
		return nil
	}
	f.Links.Surveys = links
	return s.stored.SaveLinked(tx, scope, f)
}

// unlink removes the survey from the links of its linked flag.
func (s Service) unlink(tx storeTx, scope *management.Scope, x *storedSurvey) error {
	f, err := s.stored.Find(tx, scope, plain.OrZero(x.LinkedFlagID))
	if err != nil || f == nil || f.Origin != "" {
		return err
	}
	f.Links.Surveys = storedflags.RemoveLink(f.Links.Surveys, x.ID)
	return s.stored.SaveLinked(tx, scope, f)
}

// setTargeting sets the targeting flag of a survey: no flag, an existing flag, or a new flag that
// belongs to the survey.
func (s Service) setTargeting(tx storeTx, scope *management.Scope, x *storedSurvey, v management.Values, filters json.RawMessage) error {
	if err := checkTargeting(filters); err != nil {
		return err
	}
	// A request may replace the targeting flag by another flag or remove it; a flag of the survey
	// is deleted then.
	other := v.Has("targeting_flag_id") && v.Int("targeting_flag_id") != plain.OrZero(x.TargetingID)
	if other && !v.IsNull("targeting_flag_id") {
		if _, err := s.stored.LoadLinked(tx, scope, v.Int("targeting_flag_id"), "targeting_flag_id"); err != nil {
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
	// The filters apply to a new flag only; saveFlags changes the filters of an existing flag of
	// the survey.
	if filters == nil || v.Bool("remove_targeting_flag") || x.TargetingID != nil && x.OwnTargeting {
		return nil
	}
	id, err := s.makeFlag(tx, scope, x, newFlagKey(), filters)
	x.TargetingID, x.OwnTargeting = &id, true
	return err
}

// listOperators are operators that some clients send for a list of values, with the operators of
// flags that have the same meaning (clients.md §8.1).
var listOperators = map[string]string{"in": "exact", "not_in": "is_not"}

// surveyTargeting replaces listOperators in filters.
func surveyTargeting(filters json.RawMessage) json.RawMessage {
	form, changed := definitions.Object(wire.Value(filters)), false
	for _, p := range storedflags.PropertiesOf(form) {
		operator, _ := p["operator"].(string)
		own, ok := listOperators[operator]
		// Only properties of persons with a list of values are converted.
		if _, list := p["value"].([]any); ok && list && (p["type"] == nil || p["type"] == "person") {
			p["operator"], changed = own, true
		}
	}
	if !changed {
		return filters
	}
	return wire.MustEncode(form)
}

// checkTargeting returns an error if a condition of the filters matches everybody.
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
		return management.Fault("targeting_flag_filters", "The filters must have groups with properties and rollout_percentage.")
	}
	// A condition without rollout_percentage has a rollout of 100 %.
	for _, g := range form.Groups {
		if len(g.Properties) == 0 && (g.Rollout == nil || *g.Rollout >= 100) {
			return management.Fault("", "Invalid operation: User targeting rolls out to everyone. Narrow it down, or leave the targeting out.")
		}
	}
	return nil
}

// deleteTargeting deletes the targeting flag if the survey has created it.
func (s Service) deleteTargeting(tx storeTx, scope *management.Scope, x *storedSurvey) error {
	if x.TargetingID == nil || !x.OwnTargeting {
		return nil
	}
	return s.deleteFlag(tx, scope, *x.TargetingID)
}

// deleteFlag deletes a flag of the survey.
func (s Service) deleteFlag(tx storeTx, scope *management.Scope, id int64) error {
	f, err := s.stored.Find(tx, scope, id)
	if err != nil || f == nil {
		return err
	}
	f.Active, f.Deleted = false, true
	return s.stored.Save(tx, scope, f)
}

// deleteFlags deletes the flags that the survey has created and unlinks the linked flag.
func (s Service) deleteFlags(tx storeTx, scope *management.Scope, x *storedSurvey) error {
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

// surveyIteration is the data of such a record.
type surveyIteration struct {
	Project int64  `json:"project"`
	Survey  string `json:"survey"`
}

// scheduleIteration schedules the next iteration of a survey, or removes the record if there is no
// next iteration.
func (s Service) scheduleIteration(tx storeTx, project int64, x *storedSurvey) error {
	if x.isRunning() {
		// starts[*current] is the start of the iteration after the current one.
		starts, current, _ := x.iterations(s.Env.Now())
		if current != nil && *current < len(starts) {
			return tx.Put(&management.Record{
				Kind: kindSurveyIteration, ID: x.ID, Sort: storage.SortTime(starts[*current].Time), Data: storage.Encode(surveyIteration{project, x.ID}),
			})
		}
	}
	return tx.Delete(kindSurveyIteration, "", x.ID)
}
