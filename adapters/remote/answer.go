package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// wireFlag is the part of a flag in a version 2 response that this package reads.
type wireFlag struct {
	Enabled bool    `json:"enabled"`
	Variant *string `json:"variant"`
	Failed  bool    `json:"failed"`
	Reason  *struct {
		Code           flags.ReasonCode `json:"code"`
		ConditionIndex *int             `json:"condition_index"`
	} `json:"reason"`
	Metadata struct {
		ID            int64           `json:"id"`
		Version       int64           `json:"version"`
		Payload       json.RawMessage `json:"payload"`
		HasExperiment *bool           `json:"has_experiment"`
	} `json:"metadata"`
}

// wireAnswer is the part of a response of version 2 that this package reads. It also has the
// members of the older format, which older servers return for every requested version (§9.6).
type wireAnswer struct {
	Flags    map[string]wireFlag        `json:"flags"`
	Older    olderFlags                 `json:"featureFlags"`
	Payloads map[string]json.RawMessage `json:"featureFlagPayloads"`

	Errors       bool     `json:"errorsWhileComputingFlags"`
	Minimal      bool     `json:"minimalFlagCalledEvents"`
	QuotaLimited []string `json:"quotaLimited"`
	RequestID    string   `json:"requestId"`
	EvaluatedAt  int64    `json:"evaluatedAt"` // milliseconds since 1970
}

// parseAnswer parses the body of a response. It returns flags.ErrQuotaLimited if the server reports
// that the quota of flag requests is exhausted.
func parseAnswer(raw []byte) (*Answer, error) {
	var w wireAnswer
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("remote: the server's answer cannot be read: %w", err)
	}
	if slices.Contains(w.QuotaLimited, "feature_flags") {
		return nil, flags.ErrQuotaLimited
	}
	a := &Answer{
		Errors: w.Errors, RequestID: w.RequestID,
		Decisions: make([]flags.Decision, 0, len(w.Flags)+len(w.Older)), minimal: map[string]bool{},
	}
	if w.EvaluatedAt != 0 {
		a.EvaluatedAt = time.UnixMilli(w.EvaluatedAt).UTC()
	}
	if w.Flags == nil {
		if w.Older == nil {
			return nil, errors.New(`remote: the server's answer has no member "flags" or "featureFlags": check that Config.URL is a flag server`)
		}
		a.older(&w)
		return a, nil
	}
	for _, key := range slices.Sorted(maps.Keys(w.Flags)) {
		f := w.Flags[key]
		d := f.decision(key)
		if f.Metadata.HasExperiment != nil {
			a.minimal[key] = w.Minimal && !d.HasExperiment
		}
		a.Decisions = append(a.Decisions, d)
	}
	return a, nil
}

// decision converts one flag of a response.
func (f *wireFlag) decision(key string) flags.Decision {
	d := flags.Decision{
		Key: key, Enabled: f.Enabled && !f.Failed, ID: f.Metadata.ID, Version: f.Metadata.Version,
		Reason: flags.Reason{Condition: flags.NoCondition},
	}
	if f.Variant != nil && d.Enabled {
		d.Variant = *f.Variant
	}
	if d.Variant != "" { // The response does not include the kind. resolve replaces it if it has the definition.
		d.Kind = flags.VariantKind
	}
	if p := f.Metadata.Payload; len(p) > 0 && string(p) != "null" {
		d.Payload = p
	}
	if f.Reason != nil {
		d.Reason.Code = f.Reason.Code
		if f.Reason.ConditionIndex != nil {
			d.Reason.Condition = *f.Reason.ConditionIndex
		}
	}
	if f.Failed && !d.Failed() { // the server reports a reason that this version does not support
		d.Reason.Code = flags.DatabaseError
	}
	if f.Metadata.HasExperiment != nil {
		d.HasExperiment = *f.Metadata.HasExperiment
	}
	return d
}

// olderFlags are flag values by key: true, false or a variant. In JSON it may also be a list of the
// keys of the flags that are on.
type olderFlags map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (f *olderFlags) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*map[string]any)(f))
	}
	var keys []string
	if err := json.Unmarshal(raw, &keys); err != nil {
		return err
	}
	*f = olderFlags{}
	for _, key := range keys {
		(*f)[key] = true
	}
	return nil
}

// older reads a response in the older format, which has neither reasons nor versions. A flag with a
// value that is neither a string nor true is off.
func (a *Answer) older(w *wireAnswer) {
	for _, key := range slices.Sorted(maps.Keys(w.Older)) {
		d := flags.Decision{Key: key, Reason: flags.Reason{Condition: flags.NoCondition}}
		switch value := w.Older[key].(type) {
		case bool:
			d.Enabled = value
		case string:
			d.Enabled, d.Variant = value != "", value
		}
		if d.Variant != "" {
			d.Kind = flags.VariantKind
		}
		if p := w.Payloads[key]; d.Enabled && len(p) > 0 && string(p) != "null" {
			d.Payload = p
		}
		a.Decisions = append(a.Decisions, d)
	}
}
