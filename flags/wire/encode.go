package wire

import (
	"bytes"
	"encoding/json"
)

// Encode is like json.Marshal without the escapes for HTML. It writes v with an encoder, since
// json.Marshal cannot disable them, and removes the encoder's line break.
func Encode(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// MustEncode is like [Encode] for values that always have a form in JSON. It panics if v has no
// such form.
func MustEncode(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Decode reads the JSON value at the beginning of text into v like json.Unmarshal, but decodes
// numbers as json.Number, so that 5 and 5.0 remain distinct.
func Decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// Value returns the JSON value at the beginning of text, decoded as by [Decode], or nil if there is
// no valid value.
func Value(text []byte) (v any) {
	if Decode(text, &v) != nil {
		return nil
	}
	return v
}
