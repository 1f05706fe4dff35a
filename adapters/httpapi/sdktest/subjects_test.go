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

// subject is whom the flags are asked for, as a caller of an SDK would say it.
type subject struct {
	Name            string                      `json:"name"`
	DistinctID      string                      `json:"distinct_id"`
	DeviceID        *string                     `json:"device_id"`
	Person          flags.Properties            `json:"person"`
	Groups          map[string]any              `json:"groups"` // text or number
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

// goNumbers turns json.Number into int64 and float64, as a Go program has them:
// a whole float64 would travel as an integer and mean another text (§4.2).
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

// groupKeys are the groups as texts (§7).
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

// subject is the question as the server understands it.
func (s *subject) subject() *flags.Subject {
	out := &flags.Subject{DistinctID: s.DistinctID, Groups: s.groupKeys(), Person: s.Person, GroupProperties: s.GroupProperties}
	if s.DeviceID != nil {
		out.DeviceID = *s.DeviceID
	}
	return out
}
