package capture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

// planCase is a case of testdata/capture/people.json.
type planCase struct {
	Name, Source string
	Before       planState
	Events       []planEvent
	planState
	Records  []planRecord
	Warnings map[WarningType]int64
	Calls    []planCall
	Seen     []planSeen
}

// planState is the stored state. Big adds a property "big" whose value has that length as
// JSON text.
type planState struct {
	People     []planPerson
	Personless []string
	Types      []string
	Groups     []planGroup
}

type planPerson struct {
	UUID, From, Created string
	IDs                 []string
	Version             int64
	Identified          bool
	Properties          json.RawMessage
	Big                 int
}

type planGroup struct {
	Type         int
	Key, Created string
	Properties   json.RawMessage
}

type planRecord struct {
	Mode, UUID, From, Created string
	PersonProperties          json.RawMessage `json:"person_properties"`
	Properties                *string
}

type planCall struct {
	Flag, Value, First, Last string
	Calls                    int64
}

type planSeen struct {
	Type     int
	Name, Is string
}

type planEvent struct {
	Event, ID, At string
	Other         *string
	Set           json.RawMessage
	SetOnce       json.RawMessage `json:"set_once"`
	Unset         []string
	Personless    bool
	Groups        [][2]string
	Group         *struct {
		Type, Key string
		Set       json.RawMessage
	}
	Flag       *[2]string
	Properties *string
	Big        int
}

var planKinds = map[string]eventKind{
	"$identify": identifyEvent, "$create_alias": aliasEvent, "$merge_dangerously": mergeDangerouslyEvent, "$set": setPropertiesEvent,
	"$groupidentify": groupIdentifyEvent, "$exception": untouchingEvent,
}

