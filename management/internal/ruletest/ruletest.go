// Package ruletest runs tables of requests against the management packages and compares the
// responses with the expected ones, which are those of a specification.
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
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The organizations of a World. dan is the only member of TheirOrganization.
const (
	Organization      = "0191f0a2-5b1c-7d3e-8f40-00000000000a"
	TheirOrganization = "0191f0a2-5b1c-7d3e-8f40-00000000000b"

	// The patterns of the uuids of users, and of the ids that the World's NewID returns.
	userIDPattern, newIDPattern = "0191f0a2-5b1c-7d3e-8f40-1000%08d", "0191f0a2-5b1c-7d3e-8f40-2000%08d"
	owner, member               = management.Owner, management.Member
)

// Project belongs to Organization, TheirProject to TheirOrganization.
const (
	Project      int64 = 1
	TheirProject int64 = 2
)

// Start is the initial time of a World's clock.
var Start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// World has all services and some users. ann owns Organization, gus administers it; bob and cyd are
// members with access to its project, eve is a member without access, and fay is inactive. A World
// must not be used concurrently.
type World struct {
	*rooms.Rooms
	Store rooms.Store
	// Clock is the current time of the services.
	Clock time.Time
	// Keys are keys by name, for rows with a restricted key.
	Keys   map[string]management.KeyRecord
	lastID int
}

// New creates a World in an empty store. options may set other fields of the configuration.
func New(t testing.TB, store rooms.Store, options ...func(*rooms.Config)) *World {
	t.Helper()
	w := &World{Clock: Start, Store: store, Keys: map[string]management.KeyRecord{}}
	c := rooms.Config{
		Store: store, Now: func() time.Time { return w.Clock }, NewID: func() string { w.lastID++; return fmt.Sprintf(newIDPattern, w.lastID) },
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
		meta := storage.Encode(management.ProjectMeta{Default: management.MemberAccess, Members: map[string]management.AccessLevel{UUID("eve"): management.NoAccess}})
		failed := errors.Join(
			tx.PutOrganization(&management.OrganizationRecord{ID: Organization, Name: "Ours", CreatedAt: Start}),
			tx.PutOrganization(&management.OrganizationRecord{ID: TheirOrganization, Name: "Theirs", CreatedAt: Start}),
			tx.PutProject(&management.ProjectRecord{ID: Project, Organization: Organization, Name: "P", APIKey: "phc_ours", CreatedAt: Start, Meta: meta}),
			tx.PutProject(&management.ProjectRecord{ID: TheirProject, Organization: TheirOrganization, Name: "T", APIKey: "phc_theirs", CreatedAt: Start}),
		)
		for i, name := range people {
			id, err := tx.Next(storage.KindUser) // 1, 2 and so on: new users continue the sequence
			u := management.User{ID: id, UUID: UUID(name), FirstName: name, Email: name + "@example.com", Inactive: name == "fay"}
			m := management.Membership{ID: fmt.Sprintf(newIDPattern, 90000+i), Organization: Organization, User: u.UUID, Level: member, Joined: management.NewStamp(Start)}
			switch name {
			case "ann":
				m.Level = owner
			case "gus":
				m.Level = management.Admin
			case "dan":
				m.Organization, m.Level = TheirOrganization, owner
			}
			failed = errors.Join(failed, err, records.PutUser(tx, &u), records.PutMembership(tx, &m))
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
		p.Settings = map[string]json.RawMessage{"timezone": storage.Encode(name)}
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// people are the users of a World, in the order of their numbers.
var people = []string{"ann", "bob", "cyd", "dan", "eve", "fay", "gus"}

// UUID returns the uuid of a user by name. It panics if there is no such user.
func UUID(name string) string {
	for i, person := range people {
		if person == name {
			return fmt.Sprintf(userIDPattern, i+1)
		}
	}
	panic("nobody is called " + name)
}

// Scope returns the current scope of a user in the project of the user's organization. name may end
// with a slash and the name of one of Keys; otherwise the key is unrestricted. The scope of "-" is
// nil.
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
		if err == nil && p != nil { // otherwise its owner has deleted it
			scope, err = management.NewScope(tx, c, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Body returns the body of a JSON document, by default an object without members.
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

// Read decodes the JSON of a query into target, which stays unchanged if text is empty.
func Read(t testing.TB, text string, target any) {
	t.Helper()
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		t.Fatalf("the query %s: %v", text, err)
	}
}

// List returns a list in the form of the API.
func List[T any](l management.List[T], err error) (any, error) {
	count, results := l.Counted()
	return map[string]any{"count": count, "results": results}, err
}

// Row is a request with its expected response. The elements are: the clause of the specification;
// the user (World.Scope); the name of one of Calls with an optional path; the body; and the
// expected response. For example:
//
//	{"§4.1 required", "bob", "create", `{}`, `400 required key This field is required.`},
//	{"§4.1", "bob", "create => it", `{"key":"f"}`, `{"key":"f","active":true}`},
//	{"§4.1", "bob", "get <it>", ``, `{"id":"(like) ^[0-9]+$","filters":"(absent)"}`},
//	{"§5.11", "ann", "log FeatureFlag <it>", ``, `{"activity":"created"}`},
//
// An expected response is a JSON value whose members must be in the response. "(absent)" stands for
// a member that must not exist, and "(like) " with a pattern for a string that must match. An
// expected error is its status, code, field (- if it has no field) and message, of which a prefix
// is enough; * matches any code or field.
//
// The rows of a table run in order in one World. <name> is replaced by the id of the last response
// with that name. A call that ends with "=> it" names its response: <it> is its id, and <it.member>
// another member.
//
// Every World has two more calls: "wait 24h" advances the clock, and "log Scope item" returns the
// newest line of the log of changes, or null; "log organization Scope item" reads the log of the
// organization instead of the project's.
type Row [5]string

// Each returns rows of the same call with different bodies: each case is a body and the expected
// response.
func Each(clause, user, call string, cases ...[2]string) []Row {
	out := make([]Row, len(cases))
	for i, c := range cases {
		out[i] = Row{clause, user, call, c[0], c[1]}
	}
	return out
}

// Calls are the calls of a table, by name. path is the rest of the row's call after the name.
type Calls map[string]func(scope *management.Scope, path, body string) (any, error)

// Run runs rows in order and reports each difference as an error of t.
func (w *World) Run(t *testing.T, calls Calls, rows []Row) {
	t.Helper()
	w.run(t, calls, rows, func(call func() (any, error)) (any, error) { return call() })
}

// RunFaulty runs rows in order with a failing store. fail(n) lets n calls of the store succeed and
// the next one fail, or none if n is negative, and reports whether a call has failed since. Each
// row is repeated with increasing n until it succeeds without a failure. Before that it must return
// fault and leave the store unchanged.
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
				return nil, fmt.Errorf("the store has failed at call %d, but this comes of it: %.300s, %v", after, storage.Encode(got), err)
			}
		}
	})
}

