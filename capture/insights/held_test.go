package insights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
)

// largePeople is a Source whose persons have a megabyte of properties each, which every read
// generates again. It records the memory in use when events are read.
type largePeople struct {
	*memory
	held uint64
}

func (s *largePeople) Open(ctx context.Context, project int64) (port.Reader, error) {
	r, err := s.memory.Open(ctx, project)
	return &largeReader{r, s}, err
}

type largeReader struct {
	port.Reader
	of *largePeople
}

func (r *largeReader) Profiles(_ context.Context, _ []capture.UUID, yield func(*capture.StoredPerson) error) error {
	for i := range r.of.profiles {
		text := fmt.Sprintf(`{"plan":"p%d","about":"%s"}`, i%3, strings.Repeat("x", 1<<20))
		object, err := capture.ParseObject(text)
		if err != nil {
			return err
		}
		p := r.of.profiles[i]
		p.Properties = object
		if err := yield(&p); err != nil {
			return err
		}
	}
	return nil
}

func (r *largeReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.of.held = m.HeapAlloc
	return r.Reader.Scan(ctx, s, yield)
}

// A breakdown by a person property retains only this property, not all properties of the persons.
func TestBreakdown_HoldsOneProperty(t *testing.T) {
	var events []any
	for i := range 64 {
		events = append(events, []any{"view", fmt.Sprint("p", i), "2025-03-02T00:00:00Z", map[string]any{"$set": map[string]any{"a": 1}}})
	}
	source := &largePeople{memory: eventsOf(t, mustJSON(t, events))}
	q, err := Parse(json.RawMessage(ofViews("", `,"breakdownFilter":{"breakdown":"plan","breakdown_type":"person"},"modifiers":{"personsOnEventsMode":"person_id_override_properties_joined"}`+asTotal)), &port.Project{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, err := q.Run(t.Context(), source, port.Options{Now: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	var rows []any
	if err := json.Unmarshal(mustJSON(t, got.Results), &rows); err != nil || len(rows) != 3 {
		t.Errorf("%d rows (%v), want those of three plans", len(rows), err)
	}
	if held := int64(source.held) - int64(before.HeapAlloc); held > 16<<20 {
		t.Errorf("%d MiB are held of 64 people with a megabyte each", held>>20)
	}
}

// The strings of groups, and the rows of an actors query, are counted too.
func TestRun_TextsAreCounted(t *testing.T) {
	m := manyEvents(t)
	object, err := capture.ParseObject(`{"about":"` + strings.Repeat("x", 10_000) + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	m.groups = map[int][]capture.Group{}
	for i := range 300 {
		m.groups[0] = append(m.groups[0], capture.Group{GroupID: capture.GroupID{Key: fmt.Sprintf("company p%04d", i)}, Properties: object})
	}
	for _, query := range []string{
		`{"kind":"HogQLQuery","query":"SELECT length(group_0.properties) FROM events LIMIT 1"}`,
		`{"kind":"ActorsQuery","select":["id"],"limit":1,"source":{"kind":"HogQLQuery","query":"SELECT distinct_id AS id, properties.v FROM events WHERE event = 'view' LIMIT 3000"}}`,
	} {
		q, err := Parse(json.RawMessage(query), manyProject())
		if err != nil {
			t.Fatal(query, err)
		}
		var fault *port.Error
		if _, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), Memory: 1400 << 10}); !errors.As(err, &fault) || fault.Code != document.TooLarge {
			t.Errorf("%s: %v, want %s", query, err, document.TooLarge)
		}
	}
}

// Only the static cohorts that a cohort refers to are read.
func TestCohorts_OthersAreNotRead(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[["view","ann","2025-03-02T00:00:00Z",{"$set":{"plan":"pro"}}],["view","bob","2025-03-02T00:00:00Z",{"$set":{"plan":"free"}}]]`))
	m.members = map[int64][]capture.UUID{5: make([]capture.UUID, 100_000), 6: {m.owner["bob"]}}
	d, err := flags.ParseDefinitions([]byte(`{"flags":[],"cohorts":{"1":{"type":"AND","values":[{"type":"person","key":"plan","value":"pro"}]},
		"2":{"type":"OR","values":[{"type":"cohort","key":"id","value":1},{"type":"cohort","key":"id","value":6}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.StaticCohorts = []int64{5, 6}
	for id, want := range map[int]float64{1: 1, 2: 2} {
		q, err := Parse(json.RawMessage(ofViews("", fmt.Sprintf(`,"properties":[{"type":"cohort","key":"id","value":%d}]`, id)+asTotal)), &port.Project{ID: 1, Definitions: &d})
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), Memory: 1 << 20})
		if err != nil {
			t.Errorf("cohort %d: %v", id, err)
			continue
		}
		var rows []struct {
			N float64 `json:"aggregated_value"`
		}
		if err := json.Unmarshal(mustJSON(t, got.Results), &rows); err != nil || len(rows) != 1 || rows[0].N != want {
			t.Errorf("cohort %d: %+v (%v), want %g", id, rows, err, want)
		}
	}
}
