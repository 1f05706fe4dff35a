package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
)

// This file keeps the work on many flags from holding up those who decide
// meanwhile: where goroutines have to share a core, one that works without a stop
// may keep the others waiting for ten milliseconds.

// yieldEvery is how many flags are worked on in one go: some 100 µs.
const yieldEvery = 16

// yield lets others have the core, now and then.
func yield(done int) {
	if done%yieldEvery == yieldEvery-1 {
		runtime.Gosched()
	}
}

// longDocument is from how many bytes a document is read in pieces.
const longDocument = 1 << 20

var errPieces = errors.New("not a document of definitions")

// readPieces reads a long document as json.Unmarshal would, flag by flag. Whatever
// its error is, json.Unmarshal has the better one.
func readPieces(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := readObject(dec)
	if err == nil && len(bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n")) > 0 {
		err = errPieces
	}
	return v, err
}

// readObject reads an object, its lists of flags and projects item by item.
func readObject(dec *json.Decoder) (map[string]any, error) {
	if err := open(dec, '{'); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errPieces
		}
		switch name {
		case "flags":
			out[name], err = readList(dec, func() (v any, err error) {
				err = dec.Decode(&v)
				return v, err
			})
		case "projects":
			out[name], err = readList(dec, func() (any, error) { return readObject(dec) })
		default:
			var v any
			err = dec.Decode(&v)
			out[name] = v
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return out, err
}

func readList(dec *json.Decoder, item func() (any, error)) ([]any, error) {
	if err := open(dec, '['); err != nil {
		return nil, err
	}
	out := []any{}
	for dec.More() {
		v, err := item()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		yield(len(out))
	}
	_, err := dec.Token()
	return out, err
}

func open(dec *json.Decoder, bracket json.Delim) error {
	token, err := dec.Token()
	if err == nil && token != bracket {
		err = errPieces
	}
	return err
}
