package experiments

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindSavedMetric is the kind of the records of saved metrics: Parent is the project, ID the
// number, Sort and Unique the name in lower case.
const kindSavedMetric = "experiment_saved_metric"

// savedMetricFields are the writable fields of a saved metric.
var savedMetricFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400, Help: "unique in the project, ignoring case"},
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: 3000},
	{Name: "query", Type: management.Object, Required: true, Help: "a metric: kind ExperimentMetric, metric_type mean, funnel, ratio or retention"},
	{Name: "tags", Type: management.TextList, MaxLength: 255, Blank: true, Help: "tags are trimmed, converted to lower case and deduplicated"},
}

// newSavedMetrics returns the resource of saved metrics.
func newSavedMetrics(experiments *Service) (s SavedMetrics) {
	s.experiments = experiments
	s.Resource = resource.NewResource(experiments.env, resource.Spec[storeTx, storedSavedMetric, savedMetric]{
		Kind: kindSavedMetric, ActivityScope: "ExperimentSavedMetric", Fields: savedMetricFields, ObjectName: "a saved metric",
		Object: func(*storedSavedMetric) management.AccessObject { return experimentsObject },
		Header: func(scope *management.Scope, m *storedSavedMetric) resource.RecordHeader {
			name := strings.ToLower(m.Name)
			return resource.RecordHeader{ID: strconv.FormatInt(m.ID, 10), Title: m.Name, Sort: name, Unique: scope.Parent() + "/" + name}
		},
		Load: definitions.LoadNumbered[storedSavedMetric](kindSavedMetric),
		New: func(v *view) (*storedSavedMetric, error) {
			id, err := v.Tx.Next(kindSavedMetric)
			return &storedSavedMetric{CreatedBy: v.User.ID, savedMetricSettings: savedMetricSettings{ID: id, Tags: []string{}, CreatedAt: management.NewStamp(experiments.env.Now())}}, err
		},
		Rules: s.rules, BeforeDelete: s.beforeDelete,
		OnDuplicate: func(bool) error {
			return management.CodedFault(management.CodeUnique, "name", "A shared metric with this name already exists.")
		},
		Show: func(v *view, m *storedSavedMetric) (*savedMetric, error) {
			creator, err := v.Author(m.CreatedBy)
			return &savedMetric{m.savedMetricSettings, creator, v.AccessTo(experimentsObject)}, err
		},
	})
	return s
}

// rules checks the metric and sets its uuid.
func (s SavedMetrics) rules(e *resource.Edit[storeTx, storedSavedMetric]) error {
	m := e.After
	m.UpdatedAt = management.NewStamp(s.experiments.env.Now())
	m.Tags = lists.NormalizeTags(m.Tags)
	// Without a query in the request, the metric stays as it is.
	if !e.Values.Has("query") {
		return nil
	}
	query := management.JSONObject(m.Query)
	if err := CheckMetric(query, "query", ""); err != nil {
		return err
	}
	if !e.IsNew && management.JSONText(query["uuid"]) == "" { // the uuid identifies the metric in results
		query["uuid"] = management.JSONObject(e.Before.Query)["uuid"]
	}
	s.experiments.ensureUUID(query)
	m.Query = storage.Encode(query)
	return nil
}

// beforeDelete removes a metric from the experiments that use it.
func (s SavedMetrics) beforeDelete(e *resource.Edit[storeTx, storedSavedMetric]) error {
	isLink := func(l savedLink) bool { return l.Metric == e.After.ID }
	list, err := selectAll(e.View, func(x *storedExperiment) bool { return slices.ContainsFunc(x.Saved, isLink) })
	for i := 0; i < len(list) && err == nil; i++ {
		x := &list[i]
		err = s.experiments.Modify(e.View, x, func() { x.Saved = slices.DeleteFunc(x.Saved, isLink) })
	}
	return err
}

// isSecondary reports whether the metric is a secondary metric of the experiment.
func (l *savedLink) isSecondary() bool {
	return management.JSONText(management.JSONObject(l.Metadata)["type"]) == "secondary"
}

