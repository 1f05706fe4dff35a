package capture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// peopleBackend implements the dependencies of People in memory. It records sent events, and
// has the person ann and the group acme of the type company.
type peopleBackend struct {
	History
	groups map[GroupID]*Group
	sent   []Event
	erased []string
	saved  *Changes
	limits map[Resource]int64
}

func newPeopleBackend() *peopleBackend {
	return &peopleBackend{groups: map[GroupID]*Group{{Key: "acme"}: {GroupID: GroupID{Key: "acme"}, Properties: Object{{"size", "10"}}}}}
}

func (o *peopleBackend) Project(_ context.Context, token string) (Project, error) {
	if token != "phc_one" {
		return Project{}, ErrUnknownKey
	}
	return Project{ID: 1, APIKey: token, OrganizationID: "a", Limits: o.limits}, nil
}

func (o *peopleBackend) Append(_ context.Context, b *Batch) error {
	o.sent = append(o.sent, b.Events...)
	return nil
}

func (o *peopleBackend) Transact(_ context.Context, _ int64, work func(Tx) error) error {
	return work(peopleBackendTx{backend: o})
}

// peopleBackendTx is a transaction of a peopleBackend.
type peopleBackendTx struct {
	Tx
	backend *peopleBackend
}

func (o *peopleBackend) Group(_ context.Context, _ int64, id GroupID) (*Group, error) {
	return o.groups[id], nil
}

func (tx peopleBackendTx) Groups(_ int64, keys []GroupID) ([]*Group, error) {
	return []*Group{tx.backend.groups[keys[0]]}, nil
}

func (tx peopleBackendTx) People(_ int64, ids []string) ([]Identity, error) {
	out := make([]Identity, len(ids))
	for i, id := range ids {
		if slices.Contains(ann.DistinctIDs, id) {
			out[i].Person = &ann.Person
		}
	}
	return out, nil
}

func (tx peopleBackendTx) Save(c *Changes) error { tx.backend.saved = c; return nil }

func (tx peopleBackendTx) ErasePerson(_ int64, _ UUID, withEvents bool) (bool, int64, error) {
	tx.backend.erased = append(tx.backend.erased, map[bool]string{true: "person and events", false: "person"}[withEvents])
	return false, 0, nil
}

func (tx peopleBackendTx) EraseEvents(int64, UUID) (int64, error) {
	tx.backend.erased = append(tx.backend.erased, "events")
	return 0, nil
}

func eraseOne(ctx context.Context, p *People, withEvents bool) error {
	return p.Erase(ctx, 1, []UUID{{9}}, withEvents, func(UUID, int64) {})
}

func (o *peopleBackend) people(t *testing.T) *People {
	t.Helper()
	intake, err := NewIntake(IntakeConfig{Keys: o, Appender: o})
	if err != nil {
		t.Fatal(err)
	}
	return &People{History: o, Transactor: o, Intake: intake}
}

var (
	inOne = Project{ID: 1, APIKey: "phc_one"}
	ann   = &StoredPerson{Person: Person{UUID: UUID{1}}, DistinctIDs: []string{"0191-a-b-c-d", "ann", "ann@example.com"}}
)

// spec/management.md §5.3: changes of properties are recorded as the events that SDKs send
// for them, with the id that people have assigned, and the events are not located.
func TestManagement_5_3_ChangesAreEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*People) error
		check  func(e *Event) bool
	}{
		"set": {
			func(p *People) error { return p.SetPerson(t.Context(), inOne, ann, `{"plan":"<pro>"}`) },
			func(e *Event) bool {
				plan, ok := e.Set.Get("plan")
				return e.Name == "$set" && e.DistinctID == "ann" && ok && plan == `"<pro>"`
			},
		},
		"unset": {
			func(p *People) error { return p.UnsetPerson(t.Context(), inOne, ann, `a "b"`) },
			func(e *Event) bool {
				return e.Name == "$delete_person_property" && e.DistinctID == "ann" && slices.Equal(e.Unset, []string{`a "b"`})
			},
		},
		"group": {
			func(p *People) error {
				_, err := p.SetGroup(t.Context(), inOne, GroupID{Key: "acme"}, "company", `{"size":11}`)
				return err
			},
			func(e *Event) bool {
				return e.Name == "$groupidentify" && e.DistinctID == "$company_acme" && e.Personless && e.Group != nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newPeopleBackend()
			if err := tt.change(o.people(t)); err != nil {
				t.Fatal(err)
			}
			if len(o.sent) != 1 || !tt.check(&o.sent[0]) || !strings.Contains(o.sent[0].Properties, `"$geoip_disable":true`) {
				t.Errorf("sent %+v", o.sent)
			}
		})
	}
}

