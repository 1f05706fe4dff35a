package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// DuplicateFields are those of the body that copies an experiment, CopyExperimentFields
// of the one that copies it into another project (experiments.md §3.7).
var (
	DuplicateFields = management.Fields{
		{Name: "feature_flag_key", Type: management.Text, Null: true, Max: 400, Help: "of the copy's flag, which is made if it is not there; absent: that of the experiment"},
		{Name: "name", Type: management.Text, Null: true, Max: 400, Help: "absent: the name with (Copy) behind it"},
	}
	CopyExperimentFields = append(management.Fields{
		{Name: "target_team_id", Type: management.Int, Required: true, Help: "a project of the organization"},
	}, DuplicateFields...)
)

// copiedExperiment is a copy in another project, and what of the experiment was left out.
type copiedExperiment struct {
	Experiment
	Warnings []string `json:"warnings"`
}

// Duplicate makes a draft of an experiment.
func (s Experiments) Duplicate(ctx context.Context, st *management.Standing, id string, b management.Body) (*Experiment, error) {
	v, err := DuplicateFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Experiment, error) {
		in := &view{Tx: tx, Standing: st}
		c, err := s.copyOf(in, in, id)
		if err != nil {
			return nil, err
		}
		return c.make(v)
	})
}

// CopyToProject makes a draft of an experiment in another project of the organization.
// What it shares with others there is not: saved metrics become its own, filters on
// cohorts are left out.
func (s Experiments) CopyToProject(ctx context.Context, st *management.Standing, id string, b management.Body) (*copiedExperiment, error) {
	v, err := CopyExperimentFields.Create(b)
	if err != nil {
		return nil, err
	}
	target, err := Flags{s.core}.placeOf(ctx, st, v.Int("target_team_id"))
	switch {
	case errors.Is(err, ErrMayNotCopy) || err == nil && target == nil:
		return nil, management.Fault("target_team_id", "Project not found.")
	case err != nil:
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*copiedExperiment, error) {
		c, err := s.copyOf(&view{Tx: tx, Standing: st}, &view{Tx: tx, Standing: target}, id)
		if err != nil {
			return nil, err
		}
		out := &copiedExperiment{Warnings: []string{}}
		if !c.same() {
			out.Warnings, err = c.detach()
		}
		if err != nil {
			return nil, err
		}
		made, err := c.make(v)
		if err == nil {
			out.Experiment = *made
		}
		return out, err
	})
}

// experimentCopy is an experiment that is being copied.
type experimentCopy struct {
	Experiments
	in, to *view
	flag   *storedFlag // that of the experiment
	now    *storedExperiment
}

func (c *experimentCopy) same() bool { return c.in.Project.ID == c.to.Project.ID }

func (s Experiments) copyOf(in, to *view, id string) (*experimentCopy, error) {
	x, err := s.Load(in, id)
	if err != nil {
		return nil, err
	}
	if err := in.Needs(management.Viewer, x.thing()); err != nil {
		return nil, err
	}
	flag, err := flagOf(in.Tx, in.Standing, Flags{s.core}, x.Flag)
	switch {
	case err != nil:
		return nil, err
	case flag == nil:
		return nil, experimentFault("The linked feature flag has been deleted.")
	case !in.Sees(flag.thing()):
		return nil, management.Denied("You do not have %s access to this resource.", management.Viewer)
	}
	number, err := to.Tx.Next(kindExperiment)
	now := *x
	now.ID, now.CreatedBy = number, in.User.ID
	now.CreatedAt, now.UpdatedAt = management.At(s.Desk.Now()), management.At(s.Desk.Now())
	now.Start, now.End, now.Conclusion, now.Comment, now.Archived = management.Stamp{}, management.Stamp{}, nil, nil, false
	now.HoldoutID, now.Cohort = nil, nil
	return &experimentCopy{s, in, to, flag, &now}, err
}

// make stores the copy, with its flag.
func (c *experimentCopy) make(v management.Values) (*Experiment, error) {
	x, flags := c.now, Flags{c.core}
	var err error
	if x.Name, err = c.name(v.Text("name")); err != nil {
		return nil, err
	}
	if err := c.renew(); err != nil {
		return nil, err
	}
	x.FlagKey = cmp.Or(v.Text("feature_flag_key"), c.flag.Key)
	flag := c.flag
	if !c.same() || x.FlagKey != c.flag.Key {
		if flag, err = c.otherFlag(); err != nil {
			return nil, err
		}
	}
	x.Flag = flag.ID
	flag.Links.Experiments = setLink(flag.Links.Experiments, flagLink{ID: linkID(strconv.FormatInt(x.ID, 10)), Name: x.Name})
	if err := flags.saveLinked(c.to.Tx, c.to.Standing, flag); err != nil {
		return nil, err
	}
	if err := c.stamp(c.to, x); err != nil {
		return nil, err
	}
	return c.Add(c.to, x)
}

