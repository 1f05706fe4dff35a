package organizations

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// experimentsConfig has a project's defaults for its experiments (experiments.md §1.1). An
// experiment uses them for settings that it does not contain. A member that is nil is not set.
type experimentsConfig struct {
	// Method is bayesian or frequentist. If nil, the default of the organization applies.
	Method *string `json:"default_experiment_stats_method"`
	// Level is the confidence level of intervals: 0.9, 0.95 or 0.99.
	Level *float64 `json:"default_experiment_confidence_level"`
	// Matured leaves out of a metric's results the persons whose exposure is more recent than the
	// metric's window.
	Matured *bool `json:"default_only_count_matured_users"`
	// Cuped and CupedDays configure the covariate of metrics from before the exposure.
	Cuped     *bool  `json:"default_cuped_enabled"`
	CupedDays *int64 `json:"default_cuped_lookback_days"`
	// Sequential and Tuning configure tests that may be read at any time.
	Sequential *bool    `json:"default_sequential_testing_enabled"`
	Tuning     *float64 `json:"default_sequential_tuning_parameter"`
	// Effect is the smallest effect that experiments are planned for, in percent.
	Effect *float64 `json:"default_minimum_detectable_effect"`
}

// experimentsConfigField is the project's field for experimentsConfig.
var experimentsConfigField = management.Field{Name: "experiments_config", Type: management.Object, Null: true, Help: "object with the defaults of experiments: default_experiment_stats_method, default_experiment_confidence_level (0.9, 0.95 or 0.99), default_only_count_matured_users, default_cuped_enabled, default_cuped_lookback_days, default_sequential_testing_enabled, default_sequential_tuning_parameter and default_minimum_detectable_effect (in percent); absent members are unchanged, null removes a default"}

// experimentsConfigFields are the members of experimentsConfigField in a request. Numbers that may
// have decimal places are in experimentsConfigNumbers.
var experimentsConfigFields = management.Fields{
	{Name: "default_experiment_stats_method", Type: management.Choice, Null: true, Choices: []string{"bayesian", "frequentist"}},
	{Name: "default_experiment_confidence_level", Type: management.Any, Null: true},
	{Name: "default_only_count_matured_users", Type: management.Bool, Null: true},
	{Name: "default_cuped_enabled", Type: management.Bool, Null: true},
	{Name: "default_cuped_lookback_days", Type: management.Int, Null: true, MinValue: 1, MaxValue: 30},
	{Name: "default_sequential_testing_enabled", Type: management.Bool, Null: true},
	{Name: "default_sequential_tuning_parameter", Type: management.Any, Null: true},
	{Name: "default_minimum_detectable_effect", Type: management.Any, Null: true},
}

// experimentsConfigNumbers are the members that may have decimal places.
var experimentsConfigNumbers = []struct {
	name    string
	isValid func(float64) bool
	message string
	of      func(*experimentsConfig) **float64
}{
	{"default_experiment_confidence_level", func(f float64) bool { return f == 0.9 || f == 0.95 || f == 0.99 }, "Must be 0.9, 0.95 or 0.99.", func(c *experimentsConfig) **float64 { return &c.Level }},
	{"default_sequential_tuning_parameter", func(f float64) bool { return f >= 1 && f <= 1e9 }, "Must be a number from 1 to 1000000000.", func(c *experimentsConfig) **float64 { return &c.Tuning }},
	{"default_minimum_detectable_effect", func(f float64) bool { return f > 0 && f <= 1e6 }, "Must be a number greater than 0 and at most 1000000.", func(c *experimentsConfig) **float64 { return &c.Effect }},
}

// readExperimentsConfig returns the defaults of experiments after a request. Members that are
// absent in raw have the values of before, and unknown members are errors.
func readExperimentsConfig(raw json.RawMessage, before experimentsConfig) (experimentsConfig, error) {
	name := experimentsConfigField.Name
	var b management.Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return before, management.CodedFault(management.CodeNotADict, name, "Expected a dictionary of items.")
	}
	for _, member := range slices.Sorted(maps.Keys(b.Members)) {
		if !slices.ContainsFunc(experimentsConfigFields, func(f management.Field) bool { return f.Name == member }) {
			return before, management.Fault(name, "%q is not a known member: use %s.", member, experimentsConfigNames())
		}
	}
	v, err := experimentsConfigFields.Change(b)
	if err != nil {
		return before, resource.PrefixField(name, err)
	}
	out := before
	management.SetNull(v, "default_experiment_stats_method", &out.Method)
	management.SetNull(v, "default_only_count_matured_users", &out.Matured)
	management.SetNull(v, "default_cuped_enabled", &out.Cuped)
	management.SetNull(v, "default_cuped_lookback_days", &out.CupedDays)
	management.SetNull(v, "default_sequential_testing_enabled", &out.Sequential)
	for _, member := range experimentsConfigNumbers {
		raw, to := b.Members[member.name], member.of(&out)
		switch string(raw) {
		case "":
			continue
		case "null":
			*to = nil
			continue
		}
		n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
		if err != nil || !member.isValid(n) {
			return before, management.Fault(fmt.Sprintf("%s__%s", name, member.name), "%s", member.message)
		}
		*to = &n
	}
	return out, nil
}

// experimentsConfigNames returns the names of the members for messages.
func experimentsConfigNames() string {
	names := make([]string, len(experimentsConfigFields))
	for i := range experimentsConfigFields {
		names[i] = experimentsConfigFields[i].Name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// experimentsConfigOf returns the project's defaults of experiments.
func experimentsConfigOf(m *management.ProjectMeta) (out experimentsConfig, err error) {
	if raw := m.Settings[experimentsConfigField.Name]; !management.EmptyJSON(raw) {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}
