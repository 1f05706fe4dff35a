package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// archive is a History and a store for capture.People in memory: the simplest implementation of
// these interfaces.
type archive struct {
	events   []capture.Record // of all projects, by ID
	persons  map[int64][]capture.StoredPerson
	groups   map[int64][]capture.Group
	types    map[int64][]string
	warnings map[int64][]capture.StoredWarning
	seen     []capture.SeenName
	failure  error

	erased   []erasure
	imported []capture.StoredPerson
	groupsIn []string
}

type erasure struct {
	project    int64
	id         capture.UUID
	withEvents bool
}

func (a *archive) Events(_ context.Context, project int64, q capture.EventQuery) (out []capture.Record, err error) {
	for _, r := range a.events {
		after := q.After == nil || r.Timestamp.Before(q.After.Timestamp) || r.Timestamp.Equal(q.After.Timestamp) && r.ID < q.After.ID
		if r.ProjectID == project && after && (q.From.IsZero() || !r.Timestamp.Before(q.From)) && (q.To.IsZero() || r.Timestamp.Before(q.To)) &&
			(q.Name == "" || q.Name == r.Name) && (q.DistinctIDs == nil || slices.Contains(q.DistinctIDs, r.DistinctID)) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(x, y capture.Record) int {
		return cmp.Or(y.Timestamp.Compare(x.Timestamp), cmp.Compare(y.ID, x.ID))
	})
	return out[:min(len(out), q.Limit)], a.failure
}

func (a *archive) Event(_ context.Context, project int64, id capture.UUID) (*capture.Record, error) {
	for i := range a.events {
		if a.events[i].ProjectID == project && a.events[i].UUID == id {
			return &a.events[i], nil
		}
	}
	return nil, a.failure
}

