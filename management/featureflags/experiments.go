package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/bunting-flags/bunting/management"
	"slices"
	"strings"
)

// Experiments are experiments (§5.7): flags with variants, a start, an end and
// exposure counts.
type Experiments struct{ *core }

// kindExperiment is an experiment: Parent is the project, Other the cohort whose
// exposure counts, Sort the time. Deleted ones are hidden.
const kindExperiment = "experiment"

// experimentScope is what changes of experiments are noted under.
const experimentScope = "Experiment"

// Experiment is an experiment as it is shown.
type Experiment struct {
	ID               string               `json:"id"`
	Name             string               `json:"name"`
	Description      string               `json:"description"`
	Start            management.Stamp     `json:"start_date"`
	End              management.Stamp     `json:"end_date"`
	FlagKey          string               `json:"feature_flag_key"`
	Flag             json.RawMessage      `json:"feature_flag"`
	Holdout          json.RawMessage      `json:"holdout"` // always null: holdouts are set on flags
	HoldoutID        *int64               `json:"holdout_id"`
	Cohort           *int64               `json:"exposure_cohort"`
	Parameters       json.RawMessage      `json:"parameters"`
	SecondaryMetrics json.RawMessage      `json:"secondary_metrics"`
	SavedMetrics     json.RawMessage      `json:"saved_metrics"` // always empty: metrics are not shared here
	SavedMetricsIDs  json.RawMessage      `json:"saved_metrics_ids"`
	Filters          json.RawMessage      `json:"filters"`
	Archived         bool                 `json:"archived"`
	CreatedBy        *management.UserView `json:"created_by"`
	CreatedAt        management.Stamp     `json:"created_at"`
	UpdatedAt        management.Stamp     `json:"updated_at"`
	Type             *string              `json:"type"`
	Metrics          json.RawMessage      `json:"metrics"`
	MetricsSecondary json.RawMessage      `json:"metrics_secondary"`
}

