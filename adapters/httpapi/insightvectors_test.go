package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/flags/wire"
)

// insightVectors is the specification's file (spec/insights.md §4).
type insightVectors struct {
	Fixtures map[string]json.RawMessage
	Cases    []insightCase
}

type insightCase struct {
	ID      string
	Project map[string]any
	Events  json.RawMessage
	Checks  []insightCheck
}

type insightCheck struct {
	Query, Expect json.RawMessage
	Status        int
	Steps         []insightStep
}

type insightStep struct {
	Method, Path string
	Body         json.RawMessage
	Status       int
	Key          *string
	Expect       json.RawMessage
	Save         map[string]string
	Wait         int
}

// insights.md §4. Every check is an HTTP request, with SQLite: on stores where nothing, half and all events
// are in segments.
func TestInsights_4_Vectors(t *testing.T) {
	for _, s := range sealings {
		t.Run(string(s), func(t *testing.T) { runInsightVectors(t, "sqlite::memory:", s, ".") })
	}
}

// The same with PostgreSQL, one case of each kind, where half of the events are in segments.
func TestInsights_4_VectorsPostgres(t *testing.T) {
	runInsightVectors(t, pgtest.PostgresMigrated(t, sqlstore.Open), halfSealed, `^(trends-01|funnel-01|retention-01|lifecycle-01|stickiness-01|events-01|actors-01|hogql-01|wire-01)$`)
}

func runInsightVectors(t *testing.T, database string, sealed sealing, only string) {
	data, err := os.ReadFile("../../testdata/spec/insights_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var f insightVectors
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	o := newOfficeSealed(t, database, sealed)
	o.clock.Store(time.Now().UnixMicro())
	pattern, ran := regexp.MustCompile(only), 0
	for i := range f.Cases {
		c := &f.Cases[i]
		if !pattern.MatchString(c.ID) {
			continue
		}
		var name string
		if json.Unmarshal(c.Events, &name) == nil {
			c.Events = f.Fixtures[name]
		}
		v := o.insightProject(t, c)
		for n, check := range c.Checks {
			name := fmt.Sprintf("%s/%d", c.ID, n)
			ran++
			t.Run(name, func(t *testing.T) {
				if fault := v.check(t, &check); fault != "" {
					t.Error(fault)
				}
			})
		}
	}
	if ran < 9 || only == "." && ran < 159 {
		t.Errorf("%d checks ran: is the file whole?", ran)
	}
	checkSealed(t, o.store, sealed)
}

// insightFixture is the project of a case, and the names that its steps have saved.
type insightFixture struct {
	*office
	key   string
	names map[string]any
}

// insightProject creates the project of a case, with its events.
func (o *office) insightProject(t *testing.T, c *insightCase) *insightFixture {
	t.Helper()
	v := &insightFixture{office: o, key: o.key(t, "owner"), names: map[string]any{}}
	body := map[string]any{"name": c.ID}
	setup := c.Project["setup"]
	for name, value := range c.Project {
		if name != "setup" {
			body[name] = value
		}
	}
	created := v.must(t, &insightStep{Method: "POST", Path: "/api/organizations/" + officeOrg + "/projects/", Body: wire.MustEncode(body), Status: 201})
	v.names["project"], v.names["token"] = created["id"], created["api_token"]
	var events [][]json.RawMessage
	if err := json.Unmarshal(c.Events, &events); err != nil {
		t.Fatal(err)
	}
	batch := []any{}
	for _, e := range events {
		properties := map[string]any{}
		if len(e) > 3 {
			if err := json.Unmarshal(e[3], &properties); err != nil {
				t.Fatal(err)
			}
		}
		properties["distinct_id"] = wire.Value(e[1])
		batch = append(batch, map[string]any{"event": e[0], "timestamp": e[2], "properties": properties})
	}
	for part := range slices.Chunk(batch, (len(batch)+2)/2) { // two commits
		empty := ""
		v.must(t, &insightStep{Method: "POST", Path: "/batch/", Key: &empty, Body: wire.MustEncode(map[string]any{"api_key": created["api_token"], "historical_migration": true, "batch": part}), Status: 200})
	}
	if setup != nil {
		var steps []insightStep
		if err := json.Unmarshal(wire.MustEncode(setup), &steps); err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			if fault := v.step(t, &steps[i]); fault != "" {
				t.Error(fault)
			}
		}
	}
	return v
}

func (v *insightFixture) must(t *testing.T, s *insightStep) map[string]any {
	t.Helper()
	status, answer := v.send(t, s)
	out, _ := answer.(map[string]any)
	if status != s.Status {
		t.Fatalf("%s %s: %d %v", s.Method, s.Path, status, answer)
	}
	return out
}

func (v *insightFixture) check(t *testing.T, c *insightCheck) string {
	steps := c.Steps
	if c.Query != nil {
		body := wire.MustEncode(map[string]any{"query": c.Query, "refresh": "force_blocking"})
		steps = []insightStep{{Method: "POST", Path: "/api/projects/{project}/query/", Body: body, Status: max(c.Status, 200), Expect: c.Expect}}
	}
	for i := range steps {
		if fault := v.step(t, &steps[i]); fault != "" {
			return fmt.Sprintf("step %d, %s %s: %s", i, steps[i].Method, steps[i].Path, fault)
		}
	}
	return ""
}

