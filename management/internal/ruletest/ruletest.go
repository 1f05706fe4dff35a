// Package ruletest asks a room of management what a table says, and holds the
// answers against it. What is expected stands in a specification.
package ruletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The places of a World. Theirs are those of an organization in which only dan is.
const (
	Organization      = "0191f0a2-5b1c-7d3e-8f40-00000000000a"
	TheirOrganization = "0191f0a2-5b1c-7d3e-8f40-00000000000b"

	userUUID, madeUUID = "0191f0a2-5b1c-7d3e-8f40-1000%08d", "0191f0a2-5b1c-7d3e-8f40-2000%08d"
	owner, member      = management.Owner, management.Member
)

// Project is of Organization, TheirProject of TheirOrganization.
const (
	Project      int64 = 1
	TheirProject int64 = 2
)

// Start is when a World begins.
var Start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// World is all rooms with people in them. ann owns the organization, gus
// administers it; bob and cyd are members who work in its project, eve is one who may
// not; fay is inactive.
type World struct {
	*rooms.Rooms
	Store rooms.Store
	// Clock is what the rooms' clock shows.
	Clock time.Time
	// Keys are keys by name, for rows whose caller has one that does not open everything.
	Keys   map[string]management.KeyRecord
	lastID int
}

// New makes a World in an empty store. with may set what else the rooms stand on.
func New(t testing.TB, store rooms.Store, options ...func(*rooms.Config)) *World {
	t.Helper()
	w := &World{Clock: Start, Store: store, Keys: map[string]management.KeyRecord{}}
	c := rooms.Config{
		Store: store, Now: func() time.Time { return w.Clock }, NewID: func() string { w.lastID++; return fmt.Sprintf(madeUUID, w.lastID) },
	}
	for _, option := range options {
		option(&c)
	}
	var err error
	w.Rooms, err = rooms.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Write(t.Context(), func(tx rooms.Tx) error {
		meta := management.Encode(management.ProjectMeta{Default: management.MemberAccess, Members: map[string]management.AccessLevel{UUID("eve"): management.NoAccess}})
		failed := errors.Join(
			tx.PutOrganization(&management.OrganizationRecord{ID: Organization, Name: "Ours", CreatedAt: Start}),
			tx.PutOrganization(&management.OrganizationRecord{ID: TheirOrganization, Name: "Theirs", CreatedAt: Start}),
			tx.PutProject(&management.ProjectRecord{ID: Project, Organization: Organization, Name: "P", APIKey: "phc_ours", CreatedAt: Start, Meta: meta}),
			tx.PutProject(&management.ProjectRecord{ID: TheirProject, Organization: TheirOrganization, Name: "T", APIKey: "phc_theirs", CreatedAt: Start}),
		)
		for i, name := range people {
			id, err := tx.Next(management.KindUser) // 1 and so on: whoever is new is the next
			u := management.User{ID: id, UUID: UUID(name), FirstName: name, Email: name + "@example.com", Inactive: name == "fay"}
			m := management.Membership{ID: fmt.Sprintf(madeUUID, 90000+i), Organization: Organization, User: u.UUID, Level: member, Joined: management.NewStamp(Start)}
			switch name {
			case "ann":
				m.Level = owner
			case "gus":
				m.Level = management.Admin
			case "dan":
				m.Organization, m.Level = TheirOrganization, owner
			}
			failed = errors.Join(failed, err, management.PutUser(tx, &u), management.PutMembership(tx, &m))
		}
		return failed
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// InZone sets the time zone of Project.
func (w *World) InZone(t testing.TB, name string) {
	t.Helper()
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(Project)
		if err != nil {
			return err
		}
		p.Settings = map[string]json.RawMessage{"timezone": management.Encode(name)}
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
}

var people = []string{"ann", "bob", "cyd", "dan", "eve", "fay", "gus"}

// UUID is that of somebody.
func UUID(name string) string {
	for i, person := range people {
		if person == name {
			return fmt.Sprintf(userUUID, i+1)
		}
	}
	panic("nobody is called " + name)
}

// Scope is somebody in the project where they work, as it is now. name may have one
// of Keys behind a slash: without it the key opens everything. Nobody, "-", is nil.
func (w *World) Scope(t testing.TB, name string) *management.Scope {
	t.Helper()
	if name == "-" {
		return nil
	}
	name, keyName, hasKey := strings.Cut(name, "/")
	key, ok := w.Keys[keyName]
	if hasKey && !ok {
		t.Fatalf("no key is called %q", keyName)
	}
	var scope *management.Scope
	project := Project
	if name == "dan" {
		project = TheirProject
	}
	err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
		u, err := management.UserByUUID(tx, UUID(name))
		if err != nil {
			return err
		}
		c, err := management.CallerFor(tx, u)
		if err != nil {
			return err
		}
		c.Key, scope = &key, c.GlobalScope()
		p, err := tx.Project(project)
		if err == nil && p != nil { // else its owner has closed it
			scope, err = management.NewScope(tx, c, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Body is a body of JSON, an object without members where nothing is sent.
func Body(t testing.TB, text string) (b management.Body) {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	var err error
	switch kind := management.JSONKind(json.RawMessage(text)); kind {
	case "dict":
		err = json.Unmarshal([]byte(text), &b.Members)
	case "list":
		b.IsArray, err = true, json.Unmarshal([]byte(text), &b.Array)
	default:
		b.Other = kind
	}
	if err != nil {
		t.Fatalf("the body %s: %v", text, err)
	}
	return b
}

// Read reads what a row says of a query.
func Read(t testing.TB, text string, target any) {
	t.Helper()
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		t.Fatalf("the query %s: %v", text, err)
	}
}

// List is a list as the API shows it.
func List[T any](l management.List[T], err error) (any, error) {
	count, results := l.Counted()
	return map[string]any{"count": count, "results": results}, err
}

// Row is a request and its answer: the clause that says so; who asks; a name of Calls
// and what stands in the path; the body; and what is wanted. That is a JSON value whose
// members are among those of the answer, "(absent)" for one that is not there, "(like) "
// and a pattern for a text that is not known before; or an error as status, code, field
// (- for none) and, unless any will do, the message; any code or field will do where it
// is *.
// Rows of a table follow one another: <name> is the id of what was answered last under
// that name. A call that ends with "=> it" calls its answer so: <it> is its id,
// <it.member> another one of its members.
//
// Every World answers two names more: "wait 24h" lets time pass, and "log Scope item"
// is the newest line of the log of changes, null where there is none; "log organization
// Scope item" that of the organization instead of the project.
type Row [5]string

// Each are rows that ask the same with other bodies: each case is a body and what is
// wanted.
func Each(clause, user, call string, cases ...[2]string) []Row {
	out := make([]Row, len(cases))
	for i, c := range cases {
		out[i] = Row{clause, user, call, c[0], c[1]}
	}
	return out
}

// Calls are what can be asked, by name. path is what stands behind the name.
type Calls map[string]func(scope *management.Scope, path, body string) (any, error)

// Run asks what rows say, in order.
func (w *World) Run(t *testing.T, calls Calls, rows []Row) {
	t.Helper()
	w.run(t, calls, rows, func(call func() (any, error)) (any, error) { return call() })
}

// RunFaulty asks what rows say, in order, of a store that fails. fail makes it fail at
// the call after some that go well, below 0 never, and tells whether it has failed since
// then. A row is asked until it needs no more calls: until then it has to end with the
// fault, and to leave everything as it was.
func (w *World) RunFaulty(t *testing.T, calls Calls, rows []Row, fault error, fail func(after int) bool) {
	t.Helper()
	w.run(t, calls, rows, func(call func() (any, error)) (any, error) {
		defer fail(-1)
		for after := 0; ; after++ {
			fail(after)
			got, err := call()
			switch failed := fail(-1); {
			case !failed:
				return got, err
			case !errors.Is(err, fault):
				return nil, fmt.Errorf("the store has failed at call %d, but this comes of it: %.300s, %v", after, management.Encode(got), err)
			}
		}
	})
}

func (w *World) run(t *testing.T, calls Calls, rows []Row, invoke func(call func() (any, error)) (any, error)) {
	t.Helper()
	names := map[string]string{}
	for i, row := range rows {
		for j := range row {
			row[j] = expandPlaceholders(row[j], names)
		}
		clause, user, body, want := row[0], row[1], row[3], row[4]
		request, label, _ := strings.Cut(row[2], " => ")
		name, path, _ := strings.Cut(request, " ")
		call := calls[name]
		if call == nil {
			call = w.builtinCall(t, name)
		}
		if call == nil {
			t.Fatalf("row %d: nothing is called %q", i, name)
		}
		w.Clock = w.Clock.Add(time.Second)
		scope := w.Scope(t, user)
		got, err := invoke(func() (any, error) { return call(scope, path, body) })
		if problem := diffAnswer(want, got, err); problem != "" {
			t.Errorf("row %d, %s: %s %s %s: %.1000s", i, clause, user, request, body, problem)
		}
		if err == nil {
			rememberNames(names, label, got)
		}
	}
}

var placeholder = regexp.MustCompile(`<[^<>]+>`)

// expandPlaceholders puts what is known into the places of a text; others stay.
func expandPlaceholders(text string, names map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := names[strings.Trim(name, "<>")]; ok {
			return value
		}
		return name
	})
}

// rememberNames keeps what later rows may say of an answer.
func rememberNames(names map[string]string, label string, got any) {
	var identity struct {
		ID   json.RawMessage
		Name string
	}
	text := management.Encode(got)
	if json.Unmarshal(text, &identity) == nil && identity.ID != nil && identity.Name != "" {
		names[identity.Name] = strings.Trim(string(identity.ID), `"`)
	}
	if label == "" {
		return
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // what is no object has none
	for name, raw := range members {
		value := string(raw)
		_ = json.Unmarshal(raw, &value) // what is no text stays as it is
		if names[label+"."+name] = value; name == "id" {
			names[label] = value
		}
	}
}

// builtinCall are the calls that every World answers, nil for another name.
func (w *World) builtinCall(t *testing.T, name string) func(scope *management.Scope, path, body string) (any, error) {
	switch name {
	case "wait":
		return func(_ *management.Scope, path, _ string) (any, error) {
			d, err := time.ParseDuration(path)
			w.Clock = w.Clock.Add(d)
			return nil, err
		}
	case "log":
		return func(scope *management.Scope, path, _ string) (any, error) {
			path, outside := strings.CutPrefix(path, "organization ")
			if outside {
				scope.Project = nil
			}
			activityScope, item, _ := strings.Cut(path, " ")
			page, err := w.ActivityLog(t.Context(), scope, management.ActivityQuery{Scopes: []string{activityScope}, Item: item, Limit: 1, Page: 1})
			if err != nil || len(page.Results) == 0 {
				return nil, err
			}
			return page.Results[0], nil
		}
	}
	return nil
}

// statuses are the kinds of errors as §2.2 numbers them.
var statuses = map[management.Kind]int{
	management.Invalid: 400, management.Unauthenticated: 401, management.Forbidden: 403, management.NotFound: 404,
	management.Conflict: 409, management.Unavailable: 503, management.TooMany: 429,
}
