package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parseConfigFile reads the config file: a JSON object with the settings as
// members. Its errors name line and column.
func parseConfigFile(path string, data []byte) (map[string][]string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	fail := func(at int64, format string, args ...any) error {
		return fmt.Errorf("%s: %s: %s", path, place(data, at), fmt.Sprintf(format, args...))
	}
	first, err := dec.Token()
	if err != nil {
		return nil, jsonError(path, data, err)
	}
	if first != json.Delim('{') {
		return nil, fail(0, "want an object with settings as members")
	}
	members := map[string][]string{}
	for dec.More() {
		at := nextText(data, dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return nil, jsonError(path, data, err)
		}
		name, _ := token.(string)
		s := findMember(name)
		if s == nil {
			return nil, fail(at, "there is no setting %q; there are %s%s", name, strings.Join(memberNames(), ", "), didYouMean(name, memberNames(), ""))
		}
		if _, twice := members[name]; twice {
			return nil, fail(at, "%q stands there twice", name)
		}
		valueAt := nextText(data, dec.InputOffset())
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, jsonError(path, data, err)
		}
		values, ok := s.read(value)
		if !ok {
			return nil, fail(valueAt, "%q must be %s", name, kindNames[s.kind])
		}
		members[name] = values
	}
	if _, err := dec.Token(); err != nil {
		return nil, jsonError(path, data, err)
	}
	at := nextText(data, dec.InputOffset())
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(at, "text after the end of the JSON document")
	}
	return members, nil
}

// read takes a value of the right JSON type.
func (s *setting) read(value any) ([]string, bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, s.kind == text
	case json.Number:
		return []string{v.String()}, s.kind == number
	case bool:
		return []string{fmt.Sprint(v)}, s.kind == boolean
	case []any:
		values := []string{}
		for _, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, false
			}
			values = append(values, text)
		}
		return values, s.kind == list
	}
	return nil, false
}

func findMember(name string) *setting {
	for i := range settings {
		if settings[i].member() == name {
			return &settings[i]
		}
	}
	return nil
}

func memberNames() []string {
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].member()
	}
	return names
}

// nextText is where the next text of a document begins.
func nextText(data []byte, from int64) int64 {
	for from < int64(len(data)) && strings.IndexByte(" \t\r\n,:", data[from]) >= 0 {
		from++
	}
	return from
}

// place names a position in a document for people.
func place(data []byte, offset int64) string {
	before := data[:min(offset, int64(len(data)))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	return fmt.Sprintf("line %d column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// jsonError says where a document is no JSON. err is what the reading said; the
// place is looked for anew, because a decoder tells it in two ways.
func jsonError(path string, data []byte, err error) error {
	var syntax *json.SyntaxError
	var v any
	switch found := json.Unmarshal(data, &v); {
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("%s: the document is empty", path)
	case errors.As(found, &syntax) && syntax.Offset < int64(len(data)):
		return fmt.Errorf("%s: %s: %s", path, place(data, syntax.Offset-1), strings.TrimPrefix(syntax.Error(), "json: "))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %s: the document ends in the middle", path, place(data, int64(len(data))))
	}
	return fmt.Errorf("%s: %w", path, err)
}
