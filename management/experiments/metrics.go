package experiments

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// metricTypes are the types of metrics (experiments.md §3.2).
var metricTypes = []string{"mean", "funnel", "ratio", "retention"}

// maxExperimentMetrics is the maximum length of each list of metrics of an experiment.
const maxExperimentMetrics = 100

// CheckMetric checks the parts of a metric that do not depend on events (experiments.md §3.6).
// Error messages start with prefix.
func CheckMetric(metric map[string]json.RawMessage, field, prefix string) error {
	if management.JSONText(metric["kind"]) != "ExperimentMetric" {
		return management.Fault(field, "%smetric kind must be 'ExperimentMetric'", prefix)
	}
	kind := management.JSONText(metric["metric_type"])
	if !slices.Contains(metricTypes, kind) {
		return management.NotAChoice(field, plain.ShortText(kind), metricTypes)
	}
	var steps []json.RawMessage
	if kind == "funnel" && (json.Unmarshal(metric["series"], &steps) != nil || len(steps) == 0) {
		return management.Fault(field, "%sa funnel needs at least one step in series", prefix)
	}
	return nil
}

// tidyMetrics checks the metrics that the request contains, assigns missing UUIDs, rejects
// duplicates, and updates the fingerprints of all metrics (experiments.md §3.6).
func (s Service) tidyMetrics(e *experimentEdit) error {
	if err := s.checkEvents(e); err != nil {
		return err
	}
	// UUIDs must be unique across both lists: results refer to metrics by UUID.
	seen := map[string]bool{}
	for field, list := range e.After.metricLists() {
		metrics, err := s.readMetrics(*list, field, e.Values.Has(field))
		if err != nil {
			return err
		}
		for _, m := range metrics {
			uuid := management.JSONText(m["uuid"])
			if seen[uuid] {
				return management.Fault(field, "Duplicate metric UUID: %s", plain.ShortText(uuid))
			}
			seen[uuid] = true
		}
		if len(metrics) > 0 {
			*list = storage.Encode(metrics)
		}
	}
	return s.setFingerprints(e.View, e.After)
}

