package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Detail describes how a value was determined. It belongs to the caller: later reads do not
// modify it.
type Detail struct {
	// Decision is the decision of the flag. Its Payload is JSON as in [Reader].JSON. For an
	// unknown flag, only the key is set.
	Decision
	// FromServer means that a server evaluated the flag.
	FromServer bool
	// Err is the reason why there is no decision or no value of the type, see
	// [ErrUnknownFlag] and the errors declared with it. If nil, the value is that of the
	// flag, or the flag is off and has no value.
	Err error

	stored json.RawMessage // the payload as stored, before it was decoded from a string
}

// errNoValue means that the flag has a decision but no value, so that the fallback is
// returned without an error.
var errNoValue = errors.New("no value")

// Problem returns the reason why the flag has no result: a *[Undecided], [ErrFailed], or nil
// if it has one.
func (d *Decision) Problem() error {
	switch {
	case d == nil:
	case d.Undecided != nil:
		return d.Undecided
	case d.Failed():
		return ErrFailed
	}
	return nil
}

// asBool returns the value of [Reader].Bool.
func asBool(d *Decision) (bool, error) {
	if d.Kind == ConfigKind {
		return payloadAs[bool](d)
	}
	return d.Enabled, nil
}

// asString returns the value of [Reader].String.
func asString(d *Decision) (string, error) {
	switch {
	case d.Kind == ConfigKind:
		return payloadAs[string](d)
	case d.Variant != "":
		return d.Variant, nil
	case d.Enabled && d.Kind == BooleanKind:
		return "", ErrWrongKind
	}
	return "", errNoValue
}

// payloadAs decodes a payload: JSON contained in a string, or the payload itself.
func payloadAs[T any](d *Decision) (T, error) {
	var v, zero T
	raw, err := asJSON(d)
	if err != nil {
		return zero, err
	}
	if json.Unmarshal(raw, &v) != nil && json.Unmarshal(d.Payload, &v) != nil {
		return zero, ErrWrongKind
	}
	return v, nil
}

// asNumber returns the value of [Reader].Number. It accepts numbers in JSON syntax only.
func asNumber(d *Decision) (float64, error) {
	if !d.Enabled {
		return 0, errNoValue
	}
	text := d.Variant
	if d.hasPayload() || text == "" {
		raw, err := asJSON(d)
		if err != nil {
			return 0, err
		}
		text = string(raw)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !json.Valid([]byte(text)) { // hexadecimal, Inf, NaN
		return 0, ErrWrongKind
	}
	return n, nil
}

// asJSON returns the value of [Reader].JSON.
func asJSON(d *Decision) (json.RawMessage, error) {
	switch {
	case d.Enabled && d.hasPayload():
		return d.PayloadJSON(), nil
	case d.Enabled && d.Kind != ConfigKind:
		return nil, ErrWrongKind
	}
	return nil, errNoValue
}

// hasPayload reports whether there is a payload other than null.
func (d *Decision) hasPayload() bool { return len(d.Payload) > 0 && string(d.Payload) != "null" }

// PayloadJSON returns the payload as JSON. Most payloads are stored as strings that contain
// JSON (§3.7); for these, the result is the contained JSON. A string that does not contain
// JSON is returned as it is. The result is nil if there is no payload.
func (d *Decision) PayloadJSON() json.RawMessage {
	if d == nil {
		return nil
	}
	raw := bytes.TrimSpace(d.Payload)
	if len(raw) == 0 || raw[0] != '"' {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if inner := bytes.TrimSpace([]byte(text)); json.Valid(inner) {
		return inner
	}
	return raw
}

// pickDetail returns the value of a decision, with its Detail. d may be nil if err is not.
func pickDetail[T any](key string, d *Decision, fromServer bool, err error, fallback T, pick func(*Decision) (T, error)) (T, Detail) {
	detail := Detail{FromServer: fromServer, Err: err}
	if d != nil {
		detail.Decision, detail.stored = *d, d.Payload
		detail.Payload = d.PayloadJSON()
	}
	detail.Key = key
	if err != nil {
		return fallback, detail
	}
	v, err := pick(d)
	if err == nil {
		return v, detail
	}
	if !errors.Is(err, errNoValue) {
		detail.Err = err
	}
	return fallback, detail
}