// An invalid change returns an error, and no event is sent or saved.
func TestPeople_InvalidInput(t *testing.T) {
	set := func(of *StoredPerson, key string) func(*People) error {
		return func(p *People) error { return p.SetPerson(t.Context(), Project{ID: 1, APIKey: key}, of, `{}`) }
	}
	for name, tt := range map[string]struct {
		change       func(*People) error
		attr, detail string
		is           error
	}{
		"nobody's ids": {set(&StoredPerson{}, "phc_one"), "", "The person has no distinct id.", nil},
		"no project":   {set(ann, "phc_two"), "", "", ErrUnknownKey},
		"an id of somebody else": {
			func(p *People) error { return p.Split(t.Context(), 1, ann, "bob") }, "main_distinct_id", "The person has no such distinct id.", nil,
		},
		"a group twice": {func(p *People) error {
			_, err := p.NewGroup(t.Context(), inOne, GroupID{Key: "acme"}, "company", `{}`)
			return err
		}, "detail", "A group with this key already exists", nil},
		"no such property": {func(p *People) error {
			_, err := p.UnsetGroup(t.Context(), 1, GroupID{Key: "acme"}, strings.Repeat("x", 70))
			return err
		}, "$unset", `The group has no property "` + strings.Repeat("x", 64) + `…".`, nil},
		"an import of nobody": {func(p *People) error { return p.Import(t.Context(), 1, StoredPerson{}) }, "uuid", "the person has no uuid", nil},
		"a group of no type":  {func(p *People) error { return p.ImportGroup(t.Context(), 1, "", Group{}) }, "group_type", "a group type must have 1 to 400 characters", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := newPeopleBackend()
			err := tt.change(o.people(t))
			var refusal *Refusal
			switch {
			case tt.is != nil && !errors.Is(err, tt.is), tt.is == nil && !errors.As(err, &refusal):
				t.Errorf("%v", err)
			case tt.is == nil && (refusal.Attr != tt.attr || refusal.Detail != tt.detail):
				t.Errorf("%q: %s", refusal.Attr, refusal.Detail)
			}
			if o.sent != nil || o.saved != nil {
				t.Errorf("sent %v, saved %v", o.sent, o.saved)
			}
		})
	}
}

func TestPeople_OverQuota(t *testing.T) {
	o := newPeopleBackend()
	o.limits = map[Resource]int64{ResourceEvents: 0}
	if err := o.people(t).SetPerson(t.Context(), inOne, ann, `{}`); !errors.Is(err, ErrOverQuota) {
		t.Errorf("%v", err)
	}
}

func TestPeople_NotConfigured(t *testing.T) {
	var p *People
	ctx := t.Context()
	_, made := p.NewGroup(ctx, inOne, GroupID{}, "", "")
	_, set := p.SetGroup(ctx, inOne, GroupID{}, "", "")
	_, unset := p.UnsetGroup(ctx, 1, GroupID{}, "")
	without := newPeopleBackend().people(t)
	without.Intake = nil
	for i, err := range []error{
		made, set, unset, eraseOne(ctx, p, true), errOf(p.EraseEvents(ctx, 1, UUID{})), p.Split(ctx, 1, ann, ""), p.SetPerson(ctx, inOne, ann, ""),
		p.UnsetPerson(ctx, inOne, ann, ""), p.Import(ctx, 1, StoredPerson{}), p.ImportGroup(ctx, 1, "", Group{}), without.SetPerson(ctx, inOne, ann, ""),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Decision 17: events are only deleted if requested, and an unknown person is not an error.
func TestDecision_17_Erase(t *testing.T) {
	o := newPeopleBackend()
	p := o.people(t)
	if err := errors.Join(eraseOne(t.Context(), p, false), eraseOne(t.Context(), p, true), errOf(p.EraseEvents(t.Context(), 1, UUID{9}))); err != nil {
		t.Error(err)
	}
	if diff := gocmp.Diff([]string{"person", "person and events", "events"}, o.erased); diff != "" {
		t.Error(diff)
	}
}

// spec/management.md §5.3: without a main id, the first of BestIDs stays with the person.
func TestManagement_5_3_SplitKeepsTheBestID(t *testing.T) {
	o := newPeopleBackend()
	if err := o.people(t).Split(t.Context(), 1, ann, ""); err != nil {
		t.Fatal(err)
	}
	var moved []string
	for _, id := range o.saved.IDs {
		moved = append(moved, id.DistinctID)
	}
	slices.Sort(moved)
	if diff := gocmp.Diff([]string{"0191-a-b-c-d", "ann@example.com"}, moved); diff != "" {
		t.Error(diff)
	}
}

// spec/management.md §5.3: the display names of persons.
func TestManagement_5_3_Names(t *testing.T) {
	for properties, want := range map[string]string{
		`{"name":"N","email":"e"}`:         "e",
		`{"email":"","Name":"N"}`:          "N",
		`{"email":null,"username":-7}`:     "-7",
		`{"email":true,"name":0.5}`:        "0.5",
		`{"email":{"a":1},"UserName":"u"}`: "u",
		`{"email":["x"],"other":"x"}`:      "ann",
		`{}`:                               "ann",
	} {
		o, err := ParseObject(properties)
		if err != nil {
			t.Fatal(err)
		}
		p := &StoredPerson{Person: Person{Properties: o}, DistinctIDs: ann.DistinctIDs}
		if got := p.Name(); got != want {
			t.Errorf("%s: %q, want %q", properties, got, want)
		}
	}
	if name := (&StoredPerson{}).Name(); name != "" {
		t.Errorf("nobody is called %q", name)
	}
}
