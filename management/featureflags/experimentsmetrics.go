package featureflags

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
)

// metricTypes are the types of metrics (experiments.md §3.2).
var metricTypes = []string{"mean", "funnel", "ratio", "retention"}

// maxExperimentMetrics bounds each list of metrics of an experiment.
const maxExperimentMetrics = 100

// checkMetric looks at what can be said of a metric without events (experiments.md §3.6);
// prefix begins the text of an error.
func checkMetric(metric map[string]json.RawMessage, field, prefix string) error {
	if management.JSONText(metric["kind"]) != "ExperimentMetric" {
		return management.Fault(field, "%smetric kind must be 'ExperimentMetric'", prefix)
	}
	kind := management.JSONText(metric["metric_type"])
	if !slices.Contains(metricTypes, kind) {
		return management.NotAChoice(field, management.ShortText(kind), metricTypes)
	}
	var steps []json.RawMessage
	if kind == "funnel" && (json.Unmarshal(metric["series"], &steps) != nil || len(steps) == 0) {
		return management.Fault(field, "%sa funnel needs at least one step in series", prefix)
	}
	return nil
}

// ensureUUID gives a metric a uuid that has none.
func (s *core) ensureUUID(metric map[string]json.RawMessage) {
	if management.JSONText(metric["uuid"]) == "" {
		metric["uuid"] = management.Encode(s.Env.NewID())
	}
}

// tidyMetrics checks the metrics that a body brings, gives all of them uuids, and says
// what each is now (experiments.md §3.6).
func (s Experiments) tidyMetrics(e *experimentEdit) error {
	seen := map[string]bool{}
	for field, list := range e.After.metricLists() {
		metrics, err := s.readMetrics(*list, field, e.Values.Has(field))
		if err != nil {
			return err
		}
		for _, m := range metrics {
			uuid := management.JSONText(m["uuid"])
			if seen[uuid] {
				return management.Fault(field, "Duplicate metric UUID: %s", management.ShortText(uuid))
			}
			seen[uuid] = true
		}
		if len(metrics) > 0 {
			*list = management.Encode(metrics)
		}
	}
	return s.setFingerprints(e.View, e.After)
}

// readMetrics reads a list of metrics; check refuses what is none.
func (s Experiments) readMetrics(raw json.RawMessage, field string, check bool) ([]map[string]json.RawMessage, error) {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // null or a list: its field was read
	if len(list) > maxExperimentMetrics {
		return nil, management.CodedFault(management.CodeMaxLength, field, "%d metrics are more than the %d that an experiment may have.", len(list), maxExperimentMetrics)
	}
	out := make([]map[string]json.RawMessage, len(list))
	for i, raw := range list {
		if out[i] = management.JSONObject(raw); out[i] == nil {
			out[i] = map[string]json.RawMessage{}
		}
		s.ensureUUID(out[i])
		if !check {
			continue
		}
		if err := checkMetric(out[i], field, fmt.Sprintf("Invalid metric at index %d: ", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// metricLists are the lists of metrics of an experiment by their fields, in order.
func (x *storedExperiment) metricLists() func(func(string, *json.RawMessage) bool) {
	return func(yield func(string, *json.RawMessage) bool) {
		_ = yield("metrics", &x.Metrics) && yield("metrics_secondary", &x.MetricsSecondary)
	}
}

// setFingerprints puts fingerprints into the metrics that an experiment has itself.
func (s Experiments) setFingerprints(v *view, x *storedExperiment) error {
	method, err := statsMethod(v, x)
	if err != nil {
		return err
	}
	for _, list := range x.metricLists() {
		var metrics []map[string]json.RawMessage
		if json.Unmarshal(*list, &metrics) != nil || len(metrics) == 0 {
			continue
		}
		for _, m := range metrics {
			m["fingerprint"] = management.Encode(x.fingerprint(m, method))
		}
		*list = management.Encode(metrics)
	}
	return nil
}

// statsMethods are how results can be computed, as an error names them.
var statsMethods = []string{"bayesian", "frequentist"}

// checkStats refuses a method that is not one (experiments.md §2.1).
func (x *storedExperiment) checkStats() error {
	raw := management.JSONObject(x.StatsConfig)["method"]
	if !isPresent(raw) {
		return nil
	}
	method := management.JSONText(raw)
	if slices.Contains(statsMethods, method) {
		return nil
	}
	if management.JSONKind(raw) != "str" {
		method = string(raw)
	}
	return management.Fault("stats_config", "Invalid stats method: '%s'. Must be one of: %s", method, strings.Join(statsMethods, ", "))
}

// statsConfig is the stats_config by which an experiment is computed: always with a method.
func statsConfig(v *view, x *storedExperiment) (json.RawMessage, error) {
	method, err := statsMethod(v, x)
	if err != nil {
		return nil, err
	}
	config := management.JSONObject(x.StatsConfig)
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	config["method"] = management.Encode(method)
	return management.Encode(config), nil
}

// statsMethod is how the results of an experiment are computed: as it says, or as its
// organization does.
func statsMethod(v *view, x *storedExperiment) (string, error) {
	if method := management.JSONText(management.JSONObject(x.StatsConfig)["method"]); slices.Contains(statsMethods, method) {
		return method, nil
	}
	meta, err := management.MetaOfOrganization(v.Organization)
	if err == nil && meta.ExperimentStats != nil {
		return *meta.ExperimentStats, nil
	}
	return "bayesian", err
}

// fingerprint says whether two results of a metric are of the same question
// (experiments.md §3.6).
func (x *storedExperiment) fingerprint(metric map[string]json.RawMessage, method string) string {
	query := maps.Clone(metric)
	for _, name := range []string{"uuid", "name", "kind", "fingerprint", "only_count_matured_users"} {
		delete(query, name)
	}
	if filter := management.JSONObject(query["breakdownFilter"]); len(filter) == 0 {
		delete(query, "breakdownFilter")
	}
	input := map[string]any{"metric": query, "start_date": x.Start, "stats_method": method}
	if isPresent(x.Exposure) {
		input["exposure_criteria"] = x.Exposure
	}
	if x.Matured != nil && *x.Matured {
		input["only_count_matured_users"] = true
	}
	var excluded []string
	if json.Unmarshal(x.Excluded, &excluded) == nil && len(excluded) > 0 {
		slices.Sort(excluded)
		input["excluded_variants"] = excluded
	}
	var plain any // decoded, its objects have their members in order of name
	d := json.NewDecoder(bytes.NewReader(management.Encode(input)))
	d.UseNumber()
	_ = d.Decode(&plain) // what was just encoded
	sum := sha256.Sum256(management.Encode(plain))
	return hex.EncodeToString(sum[:])
}
