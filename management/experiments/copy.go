package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// duplicateFields are the fields of the body of Duplicate, copyFields those of
// CopyToProject (experiments.md §3.7).
var (
	duplicateFields = management.Fields{
		{Name: "feature_flag_key", Type: management.Text, Null: true, MaxLength: 400, Help: "key of the flag for the copy, which is created if it does not exist; the key of the experiment's flag by default"},
		{Name: "name", Type: management.Text, Null: true, MaxLength: 400, Help: "name of the copy; the experiment's name followed by (Copy) by default"},
	}
	copyFields = append(management.Fields{
		{Name: "target_team_id", Type: management.Int, Required: true, Help: "id of a project in the organization"},
	}, duplicateFields...)
)

// copiedExperiment is a copy in another project, with warnings about the parts that were left
// out.
type copiedExperiment struct {
	Experiment
	Warnings []string `json:"warnings"`
}

// Duplicate creates a draft with the settings of an experiment in the same project.
func (s Service) Duplicate(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Experiment, error) {
	v, err := duplicateFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, s.env, func(tx storeTx) (*Experiment, error) {
		source := &view{Tx: tx, Scope: scope}
		// Source and target are the same project.
		c, err := s.newCopy(source, source, id)
		if err != nil {
			return nil, err
		}
		return c.create(v)
	})
}

// CopyToProject creates a draft with the settings of an experiment in another project of the
// organization. References to objects of the first project are resolved: saved metrics become
// metrics of the copy, and filters on cohorts are removed, with a warning. It returns an error
// for target_team_id if the organization has no such project or the caller has no access to it.
func (s Service) CopyToProject(ctx context.Context, scope *management.Scope, id string, b management.Body) (*copiedExperiment, error) {
	v, err := copyFields.Create(b)
	if err != nil {
		return nil, err
	}
	target, _, err := definitions.InProject(ctx, s.env, scope, v.Int("target_team_id"))
	if err != nil {
		return nil, err
	}
	if target == nil {
		return nil, management.Fault("target_team_id", "Project not found.")
	}
	return management.Write(ctx, s.env, func(tx storeTx) (*copiedExperiment, error) {
		c, err := s.newCopy(&view{Tx: tx, Scope: scope}, &view{Tx: tx, Scope: target}, id)
		if err != nil {
			return nil, err
		}
		out := &copiedExperiment{Warnings: []string{}}
		if !c.isSameProject() {
			out.Warnings, err = c.detach()
		}
		if err != nil {
			return nil, err
		}
		experiment, err := c.create(v)
		if err == nil {
			out.Experiment = *experiment
		}
		return out, err
	})
}

// experimentCopy is an experiment that is being copied. source and target have the same
// transaction and, within one project, are the same view.
type experimentCopy struct {
	Service
	source, target *view
	flag           *storedflags.Flag // of the original
	draft          *storedExperiment // the copy
}

// isSameProject reports whether the copy is made within one project.
func (c *experimentCopy) isSameProject() bool { return c.source.Project.ID == c.target.Project.ID }

// newCopy loads the experiment and its flag, both of which the caller must be able to see, and
// prepares the copy: a draft with its own number, without results, holdout and exposure cohort.
func (s Service) newCopy(source, target *view, id string) (*experimentCopy, error) {
	x, err := s.Load(source, id)
	if err != nil {
		return nil, err
	}
	if err := source.RequireAccess(management.Viewer, x.accessObject()); err != nil {
		return nil, err
	}
	flag, err := s.stored.Find(source.Tx, source.Scope, x.Flag)
	switch {
	case err != nil:
		return nil, err
	case flag == nil:
		return nil, experimentFault("The linked feature flag has been deleted.")
	// The copy would reveal the variants of the flag.
	case !source.CanSee(flag.AccessObject()):
		return nil, management.Denied("You do not have %s access to this resource.", management.Viewer)
	}
	number, err := target.Tx.Next(kindExperiment)
	// The copy starts over: no dates, no conclusion. Holdout and exposure cohort are not copied.
	draft := *x
	draft.ID, draft.CreatedBy = number, source.User.ID
	draft.CreatedAt, draft.UpdatedAt = management.NewStamp(s.env.Now()), management.NewStamp(s.env.Now())
	draft.Start, draft.End, draft.Conclusion, draft.Comment, draft.Archived = management.Stamp{}, management.Stamp{}, nil, nil, false
	draft.HoldoutID, draft.Cohort, draft.Frozen = nil, nil, nil
	return &experimentCopy{s, source, target, flag, &draft}, err
}

// create stores the copy and its flag. v contains the requested name and flag key, if any. Within
// a project, the copy uses the flag of the original unless another key is requested.
func (c *experimentCopy) create(v management.Values) (*Experiment, error) {
	x := c.draft
	var err error
	if x.Name, err = c.chooseName(v.Text("name")); err != nil {
		return nil, err
	}
	if err := c.renewIDs(); err != nil {
		return nil, err
	}
	x.FlagKey = cmp.Or(v.Text("feature_flag_key"), c.flag.Key)
	// Within the project several experiments may share a flag. Otherwise the copy needs its own.
	flag := c.flag
	if !c.isSameProject() || x.FlagKey != c.flag.Key {
		if flag, err = c.copyFlag(); err != nil {
			return nil, err
		}
	}
	x.Flag = flag.ID
	flag.Links.Experiments = storedflags.SetLink(flag.Links.Experiments, storedflags.FlagLink{ID: storedflags.LinkID(strconv.FormatInt(x.ID, 10)), Name: x.Name})
	if err := c.stored.SaveLinked(c.target.Tx, c.target.Scope, flag); err != nil {
		return nil, err
	}
	// Fingerprints depend on the start date and on the organization's default method.
	if err := c.setFingerprints(c.target, x); err != nil {
		return nil, err
	}
	return c.Add(c.target, x)
}