func (v *insightFixture) step(t *testing.T, s *insightStep) string {
	var wait time.Duration
	if s.Wait > 0 { // maximum on an idle machine, in seconds
		wait = max(time.Minute, time.Duration(s.Wait)*time.Second)
	}
	for end := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
		status, answer := v.send(t, s)
		fault := ""
		if s.Status != 0 && status != s.Status {
			fault = fmt.Sprintf("status %d, want %d: %.300s", status, s.Status, wire.MustEncode(answer))
		} else if s.Expect != nil {
			fault = mismatch("", v.filled(wire.Value(s.Expect)), answer)
		}
		if fault != "" && time.Now().Before(end) {
			continue
		}
		for name, path := range s.Save {
			found, _ := member(answer, "/"+strings.ReplaceAll(path, ".", "/"))
			v.names[name] = found
		}
		return fault
	}
}

// filled replaces saved names with their values.
func (v *insightFixture) filled(value any) any {
	switch value := value.(type) {
	case string:
		for name, saved := range v.names {
			if value == "{"+name+"}" {
				return saved
			}
			value = strings.ReplaceAll(value, "{"+name+"}", fmt.Sprint(saved))
		}
		return value
	case []any:
		for i := range value {
			value[i] = v.filled(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = v.filled(value[name])
		}
	}
	return value
}

func (v *insightFixture) send(t *testing.T, s *insightStep) (int, any) {
	t.Helper()
	v.clock.Add(1000)
	var body []byte
	if len(s.Body) > 0 {
		body = wire.MustEncode(v.filled(wire.Value(s.Body)))
	}
	req, err := http.NewRequest(s.Method, v.URL+v.filled(s.Path).(string), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	key := v.key
	if s.Key != nil {
		key, _ = v.filled(*s.Key).(string)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res := exchange(t, v.Client(), req)
	return res.Code, wire.Value(res.Body.Bytes())
}

// mismatch describes the difference between a response and the expected value, "" if they match.
func mismatch(path string, want, got any) string {
	wrong := func() string {
		return fmt.Sprintf("%s: got %.400s, want %.400s", path, wire.MustEncode(got), wire.MustEncode(want))
	}
	switch want := want.(type) {
	case map[string]any:
		for name, v := range want {
			if match := insightMatchers[name]; match != nil && len(want) == 1 {
				if !match(v, got) {
					return wrong()
				}
				return ""
			}
		}
		object, ok := got.(map[string]any)
		if !ok {
			return wrong()
		}
		for name, v := range want {
			if fault := mismatch(path+"."+name, v, object[name]); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return wrong()
		}
		for i := range want {
			if fault := mismatch(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); fault != "" {
				return fault
			}
		}
		return ""
	case json.Number:
		a, _ := want.Float64()
		if n, ok := got.(json.Number); ok {
			if b, _ := n.Float64(); math.Abs(a-b) <= 1e-6 {
				return ""
			}
		}
		return wrong()
	}
	if !reflect.DeepEqual(want, got) {
		return wrong()
	}
	return ""
}

// insightMatchers are the matchers of §4.
var insightMatchers map[string]func(want, got any) bool

func init() {
	like := func(want, got any) bool { return mismatch("", want, got) == "" }
	insightMatchers = map[string]func(want, got any) bool{
		"$any":    func(_, _ any) bool { return true },
		"$absent": func(_, got any) bool { return got == nil },
		"$len": func(want, got any) bool {
			list, ok := got.([]any)
			return ok && fmt.Sprint(len(list)) == fmt.Sprint(want)
		},
		"$contains": func(want, got any) bool {
			return strings.Contains(strings.ToLower(fmt.Sprint(got)), strings.ToLower(fmt.Sprint(want)))
		},
		"$has": func(want, got any) bool {
			list, _ := got.([]any)
			return slices.ContainsFunc(list, func(v any) bool { return like(want, v) })
		},
		"$re": func(want, got any) bool {
			text, ok := got.(string)
			return ok && regexp.MustCompile(want.(string)).MatchString(text)
		},
		"$oneof": func(want, got any) bool {
			return slices.ContainsFunc(want.([]any), func(v any) bool { return like(v, got) })
		},
		"$gte": func(want, got any) bool {
			a, errA := want.(json.Number).Float64()
			n, ok := got.(json.Number)
			if !ok {
				return false
			}
			b, errB := n.Float64()
			return errA == nil && errB == nil && b >= a
		},
		"$time": func(want, got any) bool {
			a, okA := instantOf(want)
			b, okB := instantOf(got)
			return okA && okB && a.Equal(b)
		},
		"$unordered": func(want, got any) bool {
			rest, _ := got.([]any)
			rest = slices.Clone(rest)
			for _, v := range want.([]any) {
				i := slices.IndexFunc(rest, func(g any) bool { return like(v, g) })
				if i < 0 {
					return false
				}
				rest = slices.Delete(rest, i, i+1)
			}
			return len(rest) == 0
		},
	}
}

func instantOf(v any) (time.Time, bool) {
	text, _ := v.(string)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
