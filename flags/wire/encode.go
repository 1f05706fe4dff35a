package wire

import (
	"bytes"
	"encoding/json"
)

// Encode is json.Marshal without the escapes that are for HTML.
func Encode(v any) (json.RawMessage, error) { return encode(v, "") }

// MustEncode is [Encode] for values that JSON always has a form for. It panics where
// there is none.
func MustEncode(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Indent is [Encode] for people: indented by two blanks, with a line break at the end.
func Indent(v any) (string, error) {
	text, err := encode(v, "  ")
	if err != nil {
		return "", err
	}
	return string(append(text, '\n')), nil
}

func encode(v any, indent string) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads the JSON value at the beginning of a text into v as json.Unmarshal
// would, but numbers as json.Number: 5 and 5.0 are different texts.
func Decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// Value is the JSON value at the beginning of a text, see [Decode], nil for none.
func Value(text []byte) (v any) {
	if Decode(text, &v) != nil {
		return nil
	}
	return v
}
