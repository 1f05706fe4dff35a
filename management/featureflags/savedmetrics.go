package featureflags

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindSavedMetric is a metric that experiments share: Parent is the project, ID its
// number, Sort and Unique the name in small letters.
const kindSavedMetric = "experiment_saved_metric"

// SavedMetrics are metrics that experiments share (experiments.md §3.9). Access rules
// about experiments are about them too.
type SavedMetrics struct {
	*core
	management.Resource[Tx, storedSavedMetric, SavedMetric]
	experiments Experiments
}

// SavedMetricFields are the writable fields of a saved metric.
var SavedMetricFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, Max: 400, Help: "unique in the project, whatever the case of its letters"},
	{Name: "description", Type: management.Text, Null: true, Blank: true, Max: 3000},
	{Name: "query", Type: management.Object, Required: true, Help: "a metric: kind ExperimentMetric, metric_type mean, funnel, ratio or retention"},
	{Name: "tags", Type: management.TextList, Max: 255, Help: "trimmed, in lower case, without duplicates"},
}

// savedMetricSettings are what is kept of a saved metric and shown as it is.
type savedMetricSettings struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Query       json.RawMessage  `json:"query"`
	CreatedAt   management.Stamp `json:"created_at"`
	UpdatedAt   management.Stamp `json:"updated_at"`
	Tags        []string         `json:"tags"`
}

type storedSavedMetric struct {
	savedMetricSettings
	CreatedBy int64 `json:"created_by"`
}

// SavedMetric is a saved metric as it is shown.
type SavedMetric struct {
	savedMetricSettings
	CreatedBy *management.UserView   `json:"created_by"`
	Access    management.AccessLevel `json:"user_access_level"`
}

// ofExperiments is what rules about all experiments are about.
var ofExperiments = management.Thing{Kind: kindExperiment}

func newSavedMetrics(c *core, experiments Experiments) (s SavedMetrics) {
	s.core, s.experiments = c, experiments
	s.Resource = management.NewResource(&c.Desk, management.Spec[Tx, storedSavedMetric, SavedMetric]{
		Kind: kindSavedMetric, Scope: "ExperimentSavedMetric", Fields: SavedMetricFields, Named: "a saved metric",
		Thing: func(*storedSavedMetric) management.Thing { return ofExperiments },
		Place: func(st *management.Standing, m *storedSavedMetric) management.Place {
			name := strings.ToLower(m.Name)
			return management.Place{ID: strconv.FormatInt(m.ID, 10), Title: m.Name, Sort: name, Unique: st.Parent() + "/" + name}
		},
		Load: numbered[storedSavedMetric](kindSavedMetric),
		New: func(v *view) (*storedSavedMetric, error) {
			id, err := v.Tx.Next(kindSavedMetric)
			return &storedSavedMetric{CreatedBy: v.User.ID, savedMetricSettings: savedMetricSettings{ID: id, Tags: []string{}, CreatedAt: management.At(c.Desk.Now())}}, err
		},
		Rules: s.rules, Leave: s.leave,
		Taken: func(bool) error {
			return management.Coded(management.CodeUnique, "name", "A shared metric with this name already exists.")
		},
		Show: func(v *view, m *storedSavedMetric) (*SavedMetric, error) {
			by, err := v.Author(m.CreatedBy)
			return &SavedMetric{m.savedMetricSettings, by, v.AccessTo(ofExperiments)}, err
		},
	})
	return s
}

// numbered finds the record of a kind whose number a path names.
func numbered[Stored any](kind string) func(v *view, named string, _ *management.Body) (*Stored, error) {
	return func(v *view, named string, _ *management.Body) (*Stored, error) {
		id, err := management.NumberNamed(v.Tx, kind, v.Parent(), named)
		if err != nil || id == "" {
			return nil, err
		}
		return management.LoadRecord[Stored](v.Tx, kind, v.Parent(), id)
	}
}

func (s SavedMetrics) rules(e *management.Edit[Tx, storedSavedMetric]) error {
	m := e.Now
	m.UpdatedAt = management.At(s.Desk.Now())
	m.Tags = management.TidyTags(m.Tags)
	if !e.Values.Has("query") {
		return nil
	}
	query := management.JSONObject(m.Query)
	if err := checkMetric(query, "query", ""); err != nil {
		return err
	}
	if !e.Fresh && management.JSONText(query["uuid"]) == "" { // it stays the same metric
		query["uuid"] = management.JSONObject(e.Was.Query)["uuid"]
	}
	s.withUUID(query)
	m.Query = management.Encode(query)
	return nil
}

// leave takes a metric that goes out of the experiments that have it.
func (s SavedMetrics) leave(e *management.Edit[Tx, storedSavedMetric]) error {
	has := func(l savedLink) bool { return l.Metric == e.Now.ID }
	list, err := s.experiments.every(e.View, func(x *storedExperiment) bool { return slices.ContainsFunc(x.Saved, has) })
	for i := 0; i < len(list) && err == nil; i++ {
		x := &list[i]
		err = s.experiments.Keep(e.View, x, func() { x.Saved = slices.DeleteFunc(x.Saved, has) })
	}
	return err
}

