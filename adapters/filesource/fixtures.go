package filesource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// Keys of a file of fixtures without keys.
const (
	fixtureAPIKey      = "phc_test"
	fixtureSecretKey   = "phs_test"
	fixturePersonalKey = "phx_test"
)

// fixtures is a file with the values of flags, for tests. Each is true, false, a variant, or an
// object that may also have a payload and the values for single distinct ids.
type fixtures struct {
	APIKey      string             `json:"api_key"`
	SecretKey   string             `json:"secret_api_key"`
	PersonalKey string             `json:"personal_api_key"`
	Fixtures    map[string]fixture `json:"fixtures"`
}

// fixture is the value of a flag, and of single distinct ids in For.
type fixture struct {
	fixtureAnswer
	For map[string]fixtureAnswer `json:"for"`
}

// fixtureAnswer is a value (false, true or a variant), with the payload if the flag is on.
type fixtureAnswer struct {
	value   any
	payload json.RawMessage
}

// isFixtures reports whether a document is a file of fixtures.
func isFixtures(data []byte) bool {
	var members struct{ Fixtures, Projects, Flags json.RawMessage }
	return json.Unmarshal(data, &members) == nil && members.Fixtures != nil && members.Projects == nil && members.Flags == nil
}

// expandFixtures converts a file of fixtures to a definitions file with which /flags, SDKs with
// local evaluation and OFREP return these values. It returns other documents unchanged.
func expandFixtures(data []byte, apiKey string) ([]byte, error) {
	if !isFixtures(data) {
		return data, nil
	}
	f := fixtures{APIKey: apiKey}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("fixtures: %w", err)
	}
	type object = map[string]any
	list, ids := []object{}, map[uint32]string{}
	for _, key := range slices.Sorted(maps.Keys(f.Fixtures)) {
		filters, err := f.Fixtures[key].filters()
		if err != nil {
			return nil, fmt.Errorf("fixtures.%s: %w", key, err)
		}
		id := fixtureID(key)
		if other, used := ids[id]; used {
			return nil, fmt.Errorf("fixtures.%s: its id would be that of %s: choose another key", key, other)
		}
		ids[id] = key
		list = append(list, object{"id": id, "key": key, "active": true, "version": 1, "filters": filters})
	}
	return json.Marshal(object{
		"organization": object{"id": "00000000-0000-7000-8000-000000000001", "name": "Fixtures"},
		"projects": []object{{
			"id": 1, "name": "fixtures", "api_key": orElse(f.APIKey, fixtureAPIKey), "flags": list,
			"secret_api_keys":   []string{orElse(f.SecretKey, fixtureSecretKey)},
			"personal_api_keys": []object{{"key": orElse(f.PersonalKey, fixturePersonalKey), "scopes": []string{"*"}}},
		}},
	})
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// fixtureID returns the id of a flag, which depends only on its key, so that it does not change
// with the file.
func fixtureID(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32()&0x3FFFFFFF + 1
}

// UnmarshalJSON parses the short forms and the long one.
func (f *fixture) UnmarshalJSON(text []byte) error {
	var long struct {
		Value   json.RawMessage          `json:"value"`
		Payload json.RawMessage          `json:"payload"`
		For     map[string]fixtureAnswer `json:"for"`
	}
	if bytes.HasPrefix(text, []byte("{")) {
		if err := decodeStrict(text, &long); err != nil {
			return err
		}
		f.For = long.For
	} else {
		long.Value = text
	}
	return f.read(long.Value, long.Payload)
}

// UnmarshalJSON parses the forms of fixture without "for".
func (a *fixtureAnswer) UnmarshalJSON(text []byte) error {
	var long struct {
		Value   json.RawMessage `json:"value"`
		Payload json.RawMessage `json:"payload"`
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		long.Value = text
	} else if err := decodeStrict(text, &long); err != nil {
		return err
	}
	return a.read(long.Value, long.Payload)
}

func decodeStrict(text []byte, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(dst)
}

// read sets the value and the payload. Without a value, the flag is on if there is a payload.
func (a *fixtureAnswer) read(value, payload json.RawMessage) error {
	a.value, a.payload = payload != nil, payload
	if value != nil {
		if err := json.Unmarshal(value, &a.value); err != nil {
			return err
		}
	}
	switch v := a.value.(type) {
	case bool:
		if !v && payload != nil {
			return errors.New("a flag that is off has no payload")
		}
		return nil
	case string:
		if v != "" {
			return nil
		}
	}
	return fmt.Errorf("must be true, false, a variant, or an object with value, payload and for, not %s", value)
}

// filters returns the conditions of a flag with these values. Each condition forces its variant;
// the shares of the variants must add up to 100 but have no effect.
func (f fixture) filters() (map[string]any, error) {
	type object = map[string]any
	var variants []object
	groups, payloads := []object{}, map[string]string{}
	answer := func(a fixtureAnswer, operator string, ids []string) error {
		if a.value == false {
			return nil
		}
		group := object{"properties": []object{}, "rollout_percentage": 100}
		if len(ids) > 0 {
			group["properties"] = []object{{"key": "distinct_id", "type": "person", "operator": operator, "value": ids}}
		}
		name := "true"
		if variant, ok := a.value.(string); ok {
			name = variant
			group["variant"] = variant
			if !slices.ContainsFunc(variants, func(v object) bool { return v["key"] == variant }) {
				variants = append(variants, object{"key": variant, "rollout_percentage": 0})
				variants[0]["rollout_percentage"] = 100
			}
		}
		groups = append(groups, group)
		payload := string(a.payload)
		if before, ok := payloads[name]; ok && before != payload {
			return fmt.Errorf("the value %s has two payloads, %s and %s: a flag has one payload for each value", name, orElse(before, "none"), orElse(payload, "none"))
		}
		payloads[name] = payload
		return nil
	}
	ids, originals := slices.Sorted(maps.Keys(f.For)), map[string]string{}
	for _, id := range ids {
		lower := strings.ToLower(id) // conditions ignore case (flags.md §4.6)
		if other, used := originals[lower]; used || id == "" || lower == "true" || lower == "false" {
			return nil, fmt.Errorf("for: %q cannot be distinguished from %q: ids must differ in more than case, and must not be empty, true or false", id, orElse(other, "others"))
		}
		originals[lower] = id
		if err := answer(f.For[id], "exact", []string{id}); err != nil {
			return nil, err
		}
	}
	if err := answer(f.fixtureAnswer, "is_not", ids); err != nil {
		return nil, err
	}
	if variants != nil && slices.ContainsFunc(groups, func(g object) bool { return g["variant"] == nil }) {
		return nil, errors.New("it is true for some users and a variant for others: a flag with variants must be false or one of the variants")
	}
	maps.DeleteFunc(payloads, func(_, payload string) bool { return payload == "" })
	filters := object{"groups": groups, "payloads": payloads}
	if variants != nil {
		filters["multivariate"] = object{"variants": variants}
	}
	return filters, nil
}
