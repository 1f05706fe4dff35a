package flags

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
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

// The value of a flag in OFREP is on or off for a flag without variants; the key of the
// variant, also returned as variant, for one with variants; and the payload, decoded from its
// text form, for remote configuration. A flag that is disabled, or has no variant or payload
// of that kind, has no value: the client uses the caller's default (ADR 6 of the protocol).
// The client checks the type of the value.
//
// The members of metadata, which the protocol requires to be flat, are id, version,
// reason_code and condition_index as in /flags, and payload: a string, a number or a boolean,
// or the JSON text of an object or a list.
//
// Decision.OpenFeature determines reasons and error codes. DEFAULT is missing from the list
// of reasons in the protocol's OpenAPI document, but is defined in its ADR 6.

// AppendOFREP appends the decision as an OFREP response for one flag to b. A decision that
// failed or is undecided has an error code. A nil Decision is that of a flag that is off.
func (d *Decision) AppendOFREP(b []byte) []byte {
	if d == nil {
		d = &Decision{Reason: Reason{Condition: NoCondition}}
	}
	b = append(b, `{"key":`...)
	b = wire.AppendQuoted(b, d.Key)
	reason, errorCode := d.OpenFeature()
	if errorCode != "" {
		b = append(b, `,"errorCode":"`...)
		b = append(b, errorCode...)
		b = append(b, `","errorDetails":"`...)
		b = d.Reason.AppendDescription(b) // plain text, needs no escaping
	} else {
		b = appendOFREPValue(b, d)
		b = append(b, `,"reason":"`...)
		b = append(b, reason...)
	}
	b = append(b, `","metadata":{`...)
	if d.ID != 0 {
		b = append(b, `"id":`...)
		b = strconv.AppendInt(b, d.ID, 10)
		b = append(b, `,"version":`...)
		b = strconv.AppendInt(b, d.Version, 10)
		b = append(b, ',')
	}
	b = append(b, `"reason_code":"`...)
	b = append(b, d.Reason.Code.String()...)
	b = append(b, '"')
	if d.Reason.Condition >= 0 {
		b = append(b, `,"condition_index":`...)
		b = strconv.AppendInt(b, int64(d.Reason.Condition), 10)
	}
	b = appendFlatPayload(b, d.Payload)
	return append(b, "}}"...)
}

// appendOFREPValue appends the members value and variant if the decision has them.
func appendOFREPValue(b []byte, d *Decision) []byte {
	from := len(b)
	if d.Variant != "" {
		b = wire.AppendQuoted(append(b, `,"variant":`...), d.Variant)
	}
	variant := b[from:]
	switch {
	case d.Reason.Code == FlagDisabled:
	case d.Kind == ConfigKind:
		if value := d.PayloadJSON(); d.Enabled && len(value) > 0 && string(value) != "null" {
			b = append(append(b, `,"value":`...), value...)
		}
	case d.Kind == VariantKind:
		if len(variant) > 0 {
			b = append(b, `,"value":`...)
			b = append(b, variant[len(`,"variant":`):]...)
		}
	case d.Enabled:
		b = append(b, `,"value":true`...)
	default:
		b = append(b, `,"value":false`...)
	}
	return b
}

// appendFlatPayload appends the payload as a member of metadata.
func appendFlatPayload(b, payload []byte) []byte {
	if len(payload) == 0 || string(payload) == "null" {
		return b
	}
	b = append(b, `,"payload":`...)
	if payload[0] == '{' || payload[0] == '[' {
		return wire.AppendQuoted(b, string(payload))
	}
	return append(b, payload...)
}