func (a *archive) Ledger(_ context.Context, project, after int64, limit int) (out []capture.Record, err error) {
	for _, r := range a.events {
		if r.ProjectID == project && r.ID > after && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, a.failure
}

func (a *archive) Recent(_ context.Context, project, after int64, limit int) (out capture.Recent, err error) {
	out.Position = after
	for _, r := range a.events {
		out.Position = max(out.Position, r.ID)
		if after >= 0 && r.ProjectID == project && r.ID > after {
			out.Events = append(out.Events, r)
		}
	}
	out.Remaining = int64(max(len(out.Events)-limit, 0))
	out.Events = out.Events[out.Remaining:]
	return out, a.failure
}

func (a *archive) People(_ context.Context, project int64, q capture.PersonQuery) (page []capture.StoredPerson, next int64, err error) {
	list := slices.Clone(a.persons[project])
	slices.SortFunc(list, func(x, y capture.StoredPerson) int { return cmp.Compare(y.ID, x.ID) })
	for i, p := range list {
		if q.After != 0 && p.ID >= q.After || q.Search != "" && !strings.Contains(strings.Join(p.DistinctIDs, " "), q.Search) || q.Match != nil && !q.Match(&p) {
			continue
		}
		if page = append(page, p); len(page) == q.Limit && i+1 < len(list) {
			return page, p.ID, a.failure
		}
	}
	return page, 0, a.failure
}

func (a *archive) find(project int64, is func(*capture.StoredPerson) bool) (*capture.StoredPerson, error) {
	for i := range a.persons[project] {
		if p := &a.persons[project][i]; is(p) {
			return p, a.failure
		}
	}
	return nil, a.failure
}

func (a *archive) PersonForDistinctID(_ context.Context, project int64, id string) (*capture.StoredPerson, error) {
	return a.find(project, func(p *capture.StoredPerson) bool { return slices.Contains(p.DistinctIDs, id) })
}

func (a *archive) PersonByUUID(_ context.Context, project int64, id capture.UUID) (*capture.StoredPerson, error) {
	return a.find(project, func(p *capture.StoredPerson) bool { return p.UUID == id })
}

func (a *archive) PersonByID(_ context.Context, project, id int64) (*capture.StoredPerson, error) {
	return a.find(project, func(p *capture.StoredPerson) bool { return p.ID == id })
}

func (a *archive) CountPeople(_ context.Context, project int64) (int64, error) {
	return int64(len(a.persons[project])), a.failure
}

func (a *archive) GroupTypes(_ context.Context, project int64) ([]string, error) {
	return a.types[project], a.failure
}

func (a *archive) Groups(_ context.Context, project int64, index int, after, search string, limit int) (page []capture.Group, next string, err error) {
	for i, g := range a.groups[project] { // by key
		if g.Type != index || g.Key <= after || !strings.Contains(g.Key, search) {
			continue
		}
		if page = append(page, g); len(page) == limit && i+1 < len(a.groups[project]) {
			return page, g.Key, a.failure
		}
	}
	return page, "", a.failure
}

func (a *archive) Group(_ context.Context, project int64, id capture.GroupID) (*capture.Group, error) {
	for _, g := range a.groups[project] {
		if g.GroupID == id {
			return &g, nil
		}
	}
	return nil, a.failure
}

func (a *archive) Warnings(_ context.Context, project int64, limit, offset int) ([]capture.StoredWarning, error) {
	list := a.warnings[project]
	from := min(offset, len(list))
	return list[from:min(from+limit, len(list))], a.failure
}

func (a *archive) SeenNames(_ context.Context, project int64, kind capture.SeenKind, limit, offset int) (out []capture.SeenName, err error) {
	for _, s := range a.seen {
		if s.ProjectID == project && s.Kind == kind {
			out = append(out, s)
		}
	}
	from := min(offset, len(out))
	return out[from:min(from+limit, len(out))], a.failure
}

func (a *archive) FlagCalls(context.Context, int64, string, int) ([]capture.FlagCalls, error) {
	return nil, a.failure
}

// Transact implements the store of capture.People.
func (a *archive) Transact(_ context.Context, project int64, work func(capture.Tx) error) error {
	return cmp.Or(work(archiveTx{archive: a, project: project}), a.failure)
}

// archiveTx is a transaction of an archive.
type archiveTx struct {
	capture.Tx // methods that the tests do not use
	archive    *archive
	project    int64
}

func (tx archiveTx) ErasePerson(project int64, id capture.UUID, withEvents bool) (bool, int64, error) {
	tx.archive.erased = append(tx.archive.erased, erasure{project, id, withEvents})
	return true, 0, nil
}

// duplicateID is a distinct id that belongs to another person.
const duplicateID = "taken"

func (tx archiveTx) People(_ int64, ids []string) ([]capture.Identity, error) {
	out := make([]capture.Identity, len(ids))
	if i := slices.Index(ids, duplicateID); i >= 0 {
		out[i].Person = &capture.Person{UUID: uuidOf(99)}
	}
	return out, nil
}

func (tx archiveTx) GroupTypes(project int64) ([]string, error) {
	return tx.archive.types[project], nil
}

func (tx archiveTx) Save(c *capture.Changes) error {
	for _, p := range c.Persons {
		stored := capture.StoredPerson{Person: *p.Person}
		for _, id := range c.IDs {
			stored.DistinctIDs = append(stored.DistinctIDs, id.DistinctID)
		}
		tx.archive.imported = append(tx.archive.imported, stored)
	}
	for _, g := range c.Groups {
		name := tx.archive.types[tx.project][g.Type]
		tx.archive.groupsIn = append(tx.archive.groupsIn, name+"/"+g.Key+" "+g.Properties.String())
	}
	return nil
}

var (
	_ capture.History    = (*archive)(nil)
	_ capture.Transactor = (*archive)(nil)
)

const archiveFile = `{"projects": [{"id": 1, "api_key": "phc_one", "flags": []}, {"id": 2, "api_key": "phc_two", "flags": []}]}`

// archiveKeys are the scopes of the keys of project 1.
var archiveKeys = map[string][]string{"phx_all": {"*"}, "phx_persons": {"person:read"}, "phx_write": {"person:write"}, "phx_none": {}}

// archiveServices are the management services with the keys for all archives.
var archiveServices = sync.OnceValues(func() (*rooms.Rooms, error) {
	s, err := sqlstore.Open(context.Background(), "sqlite::memory:", sqlstore.Config{})
	if err != nil {
		return nil, err
	}
	store := s.Management()
	err = store.Write(context.Background(), func(tx rooms.Tx) error {
		user := management.User{ID: 1, UUID: uuidOf(1).String(), Email: "ada@example.com"}
		data, err := json.Marshal(user)
		err = errors.Join(err,
			tx.PutOrganization(&management.OrganizationRecord{ID: officeOrg, Name: "A", CreatedAt: day(1)}),
			tx.PutProject(&management.ProjectRecord{ID: 1, Organization: officeOrg, Name: "One", APIKey: "phc_one", CreatedAt: day(1)}),
			tx.PutProject(&management.ProjectRecord{ID: 2, Organization: officeOrg, Name: "Two", APIKey: "phc_two", CreatedAt: day(1)}),
			tx.Put(&management.Record{Kind: "user", ID: user.UUID, Sort: fmt.Sprintf("%020d", user.ID), Unique: user.Email, Data: data}),
		)
		member, memberErr := json.Marshal(management.Membership{ID: uuidOf(2).String(), Organization: officeOrg, User: user.UUID, Level: management.Owner, Joined: management.NewStamp(day(1))})
		err = errors.Join(err, memberErr, tx.Put(&management.Record{Kind: "member", Parent: officeOrg, ID: user.UUID, Other: user.UUID, Sort: "1", Data: member}))
		for key, scopes := range archiveKeys {
			err = errors.Join(err, tx.PutKey(&management.KeyRecord{ID: key, Hash: management.HashKey(key), User: 1, Scopes: scopes, Projects: []int64{1}, CreatedAt: day(1)}))
		}
		return errors.Join(err, tx.PutKey(&management.KeyRecord{ID: "phs_one", Hash: management.HashKey("phs_one"), Secret: true, Projects: []int64{1}, CreatedAt: day(1)}))
	})
	if err != nil {
		return nil, err
	}
	return rooms.Open(rooms.Config{Store: brittleStore{store}})
})

// brittleStore returns an error for brokenKey.
type brittleStore struct{ rooms.Store }

func (s brittleStore) Read(ctx context.Context, work func(rooms.Tx) error) error {
	return s.Store.Read(ctx, func(tx rooms.Tx) error { return work(brittleTx{tx}) })
}

type brittleTx struct{ rooms.Tx }

func (tx brittleTx) Key(hash string) (*management.KeyRecord, error) {
	if hash == management.HashKey(brokenKey) {
		return nil, capture.ErrUnavailable
	}
	return tx.Tx.Key(hash)
}

func uuidOf(n byte) capture.UUID { return capture.UUID{0xa0, 15: n} }

func object(t testing.TB, text string) capture.Object {
	t.Helper()
	o, err := capture.ParseObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// day returns a time on the n-th of June 2025, with microseconds on even days.
func day(n int) time.Time {
	return time.Date(2025, 6, n, 10, 0, 0, (n+1)%2*123456000, time.UTC)
}

// newArchive returns an archive with three persons, four events and two groups in project 1, and
// one of each in project 2.
func newArchive(t testing.TB) *archive {
	person := func(id int64, properties string, identified bool, ids ...string) capture.StoredPerson {
		return capture.StoredPerson{ID: id, DistinctIDs: ids, Person: capture.Person{
			UUID: uuidOf(byte(id)), CreatedAt: day(int(id)), Identified: identified, Properties: object(t, properties)}}
	}
	record := func(id, project int64, name, distinctID string, sentAt time.Time, mode capture.PersonMode) capture.Record {
		return capture.Record{ID: id, ProjectID: project, UUID: uuidOf(byte(100 + id)), Name: name, DistinctID: distinctID,
			Properties: `{"n":1.0}`, Timestamp: sentAt, CreatedAt: day(20), PersonID: uuidOf(1), PersonCreatedAt: day(1), PersonProperties: `{"plan":"pro"}`, PersonMode: mode}
	}
	return &archive{
		persons: map[int64][]capture.StoredPerson{
			1: {
				person(1, `{"email":"ada@example.com","plan":"pro","seats":5}`, true, "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "ada"),
				person(2, `{"plan":"free","$browser":"Firefox"}`, false, "bob"),
				person(3, `{}`, false),
			},
			2: {person(9, `{"plan":"pro"}`, false, "ada")},
		},
		events: []capture.Record{
			record(1, 1, "first", "ada", day(4), capture.Full),
			record(2, 2, "foreign", "ada", day(4), capture.Full),
			record(3, 1, "second", "bob", day(3), capture.Propertyless),
			record(4, 1, "third", "ada", day(4), capture.Full),
			record(5, 1, "first", "bob", day(6), capture.Full),
		},
		types: map[int64][]string{1: {"company", "", "team"}, 2: {"company"}},
		groups: map[int64][]capture.Group{
			1: {{GroupID: capture.GroupID{Key: "acme"}, CreatedAt: day(1), Properties: object(t, `{"size":10}`)}, {GroupID: capture.GroupID{Key: "zinc & co"}, CreatedAt: day(2)}},
			2: {{GroupID: capture.GroupID{Key: "foreign"}}},
		},
		warnings: map[int64][]capture.StoredWarning{
			1: {
				{Warning: capture.Warning{Type: "event_too_large", DistinctID: "ada", EventUUID: uuidOf(7), Count: 3, At: day(5)}, First: day(4)},
				{Warning: capture.Warning{Type: "missing_event_name", Count: 1, At: day(3)}, First: day(3)},
			},
			2: {{Warning: capture.Warning{Type: "foreign"}}},
		},
		seen: []capture.SeenName{
			{ProjectID: 1, Kind: capture.SeenEvent, Name: "first", At: day(6)},
			{ProjectID: 1, Kind: capture.SeenEventProperty, Name: "$browser", Type: "String", At: day(6)},
			{ProjectID: 1, Kind: capture.SeenEventProperty, Name: "n", Type: "Numeric", At: day(6)},
			{ProjectID: 1, Kind: capture.SeenEventProperty, Name: "tree", At: day(6)},
			{ProjectID: 1, Kind: capture.SeenGroupProperty, Group: 0, Name: "size", Type: "Numeric", At: day(6)},
			{ProjectID: 1, Kind: capture.SeenGroupProperty, Group: 2, Name: "lead", Type: "String", At: day(6)},
			{ProjectID: 2, Kind: capture.SeenEventProperty, Name: "foreign", Type: "String", At: day(6)},
		},
	}
}

func (a *archive) handler(t testing.TB) http.Handler {
	t.Helper()
	w := newWorld(t, []byte(archiveFile))
	d, err := serving.NewDecider(serving.Config{Source: w, Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	services, err := archiveServices()
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Decider: d, Management: services, History: a, People: &capture.People{History: a, Transactor: a}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// read sends a request with the key that has all scopes in project 1.
func (a *archive) read(t testing.TB, path string, into any) {
	t.Helper()
	w := ask(a.handler(t), "GET", path, "", "Authorization", "Bearer phx_all")
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, w.Body)
	}
}

// refuses sends a request and checks that it returns an error.
func (a *archive) refuses(t testing.TB, method, path, body string, status int, detail string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	if headers == nil {
		headers = []string{"Authorization", "Bearer phx_all"}
	}
	w := ask(a.handler(t), method, path, body, headers...)
	problem := checkError(t, w, status)
	if got, _ := problem["detail"].(string); !strings.Contains(got, detail) {
		t.Errorf("%s %s: detail %q, want %q in it", method, path, got, detail)
	}
	return w
}
