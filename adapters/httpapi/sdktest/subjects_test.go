package sdktest

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// subject is the subject of an evaluation, in the form that a caller of an SDK passes.
type subject struct {
	Name            string                      `json:"name"`
	DistinctID      string                      `json:"distinct_id"`
	DeviceID        *string                     `json:"device_id"`
	Person          flags.Properties            `json:"person"`
	Groups          map[string]any              `json:"groups"` // string or number
	GroupProperties map[string]flags.Properties `json:"group_properties"`
}

func readSubjects(t testing.TB) []*subject {
	t.Helper()
	data, err := os.ReadFile("testdata/subjects.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var all []*subject
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		s.goNumbers()
	}
	return all
}

func (s *subject) goNumbers() {
	s.Person = goNumbers(s.Person).(flags.Properties)
	s.Groups = goNumbers(s.Groups).(map[string]any)
	for groupType, p := range s.GroupProperties {
		s.GroupProperties[groupType] = goNumbers(p).(flags.Properties)
	}
}

// goNumbers converts json.Number to int64 and float64, as in a Go program: a whole float64 would be
// sent as an integer and have a different text (§4.2).
func goNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			i, _ := strconv.ParseInt(string(v), 10, 64)
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k := range v {
			v[k] = goNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = goNumbers(v[i])
		}
	}
	return v
}

// groupKeys returns the group keys as strings (§7).
func (s *subject) groupKeys() map[string]string {
	out := map[string]string{}
	for groupType, key := range s.Groups {
		switch key := key.(type) {
		case string:
			out[groupType] = key
		case int64:
			out[groupType] = strconv.FormatInt(key, 10)
		}
	}
	return out
}

// subject returns the subject in the server's form.
func (s *subject) subject() *flags.Subject {
	out := &flags.Subject{DistinctID: s.DistinctID, Groups: s.groupKeys(), Person: s.Person, GroupProperties: s.GroupProperties}
	if s.DeviceID != nil {
		out.DeviceID = *s.DeviceID
	}
	return out
}
