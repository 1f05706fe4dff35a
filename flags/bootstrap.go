package flags

import (
	"bytes"
	"encoding/json"
)

// This file builds the flags that a server embeds in an HTML page, so that the page has them
// before its first request.

// Bootstrap is the value of posthog-js's option of the same name, encoded as JSON. A template
// of html/template may write it into a script without further escaping.
type Bootstrap struct {
	DistinctID string `json:"distinctID,omitempty"`
	// IsIdentifiedID reports whether DistinctID identifies a person rather than a browser.
	// [Snapshot.Bootstrap] sets it if the subject has a DeviceID that differs from its
	// DistinctID; callers that have better information may overwrite it.
	IsIdentifiedID bool `json:"isIdentifiedID,omitempty"`
	// FeatureFlags maps the key of a flag to true, false or its variant. FeatureFlagPayloads
	// maps the keys of enabled flags to their payloads.
	FeatureFlags        map[string]any             `json:"featureFlags,omitempty"`
	FeatureFlagPayloads map[string]json.RawMessage `json:"featureFlagPayloads,omitempty"`
}

// Bootstrap returns the flags that a browser may see, evaluated for the snapshot's subject at
// the snapshot's time: the same values that the browser would receive from the server itself.
// Flags for servers are never included. Flags that failed or are undecided are left out, and
// without definitions the result is empty, so that the browser requests the flags itself.
// Bootstrap does not count as a read: it reports no exposures.
func (s *Snapshot) Bootstrap() Bootstrap {
	var b Bootstrap
	if sub := s.Subject(); sub != nil {
		b.DistinctID = sub.DistinctID
		b.IsIdentifiedID = sub.DeviceID != "" && sub.DeviceID != sub.DistinctID
	}
	list := s.client().List
	for i := range list {
		d := &list[i]
		if d.Problem() != nil {
			continue
		}
		if b.FeatureFlags == nil {
			b.FeatureFlags = make(map[string]any, len(list))
		}
		b.FeatureFlags[d.Key] = d.Value()
		if d.Enabled && d.hasPayload() {
			if b.FeatureFlagPayloads == nil {
				b.FeatureFlagPayloads = map[string]json.RawMessage{}
			}
			b.FeatureFlagPayloads[d.Key] = d.PayloadJSON()
		}
	}
	return b
}

// OFREP returns the same flags as an OFREP response for all flags, {"flags": […]}, which
// OpenFeature's web provider accepts as its initial value. The result is HTML-safe and may be
// written into a script.
func (s *Snapshot) OFREP() json.RawMessage {
	d := s.client()
	b := []byte(`{"flags":[`)
	for i := range d.List {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.List[i].AppendOFREP(b)
	}
	b = append(b, ']')
	if d.Errors {
		b = append(b, `,"metadata":{"errorsWhileComputingFlags":true}`...)
	}
	var safe bytes.Buffer
	json.HTMLEscape(&safe, append(b, '}'))
	return safe.Bytes()
}

// client evaluates the flags that a browser may see. The result is empty without a subject or
// its distinct id.
func (s *Snapshot) client() (d Decisions) {
	if s == nil || s.config.Client == nil || s.subject == nil || s.subject.DistinctID == "" {
		return d
	}
	if s.config.Client(s.ctx, &d) != nil {
		d.Errors = true // the list is incomplete
	}
	return d
}