// planTime parses an hour and minute of 2026-01-01, or a complete time.
func planTime(t testing.TB, s string) time.Time {
	t.Helper()
	if len(s) == len("10:00") {
		s = "2026-01-01T" + s + ":00Z"
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func planObject(t testing.TB, raw json.RawMessage, big int) Object {
	t.Helper()
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	o, err := ParseObject(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i := range o {
		o[i].Value = planCompact(t, o[i].Value)
	}
	if big > 0 {
		o = NewObject(append(o, Member{"big", `"` + strings.Repeat("x", big-2) + `"`}))
	}
	return o
}

func planCompact(t testing.TB, value string) string {
	t.Helper()
	return strings.NewReplacer(": ", ":", ", ", ",").Replace(value)
}

func planUUID(n int) (u UUID) {
	u[14], u[15] = byte(n>>8), byte(n)
	return u
}

func (e *planEvent) event(t testing.TB, n int) Event {
	t.Helper()
	set, groupSet := e.Big, 0
	if e.Group != nil {
		set, groupSet = 0, e.Big
	}
	out := Event{
		UUID: planUUID(n), Name: e.Event, DistinctID: e.ID, Kind: planKinds[e.Event], Personless: e.Personless,
		Properties: "{}", Timestamp: planTime(t, e.At), ReceivedAt: planTime(t, "23:00"),
		Set: planObject(t, e.Set, set), SetOnce: planObject(t, e.SetOnce, 0), Unset: e.Unset,
	}
	if e.Properties != nil {
		out.Properties = *e.Properties
	}
	if e.Other != nil {
		out.Other, out.HasOther = *e.Other, true
	}
	for _, g := range e.Groups {
		out.Groups = append(out.Groups, GroupKey{g[0], g[1]})
	}
	if e.Group != nil {
		out.Group = &GroupUpdate{e.Group.Type, e.Group.Key, planObject(t, e.Group.Set, groupSet)}
	}
	if e.Flag != nil {
		out.Flag = &FlagCall{e.Flag[0], e.Flag[1]}
	}
	return out
}

// fill writes a state to a store; the store's snapshot is compared with it.
func (s *planState) fill(t testing.TB, into *planStore) {
	t.Helper()
	for _, w := range s.People {
		id := planOwner(t, w.UUID, w.From)
		into.persons[id] = Person{UUID: id, CreatedAt: planTime(t, w.Created), Properties: planObject(t, w.Properties, w.Big), Identified: w.Identified, Version: w.Version}
		for _, d := range w.IDs {
			into.ids[d] = id
		}
	}
	for _, d := range s.Personless {
		into.ids[d] = UUID{}
	}
	into.types = slices.Clone(s.Types)
	for _, g := range s.Groups {
		id := GroupID{g.Type, g.Key}
		into.groups[id] = Group{id, planTime(t, g.Created), planObject(t, g.Properties, 0)}
	}
}

func planOwner(t testing.TB, literal, from string) UUID {
	t.Helper()
	if literal == "" {
		return PersonID(1, from)
	}
	id, ok := wire.ParseUUID(literal)
	if !ok {
		t.Fatal("no uuid:", literal)
	}
	return id
}

func (c *planCase) check(t *testing.T, s *planStore) {
	t.Helper()
	want := newPlanStore(t)
	c.fill(t, want)
	if diff := gocmp.Diff(want.snapshot(), s.snapshot()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	warnings := map[WarningType]int64{}
	for _, w := range s.saved.Warnings {
		warnings[w.Type] += w.Count
	}
	if c.Warnings == nil {
		c.Warnings = map[WarningType]int64{}
	}
	if diff := gocmp.Diff(c.Warnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for i, w := range c.Records {
		r := s.saved.Events[i]
		got := fmt.Sprintln(r.PersonMode, r.PersonID, r.PersonCreatedAt)
		if want := fmt.Sprintln(w.Mode, planOwner(t, w.UUID, w.From), planTime(t, w.Created)); want != got {
			t.Errorf("record %d: got %s, want %s", i, got, want)
		}
		if w.PersonProperties != nil {
			if want := planObject(t, w.PersonProperties, 0).String(); r.PersonProperties != want {
				t.Errorf("record %d: person properties %s, want %s", i, r.PersonProperties, want)
			}
		}
		if w.Properties != nil && r.Properties != *w.Properties {
			t.Errorf("record %d: properties %s, want %s", i, r.Properties, *w.Properties)
		}
	}
}

// checkCounts checks counts that are only exact if all events are in one commit.
func (c *planCase) checkCounts(t *testing.T, s *planStore) {
	t.Helper()
	calls := s.saved.Calls
	slices.SortFunc(calls, func(a, b FlagCalls) int { return cmp.Or(cmp.Compare(a.Value, b.Value), a.First.Compare(b.First)) })
	var want []FlagCalls
	for _, f := range c.Calls {
		want = append(want, FlagCalls{1, FlagCall{f.Flag, f.Value}, f.Calls, planTime(t, f.First), planTime(t, f.Last)})
	}
	if diff := gocmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if c.Seen == nil {
		return
	}
	var seen []planSeen
	for _, n := range s.saved.Seen {
		if n.Kind != SeenGroupProperty || n.ProjectID != 1 || !n.At.Equal(planTime(t, "23:00")) {
			t.Errorf("seen: %+v", n)
		}
		seen = append(seen, planSeen{n.Group, n.Name, n.Type})
	}
	if diff := gocmp.Diff(c.Seen, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// TestCapture_People runs the cases of people.json, with all events in one commit and with
// every event in a separate commit.
func TestCapture_People(t *testing.T) {
	raw, err := os.ReadFile("../testdata/capture/people.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []planCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var events []Event
			for i := range c.Events {
				events = append(events, c.Events[i].event(t, i+1))
			}
			for _, size := range []int{len(events), 1} {
				s := newPlanStore(t)
				c.Before.fill(t, s)
				for part := range slices.Chunk(events, size) {
					s.commit(part)
				}
				c.check(t, s)
				if size == len(events) {
					c.checkCounts(t, s)
				}
			}
		})
	}
}
