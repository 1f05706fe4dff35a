package insights

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// vectorFile is the specification's file of vectors (§4).
type vectorFile struct {
	Fixtures map[string]json.RawMessage
	Cases    []vectorCase
}

type vectorCase struct {
	ID      string
	Source  string
	Project struct {
		Timezone           string
		WeekStart          int             `json:"week_start_day"`
		TestAccountFilters json.RawMessage `json:"test_account_filters"`
		Setup              []any
	}
	Events json.RawMessage
	Checks []struct {
		Query  json.RawMessage
		Status int
		Expect json.RawMessage
		Steps  []any
	}
}

func readVectors(t testing.TB) *vectorFile {
	t.Helper()
	data, err := os.ReadFile("../../testdata/spec/insights_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return &f
}

// TestVectors runs the vectors' queries over events in memory. Vectors that are steps over HTTP run
// in adapters/httpapi.
func TestVectors(t *testing.T) {
	f := readVectors(t)
	ran := 0
	for _, c := range f.Cases {
		events := c.Events
		var name string
		if json.Unmarshal(events, &name) == nil {
			events = f.Fixtures[name]
		}
		for i, check := range c.Checks {
			if check.Query == nil || c.Project.Setup != nil {
				continue
			}
			ran++
			name := fmt.Sprintf("%s/%d", c.ID, i)
			t.Run(name, func(t *testing.T) {
				result, err := c.answer(t, eventsOf(t, events), check.Query)
				var fault *port.Error
				switch {
				case errors.As(err, &fault):
					result = map[string]any{"type": "validation_error", "code": fault.Code, "detail": fault.Detail, "attr": fault.Attr}
					if check.Status == 0 {
						t.Fatalf("query %s: %v", check.Query, err)
					}
				case err != nil:
					t.Fatal(err)
				case check.Status != 0 && check.Status != 200:
					t.Fatalf("query %s: answered, want status %d", check.Query, check.Status)
				}
				var want any
				if err := wire.Decode(check.Expect, &want); err != nil {
					t.Fatal(err)
				}
				if fault := findDifference("", want, result); fault != "" {
					t.Errorf("query %s\n%s", check.Query, fault)
				}
			})
		}
	}
	if ran < 100 {
		t.Errorf("%d checks ran, want at least 100: is the file whole?", ran)
	}
}

func (c *vectorCase) answer(t *testing.T, m *memory, query json.RawMessage) (map[string]any, error) {
	p := &port.Project{ID: 1, WeekStart: time.Weekday(c.Project.WeekStart), TestAccountFilters: c.Project.TestAccountFilters}
	if c.Project.Timezone != "" {
		zone, err := time.LoadLocation(c.Project.Timezone)
		if err != nil {
			t.Fatal(err)
		}
		p.Location = zone
	}
	q, err := Parse(query, p)
	if err != nil {
		return nil, err
	}
	got, err := q.Run(t.Context(), m, port.Options{Now: time.Now()})
	if err != nil {
		return nil, err
	}
	members := map[string]any{"results": got.Results, "hasMore": got.HasMore, "columns": got.Columns, "types": got.Types, "hogql": got.HogQL, "limit": got.Limit, "offset": got.Offset}
	for k, v := range got.Extra {
		members[k] = v
	}
	var out map[string]any
	if err := wire.Decode(wire.MustEncode(members), &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

// findDifference describes where a result differs from the expected one (§4), "" if it does not.
func findDifference(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		for name, v := range want {
			if strings.HasPrefix(name, "$") && len(want) == 1 && matchers[name] != nil {
				if !matchers[name](v, got) {
					return fmt.Sprintf("%s: got %s, want %s %s", path, wire.MustEncode(got), name, wire.MustEncode(v))
				}
				return ""
			}
		}
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: got %s, want an object", path, wire.MustEncode(got))
		}
		for name, v := range want {
			if fault := findDifference(path+"."+name, v, object[name]); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s: got %s, want %s", path, wire.MustEncode(got), wire.MustEncode(want))
		}
		for i := range want {
			if fault := findDifference(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); fault != "" {
				return fault
			}
		}
		return ""
	case json.Number:
		w, _ := want.Float64()
		if n, ok := got.(json.Number); ok {
			if g, _ := n.Float64(); math.Abs(g-w) <= 1e-6*max(1, math.Abs(w)) {
				return ""
			}
		}
	default:
		if reflect.DeepEqual(want, got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %s, want %s", path, wire.MustEncode(got), wire.MustEncode(want))
}

var matchers map[string]func(want, got any) bool

func init() {
	matchers = map[string]func(want, got any) bool{
		"$any": func(_, _ any) bool { return true },
		"$len": func(want, got any) bool {
			list, ok := got.([]any)
			return ok && findDifference("", want, json.Number(fmt.Sprint(len(list)))) == ""
		},
		"$contains": func(want, got any) bool {
			text, ok := got.(string)
			return ok && strings.Contains(strings.ToLower(text), strings.ToLower(want.(string)))
		},
		"$has": func(want, got any) bool {
			list, _ := got.([]any)
			for _, v := range list {
				if findDifference("", want, v) == "" {
					return true
				}
			}
			return false
		},
		"$re": func(want, got any) bool {
			text, ok := got.(string)
			return ok && regexp.MustCompile(want.(string)).MatchString(text)
		},
		"$time": func(want, got any) bool { return sameInstant(want, got) },
		"$oneof": func(want, got any) bool {
			for _, w := range want.([]any) {
				if findDifference("", w, got) == "" {
					return true
				}
			}
			return false
		},
		"$gte": func(want, got any) bool {
			w, _ := want.(json.Number).Float64()
			n, ok := got.(json.Number)
			g, _ := n.Float64()
			return ok && g >= w
		},
		"$absent": func(_, got any) bool { return got == nil },
		"$unordered": func(want, got any) bool {
			remaining, ok := got.([]any)
			remaining = append([]any{}, remaining...)
			for _, w := range want.([]any) {
				found := -1
				for i, g := range remaining {
					if findDifference("", w, g) == "" {
						found = i
						break
					}
				}
				if found < 0 {
					return false
				}
				remaining = append(remaining[:found], remaining[found+1:]...)
			}
			return ok && len(remaining) == 0
		},
	}
}

// sameInstant compares instants of any form (§4).
func sameInstant(want, got any) bool {
	w, okW := anyInstant(want)
	g, okG := anyInstant(got)
	return okW && okG && g.Equal(w)
}

func anyInstant(v any) (time.Time, bool) {
	text, _ := v.(string)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