// copyFlag returns the existing flag with the copy's key. If there is none, it creates a flag
// with the variants of the original's flag and one condition for all persons.
func (c *experimentCopy) copyFlag() (*storedflags.Flag, error) {
	flag, err := c.findLinkable(c.target, c.draft.FlagKey)
	if err != nil || flag != nil {
		return flag, err
	}
	// The new flag has one condition for everyone; only its variants are copied.
	original, filters := management.JSONObject(c.flag.Filters), management.JSONObject(c.draft.filters(nil))
	for _, name := range []string{"multivariate", "payloads", "aggregation_group_type_index"} {
		if value, ok := original[name]; ok {
			filters[name] = value
		}
	}
	flag, err = c.stored.MakeLinked(c.target.Tx, c.target.Scope, storedflags.Draft{
		Key: c.draft.FlagKey, Name: "Feature Flag for Experiment " + c.draft.Name, Context: "experiments", Filters: storage.Encode(filters),
	})
	return flag, moveKeyFault(err)
}

// chooseName returns the requested name or, if that is empty, the first unused name of the form
// "X (Copy)", "X (Copy) 2" and so on.
func (c *experimentCopy) chooseName(requested string) (string, error) {
	if requested != "" {
		return requested, nil
	}
	// Collect all names in use; returning false keeps no experiments in memory.
	used := map[string]bool{}
	_, err := lists.EveryRecord(c.target.Tx, management.Query{Kind: kindExperiment, Parent: c.target.Parent()}, func(x *storedExperiment) bool {
		used[x.Name] = true
		return false
	})
	for n := 1; ; n++ {
		suffix := " (Copy)"
		if n > 1 {
			suffix = fmt.Sprintf(" (Copy) %d", n)
		}
		// The name must not exceed 400 characters with its suffix.
		base := []rune(c.draft.Name)
		if name := string(base[:min(len(base), 400-len(suffix))]) + suffix; !used[name] {
			return name, err
		}
	}
}

// renewIDs assigns new ids to the metrics and links of the copy, and updates the display order.
func (c *experimentCopy) renewIDs() error {
	// ids maps the old UUIDs of metrics to new ones.
	x, ids := c.draft, map[string]string{}
	for _, list := range x.metricLists() {
		var metrics []map[string]json.RawMessage
		if json.Unmarshal(*list, &metrics) != nil || len(metrics) == 0 {
			continue
		}
		for _, m := range metrics {
			newID := c.env.NewID()
			ids[management.JSONText(m["uuid"])] = newID
			m["uuid"] = storage.Encode(newID)
		}
		*list = storage.Encode(metrics)
	}
	for _, order := range []*json.RawMessage{&x.MetricsOrder, &x.SecondaryOrder} {
		var uuids []string
		if json.Unmarshal(*order, &uuids) != nil || len(uuids) == 0 {
			continue
		}
		for i, uuid := range uuids {
			uuids[i] = cmp.Or(ids[uuid], uuid)
		}
		*order = storage.Encode(uuids)
	}
	// The slice is shared with the original.
	x.Saved = slices.Clone(x.Saved)
	for i := range x.Saved {
		id, err := c.target.Tx.Next(kindSavedMetric + "_link")
		if err != nil {
			return err
		}
		x.Saved[i].ID, x.Saved[i].Created = id, x.CreatedAt
	}
	return nil
}

// detach removes the copy's references to objects of the original's project, and returns warnings
// about references that were removed or must be replaced by hand.
func (c *experimentCopy) detach() (warnings []string, err error) {
	x := c.draft
	saved, err := showSavedMetrics(c.source, x)
	if err != nil {
		return nil, err
	}
	x.Saved = nil
	for i := range saved {
		// Saved metrics have a name outside of the query, which would be lost.
		query := management.JSONObject(saved[i].Query)
		if management.EmptyJSON(query["name"]) {
			query["name"] = storage.Encode(saved[i].Name)
		}
		to := &x.Metrics
		if saved[i].isSecondary() {
			to = &x.MetricsSecondary
		}
		var list []json.RawMessage
		_ = json.Unmarshal(*to, &list) // null or a list
		*to = storage.Encode(append(list, storage.Encode(query)))
	}
	// Metrics and exposure criteria can filter on cohorts and count actions.
	references := projectReferences{cohorts: map[string]bool{}, actions: map[string]bool{}}
	for _, part := range []*json.RawMessage{&x.Metrics, &x.MetricsSecondary, &x.Exposure} {
		if !management.EmptyJSON(*part) {
			*part = storage.Encode(references.strip(decodeJSON(*part)))
		}
	}
	warnings = []string{}
	for _, id := range sortedKeys(references.cohorts) {
		warnings = append(warnings, fmt.Sprintf("Filters on the cohort %s were left out: it belongs to the source project.", c.cohortName(id)))
	}
	for _, id := range sortedKeys(references.actions) {
		warnings = append(warnings, fmt.Sprintf("The action %s belongs to the source project: choose another one.", id))
	}
	return warnings, nil
}

// cohortName returns the name and id of a cohort of the original's project, or only the id if the
// caller may not see the cohort.
func (c *experimentCopy) cohortName(id string) string {
	cohort, err := storedcohorts.Load(c.source.Tx, c.source.Scope, id)
	if err != nil || !c.source.CanSee(cohort.AccessObject()) {
		return id
	}
	return fmt.Sprintf("%q (%s)", cohort.Title(), id)
}