// otherFlag is the flag of the copy's key: one that is there, or one with the same
// variants for everybody.
func (c *experimentCopy) otherFlag() (*storedFlag, error) {
	flag, err := c.linked(c.to, c.now.FlagKey)
	if err != nil || flag != nil {
		return flag, err
	}
	was, filters := management.JSONObject(c.flag.Filters), management.JSONObject(c.now.filters(nil))
	for _, name := range []string{"multivariate", "payloads", "aggregation_group_type_index"} {
		if value, ok := was[name]; ok {
			filters[name] = value
		}
	}
	flag, err = Flags{c.core}.makeLinked(c.to.Tx, c.to.Standing, flagDraft{
		Key: c.now.FlagKey, Name: "Feature Flag for Experiment " + c.now.Name, Context: "experiments", Filters: management.Encode(filters),
	})
	return flag, ofFlagKey(err)
}

// name is the one that was asked for, or the first that is free of "X (Copy)",
// "X (Copy) 2" and so on.
func (c *experimentCopy) name(asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	taken := map[string]bool{}
	_, err := management.EveryRecord(c.to.Tx, management.Query{Kind: kindExperiment, Parent: c.to.Parent()}, func(x *storedExperiment) bool {
		taken[x.Name] = true
		return false
	})
	for n := 1; ; n++ {
		end := " (Copy)"
		if n > 1 {
			end = fmt.Sprintf(" (Copy) %d", n)
		}
		base := []rune(c.now.Name)
		if name := string(base[:min(len(base), 400-len(end))]) + end; !taken[name] {
			return name, err
		}
	}
}

// renew gives the copy metrics and links of its own.
func (c *experimentCopy) renew() error {
	x, ids := c.now, map[string]string{}
	for _, list := range x.metricLists() {
		var metrics []map[string]json.RawMessage
		if json.Unmarshal(*list, &metrics) != nil || len(metrics) == 0 {
			continue
		}
		for _, m := range metrics {
			fresh := c.Desk.NewID()
			ids[management.JSONText(m["uuid"])] = fresh
			m["uuid"] = management.Encode(fresh)
		}
		*list = management.Encode(metrics)
	}
	for _, order := range []*json.RawMessage{&x.MetricsOrder, &x.SecondaryOrder} {
		var uuids []string
		if json.Unmarshal(*order, &uuids) != nil || len(uuids) == 0 {
			continue
		}
		for i, uuid := range uuids {
			uuids[i] = cmp.Or(ids[uuid], uuid)
		}
		*order = management.Encode(uuids)
	}
	x.Saved = slices.Clone(x.Saved)
	for i := range x.Saved {
		id, err := c.to.Tx.Next(kindSavedMetric + "_link")
		if err != nil {
			return err
		}
		x.Saved[i].ID, x.Saved[i].Created = id, x.CreatedAt
	}
	return nil
}

// detach makes of an experiment what can stand in another project, and says what of it
// cannot.
func (c *experimentCopy) detach() (warnings []string, err error) {
	x := c.now
	saved, err := savedOf(c.in, x)
	if err != nil {
		return nil, err
	}
	x.Saved = nil
	for i := range saved {
		query := management.JSONObject(saved[i].Query)
		if !present(query["name"]) {
			query["name"] = management.Encode(saved[i].Name)
		}
		to := &x.Metrics
		if saved[i].secondary() {
			to = &x.MetricsSecondary
		}
		var list []json.RawMessage
		_ = json.Unmarshal(*to, &list) // null or a list
		*to = management.Encode(append(list, management.Encode(query)))
	}
	left := leftBehind{cohorts: map[string]bool{}, actions: map[string]bool{}}
	for _, part := range []*json.RawMessage{&x.Metrics, &x.MetricsSecondary, &x.Exposure} {
		if present(*part) {
			*part = management.Encode(left.without(decoded(*part)))
		}
	}
	warnings = []string{}
	for _, id := range inOrderOf(left.cohorts) {
		warnings = append(warnings, fmt.Sprintf("Filters on the cohort %s were left out: it is of the other project.", c.cohortName(id)))
	}
	for _, id := range inOrderOf(left.actions) {
		warnings = append(warnings, fmt.Sprintf("The action %s is of the other project: choose another one.", id))
	}
	return warnings, nil
}

// cohortName is what a cohort of the experiment's project is called, and its number.
func (c *experimentCopy) cohortName(id string) string {
	cohort, err := Cohorts{c.core}.load(c.in.Tx, c.in.Standing, id)
	if err != nil || !c.in.Sees(cohort.thing()) {
		return id
	}
	return fmt.Sprintf("%q (%s)", cohort.title(), id)
}
