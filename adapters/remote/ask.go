package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// maxAnswer bounds an answer of the server, in bytes.
const maxAnswer = 16 << 20

// StatusError is an answer that is not the one hoped for: to a question, or for
// definitions.
type StatusError struct {
	Status int
	Text   string // how the answer begins; of one about definitions what is wrong, where it says so
}

func (e *StatusError) Error() string {
	said := fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	if text := strings.TrimSpace(e.Text); text != "" {
		said += ": " + text
	}
	return said
}

// Answer is the server's.
type Answer struct {
	// Decisions are in the order of their keys. Reasons have a code and a condition;
	// codes that are not known here are NoReason.
	Decisions []flags.Decision
	// Errors is errorsWhileComputingFlags: what is missing may be missing by error.
	Errors      bool
	RequestID   string
	EvaluatedAt time.Time

	minimal map[string]bool // flags whose exposures are to be small (§10.3)
}

// AskAll asks the server for all flags of a subject, whether AskServer is set or not.
// Stored facts of the subject are not sent: the server has its own.
func (c *Client) AskAll(ctx context.Context, sub *flags.Subject) (*Answer, error) {
	if err := c.unfit(sub); err != nil {
		return nil, err
	}
	if c.config.Offline {
		return nil, fmt.Errorf("remote: the server is not asked, by Config.Offline: %w", flags.ErrUnavailable)
	}
	return c.ask(ctx, sub, nil)
}

// question is the body of POST /flags (§9.4).
type question struct {
	APIKey           string                      `json:"api_key"`
	DistinctID       string                      `json:"distinct_id"`
	AnonymousID      string                      `json:"$anon_distinct_id,omitempty"`
	DeviceID         string                      `json:"$device_id,omitempty"`
	Groups           map[string]string           `json:"groups,omitempty"`
	PersonProperties flags.Properties            `json:"person_properties,omitempty"`
	GroupProperties  map[string]flags.Properties `json:"group_properties,omitempty"`
	Keys             []string                    `json:"flag_keys_to_evaluate,omitempty"`
	// The address is this machine's, and flags are wanted whatever runtime they are
	// for, as when they are decided here.
	GeoIPDisable bool   `json:"geoip_disable"`
	Runtime      string `json:"evaluation_runtime"`
}

// ask asks for the flags of some keys, nil for all.
func (c *Client) ask(ctx context.Context, sub *flags.Subject, keys []string) (*Answer, error) {
	q := question{
		APIKey: c.config.ProjectKey, DistinctID: sub.DistinctID, AnonymousID: sub.AnonymousID, DeviceID: sub.DeviceID,
		Groups: sub.Groups, PersonProperties: sub.Person, GroupProperties: maps.Clone(sub.GroupProperties), Keys: keys,
		GeoIPDisable: true, Runtime: "all",
	}
	maps.DeleteFunc(q.GroupProperties, func(_ string, p flags.Properties) bool { return p == nil })
	if len(sub.Located) > 0 && !sub.LocatedByPeer { // as said, but for what the subject says itself (§8.3)
		q.PersonProperties = maps.Clone(sub.Located)
		for name, value := range sub.Person {
			if _, located := sub.Located[name]; value != nil || !located {
				q.PersonProperties[name] = value
			}
		}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, without(sub, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.AskTimeout)
	defer cancel()
	req, err := newRequest(ctx, c.config.URL+"/flags/?v=2", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("remote: asking for flags: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 512))
		return nil, fmt.Errorf("remote: asking for flags: %w", &StatusError{Status: res.StatusCode, Text: string(text)})
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("remote: asking for flags: %w", err)
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("remote: the server's answer is larger than %d MiB", maxAnswer>>20)
	}
	return parseAnswer(raw)
}

// without names a property whose value has no form in JSON, for an err of writing.
func without(sub *flags.Subject, err error) error {
	find := func(fact string, properties flags.Properties) *flags.Undecided {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if _, err := json.Marshal(properties[name]); err != nil {
				return &flags.Undecided{Fact: fact, Name: name, Problem: strings.TrimPrefix(err.Error(), "json: ")}
			}
		}
		return nil
	}
	u := find("person property", sub.Person)
	for _, groupType := range slices.Sorted(maps.Keys(sub.GroupProperties)) {
		if u == nil {
			u = find("group property", sub.GroupProperties[groupType])
		}
	}
	if u != nil {
		err = u
	}
	return fmt.Errorf("remote: the server cannot be asked: %w", err)
}

// wireAnswer is what is read of an answer of version 2 (§9.6).
type wireAnswer struct {
	Flags map[string]struct {
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
	} `json:"flags"`
	Errors       bool     `json:"errorsWhileComputingFlags"`
	Minimal      bool     `json:"minimalFlagCalledEvents"`
	QuotaLimited []string `json:"quotaLimited"`
	RequestID    string   `json:"requestId"`
	EvaluatedAt  int64    `json:"evaluatedAt"` // milliseconds since 1970
}

// parseAnswer reads an answer.
func parseAnswer(raw []byte) (*Answer, error) {
	var w wireAnswer
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("remote: the server's answer cannot be read: %w", err)
	}
	if slices.Contains(w.QuotaLimited, "feature_flags") {
		return nil, flags.ErrQuotaLimited
	}
	if w.Flags == nil {
		return nil, errors.New(`remote: the server's answer has no member "flags": is Config.URL a server of flags?`)
	}
	a := &Answer{
		Errors: w.Errors, RequestID: w.RequestID, EvaluatedAt: time.UnixMilli(w.EvaluatedAt).UTC(),
		Decisions: make([]flags.Decision, 0, len(w.Flags)), minimal: map[string]bool{},
	}
	for _, key := range slices.Sorted(maps.Keys(w.Flags)) {
		f := w.Flags[key]
		d := flags.Decision{
			Key: key, Enabled: f.Enabled && !f.Failed, ID: f.Metadata.ID, Version: f.Metadata.Version,
			Reason: flags.Reason{Condition: flags.NoCondition},
		}
		if f.Variant != nil && d.Enabled {
			d.Variant = *f.Variant
		}
		if d.Variant != "" { // the kind is not told; resolve knows it where it has the definition
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
		if f.Failed && !d.Failed() { // for a reason that is not known here
			d.Reason.Code = flags.DatabaseError
		}
		if f.Metadata.HasExperiment != nil {
			d.HasExperiment = *f.Metadata.HasExperiment
			a.minimal[key] = w.Minimal && !d.HasExperiment
		}
		a.Decisions = append(a.Decisions, d)
	}
	return a, nil
}
