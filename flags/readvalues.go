package flags

import (
	"encoding/json"
	"errors"
	"strconv"
)

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
