package flags

import (
	"bytes"
	"encoding/json"
)

// This file is what a page gets along with its HTML, so that its flags are there at once.

// Bootstrap is what posthog-js takes as its option of that name, as JSON. In a script of
// html/template it can be written as it is.
type Bootstrap struct {
	DistinctID string `json:"distinctID,omitempty"`
	// IsIdentifiedID says that DistinctID is that of a known person, not of a browser: the
	// subject has a DeviceID that is another. Set it where it is known better.
	IsIdentifiedID bool `json:"isIdentifiedID,omitempty"`
	// FeatureFlags are true, false or the variant by key, FeatureFlagPayloads those of the
	// flags that are on.
	FeatureFlags        map[string]any             `json:"featureFlags,omitempty"`
	FeatureFlagPayloads map[string]json.RawMessage `json:"featureFlagPayloads,omitempty"`
}

// Bootstrap gives the flags that a browser may see: what it would be answered itself, for
// this subject at this instant; a flag for servers is never among them. Flags that failed
// or cannot be decided here are left out, and so are all where there are no definitions:
// then the browser asks for them. It is no read: nothing is exposed.
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

// OFREP gives the same flags as the answer of OFREP for all flags, {"flags": […]}, which
// OpenFeature's web provider can be given as its first. It may stand in a script.
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

// client decides what a browser may see.
func (s *Snapshot) client() (d Decisions) {
	if s == nil || s.config.Client == nil || s.subject == nil || s.subject.DistinctID == "" {
		return d
	}
	if s.config.Client(s.ctx, &d) != nil {
		d.Errors = true // what is there is not all
	}
	return d
}
