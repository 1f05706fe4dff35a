package experiments

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// effectiveSettings are the settings with which the results of an experiment are computed: its own,
// or the defaults of its project and organization (experiments.md §1.1, §2.1).
type effectiveSettings struct {
	method   string
	matured  bool
	defaults projectDefaults
}

// projectDefaults are the members of the project setting experiments_config that affect results. The
// setting is checked when it is stored (package organizations).
type projectDefaults struct {
	Method     *string  `json:"default_experiment_stats_method"`
	Level      *float64 `json:"default_experiment_confidence_level"`
	Matured    *bool    `json:"default_only_count_matured_users"`
	Cuped      *bool    `json:"default_cuped_enabled"`
	CupedDays  *int64   `json:"default_cuped_lookback_days"`
	Sequential *bool    `json:"default_sequential_testing_enabled"`
	Tuning     *float64 `json:"default_sequential_tuning_parameter"`
}

// settingsOf returns the effective settings of an experiment.
func settingsOf(v *view, x *storedExperiment) (out effectiveSettings, err error) {
	project, err := management.MetaOfProject(v.Project)
	if err != nil {
		return out, err
	}
	if raw := project.Settings["experiments_config"]; !management.EmptyJSON(raw) {
		if err := json.Unmarshal(raw, &out.defaults); err != nil {
			return out, err
		}
	}
	out.matured = plain.OrZero(out.defaults.Matured)
	if x.Matured != nil { // also an explicit false
		out.matured = *x.Matured
	}
	out.method, err = methodOf(v, x, &out.defaults)
	return out, err
}

// methodOf returns the method of computing the experiment's results: its own, or the default of its
// project or its organization, or bayesian.
func methodOf(v *view, x *storedExperiment, defaults *projectDefaults) (string, error) {
	if method := management.JSONText(management.JSONObject(x.StatsConfig)["method"]); slices.Contains(statsMethods, method) {
		return method, nil
	}
	if defaults.Method != nil {
		return *defaults.Method, nil
	}
	meta, err := management.MetaOfOrganization(v.Organization)
	if err == nil && meta.ExperimentStats != nil {
		return *meta.ExperimentStats, nil
	}
	return "bayesian", err
}

// alphas are the significance levels that correspond to the confidence levels of a project.
var alphas = map[float64]string{0.9: "0.1", 0.95: "0.05", 0.99: "0.01"}

// statsConfig returns the experiment's stats_config, with the effective method, and with the
// defaults of the project for members that are absent.
func (s *effectiveSettings) statsConfig(x *storedExperiment) json.RawMessage {
	config, d := management.JSONObject(x.StatsConfig), &s.defaults
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	config["method"] = storage.Encode(s.method)
	if d.Level != nil {
		setAbsent(config, "bayesian", "ci_level", storage.Encode(*d.Level))
		setAbsent(config, "frequentist", "alpha", json.RawMessage(alphas[*d.Level]))
	}
	if d.Sequential != nil {
		setAbsent(config, "frequentist", "sequential_testing_enabled", storage.Encode(*d.Sequential))
	}
	if d.Tuning != nil {
		setAbsent(config, "frequentist", "sequential_tuning_parameter", storage.Encode(*d.Tuning))
	}
	if d.Cuped != nil {
		setAbsent(config, "cuped", "enabled", storage.Encode(*d.Cuped))
	}
	if d.CupedDays != nil {
		setAbsent(config, "cuped", "lookback_days", storage.Encode(*d.CupedDays))
	}
	return storage.Encode(config)
}

// setAbsent sets a member of an object inside of config, unless it is there and not null.
func setAbsent(config map[string]json.RawMessage, object, member string, value json.RawMessage) {
	members := management.JSONObject(config[object])
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	if raw := members[member]; len(raw) == 0 || string(raw) == "null" {
		members[member] = value
		config[object] = storage.Encode(members)
	}
}
