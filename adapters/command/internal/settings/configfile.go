package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// parseConfigFile parses the config file: a JSON object with the settings as members. Its errors
// contain line and column.
func parseConfigFile(path string, data []byte) (map[string][]string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	fail := func(offset int64, format string, args ...any) error {
		return fmt.Errorf("%s: %s: %s", path, cli.Position(data, offset), fmt.Sprintf(format, args...))
	}
	first, err := dec.Token()
	if err != nil {
		return nil, cli.JSONError(path, data, err)
	}
	if first != json.Delim('{') {
		return nil, fail(0, "must be an object with settings as members")
	}
	members := map[string][]string{}
	for dec.More() {
		offset := cli.NextText(data, dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return nil, cli.JSONError(path, data, err)
		}
		name, _ := token.(string)
		s := findMember(name)
		if s == nil {
			return nil, fail(offset, "unknown setting %q; the settings are %s%s", name, strings.Join(memberNames(), ", "), cli.DidYouMean(name, memberNames(), ""))
		}
		if _, twice := members[name]; twice {
			return nil, fail(offset, "%q is given twice", name)
		}
		valueAt := cli.NextText(data, dec.InputOffset())
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, cli.JSONError(path, data, err)
		}
		values, ok := s.parse(value)
		if !ok {
			return nil, fail(valueAt, "%q must be %s", name, kindNames[s.Kind])
		}
		members[name] = values
	}
	if _, err := dec.Token(); err != nil {
		return nil, cli.JSONError(path, data, err)
	}
	offset := cli.NextText(data, dec.InputOffset())
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(offset, "text after the end of the JSON document")
	}
	return members, nil
}

// parse converts a value, and reports whether it has the setting's JSON type.
func (s *setting) parse(value any) ([]string, bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, s.Kind == text
	case json.Number:
		return []string{v.String()}, s.Kind == number
	case bool:
		return []string{fmt.Sprint(v)}, s.Kind == Boolean
	case []any:
		values := []string{}
		for _, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, false
			}
			values = append(values, text)
		}
		return values, s.Kind == list
	}
	return nil, false
}

func findMember(name string) *setting {
	i := slices.IndexFunc(All, func(s setting) bool { return s.member() == name })
	if i < 0 {
		return nil
	}
	return &All[i]
}

func memberNames() []string { return cli.Names(All, func(s setting) string { return s.member() }) }

// Variables returns the environment variables of all settings.
func Variables() []string { return cli.Names(All, func(s setting) string { return s.Env() }) }