// run runs rows in order. invoke calls a row's function, in Run directly, in RunFaulty repeatedly.
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
		// Each row has a time of its own, so that lists have a definite order.
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

// expandPlaceholders replaces <name> by its value; unknown names stay.
func expandPlaceholders(text string, names map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := names[strings.Trim(name, "<>")]; ok {
			return value
		}
		return name
	})
}

// rememberNames stores the values of a response that later rows may use: the id under the
// response's own name, and all members under label.
func rememberNames(names map[string]string, label string, got any) {
	var identity struct {
		ID   json.RawMessage
		Name string
	}
	text := storage.Encode(got)
	if json.Unmarshal(text, &identity) == nil && identity.ID != nil && identity.Name != "" {
		names[identity.Name] = strings.Trim(string(identity.ID), `"`)
	}
	if label == "" {
		return
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // on failure there are no members
	for name, raw := range members {
		value := string(raw)
		_ = json.Unmarshal(raw, &value) // raw unless it is a string
		if names[label+"."+name] = value; name == "id" {
			names[label] = value
		}
	}
}

// builtinCall returns a call that every World has, or nil for any other name.
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

// statuses are the statuses of the kinds of errors in §2.2.
var statuses = map[management.Kind]int{
	management.Invalid: 400, management.Unauthenticated: 401, management.Forbidden: 403, management.NotFound: 404,
	management.Conflict: 409, management.Unavailable: 503, management.TooMany: 429,
}