// storedExperiment is an experiment as it is kept.
type storedExperiment struct {
	ID               string           `json:"id"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Start            management.Stamp `json:"start_date"`
	End              management.Stamp `json:"end_date"`
	Flag             int64            `json:"flag"`
	FlagKey          string           `json:"flag_key"` // when it was made
	Cohort           *int64           `json:"exposure_cohort"`
	Parameters       json.RawMessage  `json:"parameters"`
	SecondaryMetrics json.RawMessage  `json:"secondary_metrics"`
	Filters          json.RawMessage  `json:"filters"`
	Archived         bool             `json:"archived"`
	CreatedBy        int64            `json:"created_by"`
	CreatedAt        management.Stamp `json:"created_at"`
	UpdatedAt        management.Stamp `json:"updated_at"`
	Type             *string          `json:"type"`
	Metrics          json.RawMessage  `json:"metrics"`
	MetricsSecondary json.RawMessage  `json:"metrics_secondary"`
}

// draft reports whether the experiment has not begun.
func (e *storedExperiment) draft() bool { return e.Start.IsZero() }

// ExperimentFields are the writable fields of an experiment.
var ExperimentFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, Max: 400},
	{Name: "description", Type: management.Text, Null: true, Blank: true},
	{Name: "start_date", Type: management.Time, Null: true, Help: "null while it is a draft"},
	{Name: "end_date", Type: management.Time, Null: true},
	{Name: "feature_flag_key", Type: management.Text, Required: true, Max: 400, Help: "of the flag that is made for it; fixed"},
	{Name: "holdout_id", Type: management.Int, Null: true, Help: "only null: holdouts are set on flags"},
	{Name: "exposure_cohort", Type: management.Int, Null: true, Help: "a cohort; fixed"},
	{Name: "parameters", Type: management.Object, Null: true, Help: "feature_flag_variants, minimum_detectable_effect, aggregation_group_type_index and others"},
	{Name: "secondary_metrics", Type: management.Array, Null: true},
	{Name: "saved_metrics_ids", Type: management.Array, Null: true, Help: "only null or empty: metrics are not shared here"},
	{Name: "filters", Type: management.Object},
	{Name: "archived", Type: management.Bool},
	{Name: "type", Type: management.Choice, Null: true, Choices: []string{"web", "product"}, Help: "fixed"},
	{Name: "metrics", Type: management.Array, Null: true},
	{Name: "metrics_secondary", Type: management.Array, Null: true},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Help: "has no effect"},
}

// Get returns one experiment.
func (s Experiments) Get(ctx context.Context, st *management.Standing, id string) (*Experiment, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Experiment, error) {
		e, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		return s.show(tx, st, e)
	})
}

func (s Experiments) load(tx Tx, st *management.Standing, id string) (*storedExperiment, error) {
	return loadRecord[storedExperiment](tx, kindExperiment, management.ProjectParent(st.Project.ID), id)
}

func (s Experiments) show(tx Tx, st *management.Standing, e *storedExperiment) (*Experiment, error) {
	flag, err := minimalOf(tx, st.Project.ID, e.Flag)
	if err != nil {
		return nil, err
	}
	by, err := management.ViewOfUser(tx, e.CreatedBy)
	out := &Experiment{
		ID: e.ID, Name: e.Name, Description: e.Description, Start: e.Start, End: e.End, FlagKey: e.FlagKey, Flag: flag,
		Holdout: json.RawMessage("null"), Cohort: e.Cohort, Parameters: rawOr(e.Parameters, "null"), SecondaryMetrics: rawOr(e.SecondaryMetrics, "[]"),
		SavedMetrics: json.RawMessage("[]"), SavedMetricsIDs: json.RawMessage("[]"), Filters: rawOr(e.Filters, "{}"), Archived: e.Archived,
		CreatedBy: by, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Type: e.Type, Metrics: rawOr(e.Metrics, "[]"), MetricsSecondary: rawOr(e.MetricsSecondary, "[]"),
	}
	if shown := management.JSONObject(flag); shown != nil { // the flag may have been changed by itself
		out.FlagKey = management.JSONText(shown["key"])
		out.Parameters = withVariants(out.Parameters, shown["filters"])
	}
	return out, err
}

// cohortPlace is where the experiments of a cohort are listed.
func cohortPlace(project int64, cohort *int64) string {
	if cohort == nil {
		return ""
	}
	return cohortParent(project, *cohort)
}

// experimentsOfCohort are those that count who is in a cohort.
func experimentsOfCohort(tx Tx, st *management.Standing, cohort int64) ([]LinkID, error) {
	list, _, err := tx.List(management.Query{Kind: kindExperiment, Other: cohortPlace(st.Project.ID, &cohort)})
	out := make([]LinkID, len(list))
	for i := range list {
		out[i] = LinkID(list[i].ID)
	}
	return out, err
}

// Create makes an experiment and its flag.
func (s Experiments) Create(ctx context.Context, st *management.Standing, b management.Body) (*Experiment, error) {
	v, err := ExperimentFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Experiment, error) {
		e := &storedExperiment{ID: s.Desk.NewID(), CreatedBy: st.User.ID, CreatedAt: management.At(s.Desk.Now()), FlagKey: v.Text("feature_flag_key")}
		management.SetNull(v, "exposure_cohort", &e.Cohort)
		management.SetNull(v, "type", &e.Type)
		if err := e.set(tx, st, v); err != nil {
			return nil, err
		}
		flags := Flags(s)
		flag, err := flags.makeLinked(tx, st, FlagDraft{
			Key: e.FlagKey, Name: "Feature Flag for Experiment " + e.Name, Active: !e.draft(), Context: "experiments", Filters: e.filters(nil),
		})
		if err != nil {
			return nil, ofFlagKey(err)
		}
		e.Flag = flag.ID
		return s.put(tx, st, e, flag, nil)
	})
}

// ofFlagKey puts an error of a flag's key where the key of an experiment stands.
func ofFlagKey(err error) error {
	var told *management.Error
	if !errors.As(err, &told) || told.Field != "key" {
		return err
	}
	moved := *told
	moved.Field = "feature_flag_key"
	return &moved
}

// put stores an experiment with its flag and notes the change; before is nil for a
// new one.
func (s Experiments) put(tx Tx, st *management.Standing, e *storedExperiment, flag *storedFlag, before *Experiment) (*Experiment, error) {
	if flag != nil {
		link := FlagLink{ID: LinkID(e.ID), Name: e.Name}
		if links := setLink(flag.Links.Experiments, link); !slices.Equal(links, flag.Links.Experiments) || flag.Active != flag.was.Active || string(flag.Filters) != string(flag.was.Filters) {
			flag.Links.Experiments = links
			if err := Flags(s).saveLinked(tx, st, flag); err != nil {
				return nil, err
			}
		}
	}
	e.UpdatedAt = management.At(s.Desk.Now())
	if err := s.keep(tx, st, e, false); err != nil {
		return nil, err
	}
	after, err := s.show(tx, st, e)
	if err != nil {
		return nil, err
	}
	var was any
	if before != nil {
		was = before
	}
	return after, s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), experimentScope, e.ID, e.Name, was, after)
}

func (s Experiments) keep(tx Tx, st *management.Standing, e *storedExperiment, deleted bool) error {
	return tx.Put(&management.Record{
		Kind: kindExperiment, Parent: management.ProjectParent(st.Project.ID), ID: e.ID, Other: cohortPlace(st.Project.ID, e.Cohort),
		Sort: management.SortTime(e.CreatedAt.Time), Hidden: deleted, Data: management.Encode(e),
	})
}

// set lays values over an experiment, but for those that are fixed.
func (e *storedExperiment) set(tx Tx, st *management.Standing, v management.Values) error {
	if v.Has("holdout_id") && !v.Null("holdout_id") {
		return doesNotExist("holdout_id", v.Int("holdout_id"))
	}
	if saved := v.Raw("saved_metrics_ids"); present(saved) {
		return management.Coded(management.CodeDoesNotExist, "saved_metrics_ids", "Saved metric does not exist")
	}
	if v.Has("exposure_cohort") && e.Cohort != nil {
		d, err := tx.Definition(CohortDefinition, st.Project.ID, *e.Cohort)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			return doesNotExist("exposure_cohort", *e.Cohort)
		}
	}
	management.Set(v, "name", &e.Name)
	if v.Has("description") {
		e.Description = v.Text("description")
	}
	for name, to := range map[string]*management.Stamp{"start_date": &e.Start, "end_date": &e.End} {
		if v.Has(name) {
			*to = management.At(v.Time(name))
		}
	}
	management.Set(v, "archived", &e.Archived)
	for name, to := range map[string]*json.RawMessage{
		"parameters": &e.Parameters, "secondary_metrics": &e.SecondaryMetrics, "filters": &e.Filters, "metrics": &e.Metrics, "metrics_secondary": &e.MetricsSecondary,
	} {
		if v.Has(name) {
			*to = v.Raw(name)
		}
	}
	return e.checkVariants()
}

// Update changes an experiment. put: all required fields have to be there.
func (s Experiments) Update(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*Experiment, error) {
	v, err := ExperimentFields.Update(b, put)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Experiment, error) {
		e, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		before, err := s.show(tx, st, e)
		if err != nil {
			return nil, err
		}
		if err := checkFixed(before, v); err != nil {
			return nil, err
		}
		if !e.draft() && v.Has("holdout_id") && !v.Null("holdout_id") {
			return nil, management.Fault("", "Can't update holdout on running Experiment")
		}
		flag, err := flagOf(tx, st, Flags(s), e.Flag)
		if err != nil {
			return nil, err
		}
		began := e.draft()
		if err := e.set(tx, st, v); err != nil {
			return nil, err
		}
		began = began && !e.draft()
		if flag == nil { // it was deleted when only deleted things held it
			return s.put(tx, st, e, nil, before)
		}
		if v.Has("parameters") {
			if err := e.changeVariants(flag, before.Start.IsZero()); err != nil {
				return nil, err
			}
		}
		flag.Active = flag.Active || began
		return s.put(tx, st, e, flag, before)
	})
}

// flagOf is a flag that is not deleted, nil for none.
func flagOf(tx Tx, st *management.Standing, flags Flags, id int64) (*storedFlag, error) {
	d, err := tx.Definition(FlagDefinition, st.Project.ID, id)
	if err != nil || d == nil || d.Deleted {
		return nil, err
	}
	return flags.loadFlag(tx, st, id)
}

// checkFixed refuses other values of what cannot be changed.
func checkFixed(e *Experiment, v management.Values) error {
	var keys []string
	if v.Has("exposure_cohort") && (v.Null("exposure_cohort") != (e.Cohort == nil) || e.Cohort != nil && v.Int("exposure_cohort") != *e.Cohort) {
		keys = append(keys, "exposure_cohort")
	}
	if v.Has("feature_flag_key") && v.Text("feature_flag_key") != e.FlagKey {
		keys = append(keys, "feature_flag_key")
	}
	if v.Has("type") && (v.Null("type") != (e.Type == nil) || e.Type != nil && v.Text("type") != *e.Type) {
		keys = append(keys, "type")
	}
	if keys != nil {
		return management.Fault("", "Can't update keys: %s on Experiment", strings.Join(keys, ", "))
	}
	return nil
}

// Delete takes an experiment away. Its flag stays.
func (s Experiments) Delete(ctx context.Context, st *management.Standing, id string) error {
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		e, err := s.load(tx, st, id)
		if err != nil {
			return err
		}
		before, err := s.show(tx, st, e)
		if err != nil {
			return err
		}
		flags := Flags(s)
		flag, err := flagOf(tx, st, flags, e.Flag)
		if err != nil {
			return err
		}
		if flag != nil {
			flag.Links.Experiments = setLink(flag.Links.Experiments, FlagLink{ID: LinkID(e.ID), Name: e.Name, Deleted: true})
			if err := flags.saveLinked(tx, st, flag); err != nil {
				return err
			}
		}
		e.Cohort = nil
		if err := s.keep(tx, st, e, true); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), experimentScope, e.ID, e.Name, before, nil)
	})
}