// readMetrics decodes a list of metrics and assigns missing UUIDs. If check is true, it returns
// an error for an invalid metric; stored metrics that the request does not contain are not
// checked again.
func (s Service) readMetrics(raw json.RawMessage, field string, check bool) ([]map[string]json.RawMessage, error) {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // raw is null or an array: its type has been checked
	if len(list) > maxExperimentMetrics {
		return nil, management.CodedFault(management.CodeMaxLength, field, "%d metrics are too many: an experiment may have at most %d.", len(list), maxExperimentMetrics)
	}
	out := make([]map[string]json.RawMessage, len(list))
	for i, raw := range list {
		// A stored metric may be anything; a new one that is not an object fails CheckMetric.
		if out[i] = management.JSONObject(raw); out[i] == nil {
			out[i] = map[string]json.RawMessage{}
		}
		s.ensureUUID(out[i])
		if !check {
			continue
		}
		if err := CheckMetric(out[i], field, fmt.Sprintf("Invalid metric at index %d: ", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkEvents returns an error if the request adds a metric with an event that the project has never
// captured, unless the request allows that (experiments.md §3.6). Events of the stored metrics are
// not checked again.
func (s Service) checkEvents(e *experimentEdit) error {
	if e.Values.Bool("allow_unknown_events") {
		return nil
	}
	stored := map[string]bool{}
	for _, list := range e.Before.metricLists() {
		collectEvents(decodeJSON(*list), stored)
	}
	for field, list := range e.After.metricLists() {
		if !e.Values.Has(field) {
			continue
		}
		metrics, _ := decodeJSON(*list).([]any)
		for i, metric := range metrics {
			names := map[string]bool{}
			collectEvents(metric, names)
			maps.DeleteFunc(names, func(name string, _ bool) bool { return stored[name] })
			unseen, err := e.Tx.UnseenEvents(e.Project.ID, sortedKeys(names))
			if err != nil {
				return err
			}
			if len(unseen) > 0 {
				return management.Fault(field, "Invalid metric at index %d: the project has never captured the event %q. Set allow_unknown_events to use it all the same.", i, plain.ShortText(unseen[0]))
			}
		}
	}
	return nil
}

// collectEvents adds the names of events that a decoded metric uses to a set.
func collectEvents(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["event"].(string); ok && name != "" && v["kind"] == "EventsNode" {
			names[name] = true
		}
		for _, member := range v {
			collectEvents(member, names)
		}
	case []any:
		for _, element := range v {
			collectEvents(element, names)
		}
	}
}

// metricLists returns an iterator over the experiment's lists of metrics and their field names,
// in a fixed order.
func (x *storedExperiment) metricLists() func(func(string, *json.RawMessage) bool) {
	return func(yield func(string, *json.RawMessage) bool) {
		_ = yield("metrics", &x.Metrics) && yield("metrics_secondary", &x.MetricsSecondary)
	}
}

// setFingerprints updates the fingerprints of the experiment's own metrics.
func (s Service) setFingerprints(v *view, x *storedExperiment) error {
	settings, err := settingsOf(v, x)
	if err != nil {
		return err
	}
	for _, list := range x.metricLists() {
		var metrics []map[string]json.RawMessage
		if json.Unmarshal(*list, &metrics) != nil || len(metrics) == 0 {
			continue
		}
		for _, m := range metrics {
			m["fingerprint"] = storage.Encode(x.fingerprint(m, settings))
		}
		*list = storage.Encode(metrics)
	}
	return nil
}

// statsMethods are the methods of computing results, in the order in which an error lists them.
var statsMethods = []string{"bayesian", "frequentist"}

// checkStats returns an error if stats_config contains an unknown method (experiments.md §2.1).
func (x *storedExperiment) checkStats() error {
	raw := management.JSONObject(x.StatsConfig)["method"]
	if management.EmptyJSON(raw) {
		return nil
	}
	method := management.JSONText(raw)
	if slices.Contains(statsMethods, method) {
		return nil
	}
	// The message shows other values as JSON.
	if management.JSONKind(raw) != "str" {
		method = string(raw)
	}
	return management.Fault("stats_config", "Invalid stats method: '%s'. Must be one of: %s", method, strings.Join(statsMethods, ", "))
}

// fingerprint returns a hash of the settings that affect the results of a metric. Results with
// different fingerprints are not comparable (experiments.md §3.6). The name and UUID of the
// metric have no influence.
func (x *storedExperiment) fingerprint(metric map[string]json.RawMessage, settings effectiveSettings) string {
	// Remove the members that do not affect the computation.
	query := maps.Clone(metric)
	for _, name := range []string{"uuid", "name", "kind", "fingerprint", "only_count_matured_users"} {
		delete(query, name)
	}
	// An empty breakdown is equivalent to none.
	if filter := management.JSONObject(query["breakdownFilter"]); len(filter) == 0 {
		delete(query, "breakdownFilter")
	}
	input := map[string]any{"metric": query, "start_date": x.Start, "stats_method": settings.method}
	if !management.EmptyJSON(x.Exposure) {
		input["exposure_criteria"] = x.Exposure
	}
	if settings.matured {
		input["only_count_matured_users"] = true
	}
	var excluded []string
	if json.Unmarshal(x.Excluded, &excluded) == nil && len(excluded) > 0 {
		// The order of excluded variants is irrelevant.
		slices.Sort(excluded)
		input["excluded_variants"] = excluded
	}
	var sorted any // re-encoding the decoded value sorts the members of all objects
	d := json.NewDecoder(bytes.NewReader(storage.Encode(input)))
	d.UseNumber()
	_ = d.Decode(&sorted) // just encoded, so valid
	sum := sha256.Sum256(storage.Encode(sorted))
	return hex.EncodeToString(sum[:])
}