// every are the experiments of a project that are chosen, deleted ones too.
func (s Experiments) every(v *view, chosen func(*storedExperiment) bool) (out []storedExperiment, err error) {
	for _, hidden := range []bool{false, true} {
		list, err := management.EveryRecord(v.Tx, management.Query{Kind: kindExperiment, Parent: v.Parent(), Hidden: hidden}, chosen)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// savedLink is a saved metric that an experiment has.
type savedLink struct {
	ID       int64            `json:"id"`
	Metric   int64            `json:"saved_metric"`
	Metadata json.RawMessage  `json:"metadata"`
	Created  management.Stamp `json:"created_at"`
}

// secondary reports whether the metric is one of the secondary ones.
func (l *savedLink) secondary() bool {
	return management.JSONText(management.JSONObject(l.Metadata)["type"]) == "secondary"
}

// savedLinkView is a saved metric of an experiment as that shows it.
type savedLinkView struct {
	savedLink
	Experiment int64           `json:"experiment"`
	Query      json.RawMessage `json:"query"`
	Name       string          `json:"name"`
}

// savedMetricID names a saved metric that an experiment is to have.
type savedMetricID struct {
	ID       int64           `json:"id"`
	Metadata json.RawMessage `json:"metadata"`
}

// linkSaved gives an experiment the saved metrics that a body names; those that it had
// already stay the same links.
func (s Experiments) linkSaved(e *experimentEdit) error {
	const field = "saved_metrics_ids"
	if !e.Values.Has(field) {
		return nil
	}
	var list []json.RawMessage
	raw := e.Values.Raw(field)
	if json.Unmarshal(raw, &list) != nil && !e.Values.Null(field) {
		return management.Fault(field, "Saved metrics must be a list")
	}
	if len(list) > maxExperimentMetrics {
		return management.Coded(management.CodeMaxLength, field, "%d metrics are more than the %d that an experiment may have.", len(list), maxExperimentMetrics)
	}
	links := make([]savedLink, 0, len(list))
	for _, raw := range list {
		link, err := s.linkOf(e, raw)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(links, func(l savedLink) bool { return l.Metric == link.Metric }) {
			return management.Fault(field, "The saved metric %d is there twice.", link.Metric)
		}
		links = append(links, *link)
	}
	e.Now.Saved = links
	return nil
}

func (s Experiments) linkOf(e *experimentEdit, raw json.RawMessage) (*savedLink, error) {
	const field = "saved_metrics_ids"
	named := management.JSONObject(raw)
	id, ok := management.Integer(named["id"], management.JSONKind(named["id"]))
	if !ok {
		return nil, management.Fault(field, "Saved metric must have an id")
	}
	metadata := named["metadata"]
	if len(metadata) == 0 || string(metadata) == "null" {
		metadata = json.RawMessage(`{"type":"primary"}`)
	}
	if kind := management.JSONText(management.JSONObject(metadata)["type"]); kind == "" {
		return nil, management.Fault(field, "Metadata must have a type key")
	} else if kind != "primary" && kind != "secondary" {
		return nil, management.NotAChoice(field, management.ShortText(kind), []string{"primary", "secondary"})
	}
	m, err := savedMetric(e.View, id)
	if err == nil && m == nil {
		err = management.Coded(management.CodeDoesNotExist, field, "Saved metric does not exist or does not belong to this project")
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(e.Was.Saved, func(l savedLink) bool { return l.Metric == id })
	if i >= 0 {
		link := e.Was.Saved[i]
		link.Metadata = metadata
		return &link, nil
	}
	number, err := e.Tx.Next(kindSavedMetric + "_link")
	return &savedLink{ID: number, Metric: id, Metadata: metadata, Created: management.At(s.Desk.Now())}, err
}

func savedMetric(v *view, id int64) (*storedSavedMetric, error) {
	return management.LoadRecord[storedSavedMetric](v.Tx, kindSavedMetric, v.Parent(), strconv.FormatInt(id, 10))
}

// savedOf are the saved metrics of an experiment as it shows them, each with its
// fingerprint.
func savedOf(v *view, x *storedExperiment) ([]savedLinkView, error) {
	out := make([]savedLinkView, 0, len(x.Saved))
	method, err := statsMethod(v, x)
	for i := 0; i < len(x.Saved) && err == nil; i++ {
		var m *storedSavedMetric
		if m, err = savedMetric(v, x.Saved[i].Metric); err != nil || m == nil {
			continue
		}
		query := management.JSONObject(m.Query)
		query["fingerprint"] = management.Encode(x.fingerprint(query, method))
		out = append(out, savedLinkView{x.Saved[i], x.ID, management.Encode(query), m.Name})
	}
	return out, err
}