// linkSaved sets the saved metrics of an experiment from the request. The links of metrics that the
// experiment already uses keep their ids.
func (s Service) linkSaved(e *experimentEdit) error {
	const field = "saved_metrics_ids"
	if !e.Values.Has(field) {
		return nil
	}
	var list []json.RawMessage
	// null removes all saved metrics of the experiment.
	raw := e.Values.Raw(field)
	if json.Unmarshal(raw, &list) != nil && !e.Values.IsNull(field) {
		return management.Fault(field, "Saved metrics must be a list")
	}
	if len(list) > maxExperimentMetrics {
		return management.CodedFault(management.CodeMaxLength, field, "%d metrics are too many: an experiment may have at most %d.", len(list), maxExperimentMetrics)
	}
	links := make([]savedLink, 0, len(list))
	for _, raw := range list {
		link, err := s.linkOf(e, raw)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(links, func(l savedLink) bool { return l.Metric == link.Metric }) {
			return management.Fault(field, "The saved metric %d is listed twice.", link.Metric)
		}
		links = append(links, *link)
	}
	e.After.Saved = links
	return nil
}

// linkOf returns the link for one member of saved_metrics_ids.
func (s Service) linkOf(e *experimentEdit, raw json.RawMessage) (*savedLink, error) {
	const field = "saved_metrics_ids"
	object := management.JSONObject(raw)
	id, ok := plain.Integer(object["id"], management.JSONKind(object["id"]))
	if !ok {
		return nil, management.Fault(field, "Saved metric must have an id")
	}
	metadata := object["metadata"]
	// A saved metric is primary by default.
	if len(metadata) == 0 || string(metadata) == "null" {
		metadata = json.RawMessage(`{"type":"primary"}`)
	}
	if kind := management.JSONText(management.JSONObject(metadata)["type"]); kind == "" {
		return nil, management.Fault(field, "Metadata must have a type key")
	} else if kind != "primary" && kind != "secondary" {
		return nil, management.NotAChoice(field, plain.ShortText(kind), []string{"primary", "secondary"})
	}
	m, err := findSavedMetric(e.View, id)
	if err == nil && m == nil {
		err = management.CodedFault(management.CodeDoesNotExist, field, "Saved metric does not exist or does not belong to this project")
	}
	if err != nil {
		return nil, err
	}
	// The link of a metric that the experiment already uses keeps its id and its time.
	i := slices.IndexFunc(e.Before.Saved, func(l savedLink) bool { return l.Metric == id })
	if i >= 0 {
		link := e.Before.Saved[i]
		link.Metadata = metadata
		return &link, nil
	}
	number, err := e.Tx.Next(kindSavedMetric + "_link")
	return &savedLink{ID: number, Metric: id, Metadata: metadata, Created: management.NewStamp(s.env.Now())}, err
}

// findSavedMetric returns the saved metric with an id, or nil if there is no such metric.
func findSavedMetric(v *view, id int64) (*storedSavedMetric, error) {
	return resource.LoadRecord[storedSavedMetric](v.Tx, kindSavedMetric, v.Parent(), strconv.FormatInt(id, 10))
}

// showSavedMetrics returns the saved metrics of an experiment as the API returns them, each with
// its fingerprint.
func showSavedMetrics(v *view, x *storedExperiment) ([]savedLinkView, error) {
	out := make([]savedLinkView, 0, len(x.Saved))
	settings, err := settingsOf(v, x)
	for i := 0; i < len(x.Saved) && err == nil; i++ {
		var m *storedSavedMetric
		if m, err = findSavedMetric(v, x.Saved[i].Metric); err != nil || m == nil {
			continue
		}
		query := management.JSONObject(m.Query)
		// The fingerprint changes if the metric or the statistics method changes.
		query["fingerprint"] = storage.Encode(x.fingerprint(query, settings))
		out = append(out, savedLinkView{x.Saved[i], x.ID, storage.Encode(query), m.Name})
	}
	return out, err
}
