package served

import (
	"bufio"
	"cmp"
	"crypto/sha1" // version 5 of UUIDs
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sent identifies an event.
type Sent struct {
	UUID, Event, DistinctID string
}

// Sorted returns the sorted events. The result is not nil.
func Sorted(list []Sent) []Sent {
	out := append([]Sent{}, list...)
	slices.SortFunc(out, func(a, b Sent) int { return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.UUID, b.UUID)) })
	return out
}

// Event is a stored event.
type Event struct {
	UUID       string
	Event      string
	DistinctID string `json:"distinct_id"`
	Properties map[string]any
	Timestamp  time.Time
	PersonID   string `json:"person_id"`
	PersonMode string `json:"person_mode"`
	Historical bool   `json:"historical_migration"`
	Person     *struct{ Properties map[string]any }
}

// Sent returns the identity of the event.
func (e *Event) Sent() Sent { return Sent{e.UUID, e.Event, e.DistinctID} }

// Person is a stored person.
type Person struct {
	UUID         string
	DistinctIDs  []string `json:"distinct_ids"`
	Properties   map[string]any
	CreatedAt    time.Time `json:"created_at"`
	IsIdentified bool      `json:"is_identified"`
}

// Group is a stored group.
type Group struct {
	Index      int            `json:"group_type_index"`
	Key        string         `json:"group_key"`
	Properties map[string]any `json:"group_properties"`
}

// Warning is a stored warning.
type Warning struct {
	Type       string
	DistinctID string `json:"distinct_id"`
	EventUUID  string `json:"event_uuid"`
	Detail     string
	Count      int
}

// Events returns the stored events that match a query, newest first. An empty query matches all
// events.
func (s *Server) Events(query string) []Event { return list[Event](s, "/events/", query) }

// SentEvents returns the identities of all stored events, sorted.
func (s *Server) SentEvents() []Sent {
	var out []Sent
	for _, e := range s.Events("") {
		out = append(out, e.Sent())
	}
	return Sorted(out)
}

// EventNamed returns the event with a name. The test fails unless there is exactly one.
func (s *Server) EventNamed(name string) Event {
	s.t.Helper()
	found := s.Events("event=" + name)
	if len(found) != 1 {
		s.t.Fatalf("%d events %q, want one", len(found), name)
	}
	return found[0]
}

// People returns the stored persons that match a query, newest first, each with its distinct ids
// sorted.
func (s *Server) People(query string) []Person {
	out := list[Person](s, "/persons/", query)
	for i := range out {
		slices.Sort(out[i].DistinctIDs)
	}
	return out
}

// PersonOf returns the person with a distinct id, or the zero Person if there is no such person.
func (s *Server) PersonOf(distinctID string) Person {
	s.t.Helper()
	for _, p := range s.People("distinct_id=" + distinctID) {
		return p
	}
	return Person{}
}

// Groups returns the stored groups of one type.
func (s *Server) Groups(index int) []Group {
	return list[Group](s, "/groups/", "group_type_index="+strconv.Itoa(index))
}

// GroupTypes returns the names of the group types, by index.
func (s *Server) GroupTypes() []string {
	s.t.Helper()
	var types []struct {
		Name  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	s.get(s.URL+"/api/projects/1/groups_types/", &types)
	names := make([]string, len(types))
	for i, t := range types {
		if t.Index != i {
			s.t.Errorf("group types %v", types)
		}
		names[i] = t.Name
	}
	return names
}

// Warnings returns all stored warnings.
func (s *Server) Warnings() []Warning { return list[Warning](s, "/ingestion_warnings/", "") }

// Metric returns the value of a counter of /metrics.
func (s *Server) Metric(name string) float64 {
	s.t.Helper()
	res, err := http.Get(s.URL + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for text := bufio.NewScanner(res.Body); text.Scan(); {
		if value, ok := strings.CutPrefix(text.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	s.t.Fatalf("there is no metric %s", name)
	return 0
}

// list reads all pages of a list.
func list[T any](s *Server, path, query string) []T {
	s.t.Helper()
	all := []T{}
	for next := s.URL + "/api/projects/1" + path + "?" + query; next != ""; {
		var page struct {
			Results []T
			Next    string
		}
		s.get(next, &page)
		all, next = append(all, page.Results...), page.Next
	}
	return all
}

func (s *Server) get(url string, into any) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+PersonalKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d, %v\n%s", url, res.StatusCode, err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		s.t.Fatalf("%s: %v in %s", url, err, body)
	}
}

// PersonUUID returns the uuid of a person of project 1 from the distinct id that created it:
// version 5 of the project and the id (§9.2).
func PersonUUID(distinctID string) string {
	namespace := []byte("\x93\x29\x79\xb4\x65\xc3\x44\x24\x84\x67\x0b\x66\xec\x27\xbc\x22")
	sum := sha1.Sum(append(namespace, "1:"+distinctID...))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
