package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// kindHoldout is the kind of the records of holdouts: Parent is the project, ID the number, Sort
// the time of creation.
const kindHoldout = "experiment_holdout"

// holdoutFields are the writable fields of a holdout.
var holdoutFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: 400},
	{Name: "filters", Type: management.Array, Help: "list of one object with rollout_percentage: the percentage of users to hold out, 0 to 100"},
}

// newHoldouts returns the resource of holdouts. It needs the experiments, because a change of a
// holdout changes the flags of the experiments that use it.
func newHoldouts(experiments *Service) (s Holdouts) {
	s.experiments = experiments
	s.Resource = resource.NewResource(experiments.env, resource.Spec[storeTx, storedHoldout, holdoutView]{
		Kind: kindHoldout, ActivityScope: "ExperimentHoldout", Fields: holdoutFields, NewestFirst: true,
		Object: func(*storedHoldout) management.AccessObject { return experimentsObject },
		Header: func(_ *management.Scope, h *storedHoldout) resource.RecordHeader {
			return resource.RecordHeader{ID: strconv.FormatInt(h.ID, 10), Title: h.Name, Sort: storage.SortTime(h.CreatedAt.Time)}
		},
		Load: definitions.LoadNumbered[storedHoldout](kindHoldout),
		New: func(v *view) (*storedHoldout, error) {
			id, err := v.Tx.Next(kindHoldout)
			return &storedHoldout{CreatedBy: v.User.ID, holdoutSettings: holdoutSettings{ID: id, CreatedAt: management.NewStamp(experiments.env.Now())}}, err
		},
		Rules: s.rules,
		BeforeDelete: func(e *resource.Edit[storeTx, storedHoldout]) error {
			return s.updateFlags(e.View, e.After.ID, nil)
		},
		Show: showHoldout,
	})
	return s
}

// showHoldout returns a holdout as the API returns it.
func showHoldout(v *view, h *storedHoldout) (*holdoutView, error) {
	creator, err := v.Author(h.CreatedBy)
	return &holdoutView{h.holdoutSettings, creator, v.AccessTo(experimentsObject)}, err
}

// rules checks a holdout and, if its percentage has changed, updates the flags of its experiments.
func (s Holdouts) rules(e *resource.Edit[storeTx, storedHoldout]) error {
	h := e.After
	h.UpdatedAt = management.NewStamp(s.experiments.env.Now())
	if !e.IsNew && !e.Values.Has("filters") {
		return nil
	}
	if err := h.tidyFilters(); err != nil || e.IsNew || h.share() == e.Before.share() {
		return err
	}
	return s.updateFlags(e.View, h.ID, h)
}

// tidyFilters checks the filters and replaces them by one filter with the percentage as sent and
// the variant of this holdout.
func (h *storedHoldout) tidyFilters() error {
	var filters []map[string]json.RawMessage
	if len(h.Filters) > 0 && json.Unmarshal(h.Filters, &filters) != nil {
		return management.Fault("filters", "Expected a list of objects.")
	}
	if len(filters) == 0 {
		return management.Fault("filters", "Filters are required to create an holdout group")
	}
	if len(filters) > 1 {
		return management.Fault("filters", "A holdout must have one filter, not %d.", len(filters))
	}
	f := filters[0]
	share := f["rollout_percentage"]
	switch {
	case len(share) == 0 || string(share) == "null":
		return management.Fault("filters", "Rollout percentage must be present.")
	case !storedflags.IsPercentage(json.Number(share)):
		return management.Fault("filters", "Rollout percentage must be between 0 and 100.")
	case !management.EmptyJSON(f["properties"]):
		return management.Fault("filters", "A holdout applies to all persons: properties must be empty.")
	}
	// Write the filter in one form, whatever members the client has sent.
	h.Filters = storage.Encode([]any{map[string]any{
		"properties": []any{}, "rollout_percentage": share, "variant": fmt.Sprintf("holdout-%d", h.ID),
	}})
	return nil
}

// share returns the percentage of persons that are held out, as sent, or "" if it is not set.
func (h *storedHoldout) share() string {
	var filters []struct {
		Share json.Number `json:"rollout_percentage"`
	}
	_ = json.Unmarshal(h.Filters, &filters) // a stored holdout was checked
	if len(filters) == 0 {
		return ""
	}
	return string(filters[0].Share)
}

// updateFlags writes a holdout into the flags of all experiments that use it; each change is a new
// version of the flag. If h is nil, it removes the holdout from these flags and experiments.
func (s Holdouts) updateFlags(v *view, id int64, h *storedHoldout) error {
	// Deleted experiments are included: they can be restored.
	list, err := selectAll(v, func(x *storedExperiment) bool { return x.HoldoutID != nil && *x.HoldoutID == id })
	for i := 0; i < len(list) && err == nil; i++ {
		x := &list[i]
		if err = s.updateFlag(v, x.Flag, h); err == nil && h == nil {
			err = s.experiments.Modify(v, x, func() { x.HoldoutID = nil })
		}
	}
	return err
}

// updateFlag sets the holdout of one flag, or removes it if h is nil. It stores nothing if the flag
// does not change.
func (s Holdouts) updateFlag(v *view, id int64, h *storedHoldout) error {
	flag, err := s.experiments.stored.Find(v.Tx, v.Scope, id)
	if err != nil || flag == nil {
		return err
	}
	filters := withHoldout(flag.Filters, h)
	// Both sides are encoded by storage.Encode, which sorts the members.
	if bytes.Equal(filters, storage.Encode(management.JSONObject(flag.Filters))) {
		return nil
	}
	if err := v.RequireAccess(management.Editor, flag.AccessObject()); err != nil {
		return err
	}
	flag.Filters = filters
	return s.experiments.stored.SaveLinked(v.Tx, v.Scope, flag)
}

// withHoldout returns filters with the holdout h instead of their own, or without a holdout if h is
// nil.
func withHoldout(filters json.RawMessage, h *storedHoldout) json.RawMessage {
	out := management.JSONObject(filters)
	delete(out, "holdout")
	// holdout_groups is the former name of holdout.
	delete(out, "holdout_groups")
	if h != nil {
		out["holdout"] = storage.Encode(map[string]any{"id": h.ID, "exclusion_percentage": json.Number(h.share())})
	}
	return storage.Encode(out)
}

// holdoutOf returns the holdout of an experiment, or nil if it has no holdout.
func holdoutOf(v *view, x *storedExperiment) (*storedHoldout, error) {
	if x.HoldoutID == nil {
		return nil, nil
	}
	return resource.LoadRecord[storedHoldout](v.Tx, kindHoldout, v.Parent(), strconv.FormatInt(*x.HoldoutID, 10))
}

// hasSameHoldout reports whether two experiments have the same holdout, or both have no holdout.
func (x *storedExperiment) hasSameHoldout(other *storedExperiment) bool {
	if x.HoldoutID == nil || other.HoldoutID == nil {
		return x.HoldoutID == other.HoldoutID
	}
	return *x.HoldoutID == *other.HoldoutID
}
