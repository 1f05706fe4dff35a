package organizations_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Concurrent requests see each other's results, so that limits and unique values hold.
func TestOrganizations_AtOnce(t *testing.T) {
	const many = 8
	link := func(w *world) string {
		invite, err := w.Organizations.Invites.Create(t.Context(), w.Scope(t, "ann"), "https://here", ruletest.Body(t, `{"target_email":"new@example.com"}`))
		if err != nil {
			t.Fatal(err)
		}
		return invite.ID + " " + invite.AcceptURL
	}
	for name, c := range map[string]struct {
		before func(w *world) string // returns the argument of the call
		user   func(n int) string
		call   string
		body   func(n int) string
		work   int // how many of the requests must succeed
		after  ruletest.Row
	}{
		"§4.6 the last owner cannot vanish": {
			before: func(w *world) string {
				if _, err := w.Organizations.Members.Update(t.Context(), w.Scope(t, "ann"), uuid("gus"), ruletest.Body(t, `{"level":15}`), false); err != nil {
					t.Fatal(err)
				}
				return ""
			},
			user: func(n int) string { return []string{"ann", "gus"}[n%2] },
			call: "demote", body: func(n int) string { return `{"level":1}` },
			work:  many / 2, // the requests of the first one to succeed
			after: ruletest.Row{"§4.6", "cyd", "owners", ``, `1`},
		},
		"§4.5 an invitation is accepted once": {
			before: link, user: func(int) string { return "-" }, call: "accept", body: func(int) string { return `{"first_name":"New"}` },
			work:  1,
			after: ruletest.Row{"§4.5", "ann", "members", `{"Email":"new@example.com"}`, `{"count":1}`},
		},
		"§1.10 ten keys": {
			user: func(int) string { return "bob" }, call: "newkey", body: func(n int) string { return newKey(fmt.Sprintf(`,"label":"%d"`, n)) },
			before: func(w *world) string {
				for range 6 {
					if _, err := w.Organizations.Keys.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, newKey(``))); err != nil {
						t.Fatal(err)
					}
				}
				return ""
			},
			work:  4,
			after: ruletest.Row{"§6 row 79", "bob", "newkey", newKey(``), `400 invalid_input - You can only have 10 personal API keys.`},
		},
		"§5.1.3 one role of a name": {
			user: func(int) string { return "gus" }, call: "role", body: func(n int) string { return []string{`{"name":"Support"}`, `{"name":"support"}`}[n%2] },
			work: 1, after: ruletest.Row{"§5.1.3", "gus", "roles", ``, `{"count":1}`},
		},
		"§4.4 a domain is one's": {
			user: func(n int) string { return []string{"gus", "dan"}[n%2] }, call: "domain", body: func(int) string { return `{"domain":"example.com"}` },
			work: 1, after: ruletest.Row{"§4.4", "ann", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
		},
		"§4.5 one invitation of an address": {
			user: func(n int) string { return "ann" }, call: "invite", body: func(int) string { return `{"target_email":"new@example.com"}` },
			work: many, after: ruletest.Row{"§6 row 58", "ann", "invites", ``, `{"count":1}`},
		},
		"§1.9 one user of an address": {
			user: func(n int) string { return []string{"bob", "cyd", "gus", "dan"}[n%4] }, call: "changeme", body: func(int) string { return `{"email":"one@example.com"}` },
			work: 2, after: ruletest.Row{"§1.9", "ann", "changeme", `{"email":"one@example.com"}`, `400 unique email`}, // the first request succeeds, both times
		},
		"console §5.2 a link signs in once": {
			before: func(w *world) string {
				token, err := w.Organizations.Sessions.OwnerLink(t.Context(), "", "", true)
				if err != nil {
					t.Fatal(err)
				}
				return token
			},
			user: func(int) string { return "-" }, call: "signinby", body: func(int) string { return "" },
			work: 1, after: ruletest.Row{"console §5.2", "ann", "sessions", ``, `{"count":1}`},
		},
		"clients §14.2 one poll in an interval": {
			before: func(w *world) string {
				codes, err := w.Organizations.Programs.Begin(t.Context(), management.Body{}, "192.0.2.1")
				if err != nil {
					t.Fatal(err)
				}
				return codes.Device
			},
			user: func(int) string { return "-" }, call: "poll", body: func(int) string { return "" },
			work: many, after: ruletest.Row{"clients §14.2 seven were too soon", "-", "answers pending", ``, `1`},
		},
		"console §5.2 an account becomes one user": {
			before: func(w *world) string {
				w.putRecords(t, management.Record{
					Kind: "domain", Parent: ours, ID: "d", Unique: "corp.example",
					Data: []byte(`{"id": "d", "domain": "corp.example", "is_verified": true, "jit_provisioning_enabled": true}`),
				})
				return ""
			},
			user: func(int) string { return "-" }, call: "sso", body: func(int) string { return account("1", "zoe@corp.example") },
			work: many, after: ruletest.Row{"console §5.2", "ann", "members", `{"Email":"zoe@corp.example"}`, `{"count":1}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, false)
			calls := w.calls(t)
			var polled sync.Map // the number of polls by their state
			calls["poll"] = func(_ callScope, path, _ string) (any, error) {
				out, err := w.Organizations.Programs.Poll(t.Context(), ruletest.Body(t, `{"device_code":"`+path+`"}`))
				if err == nil {
					n, _ := polled.LoadOrStore(out.State, new(atomic.Int64))
					n.(*atomic.Int64).Add(1)
				}
				return out, err
			}
			calls["answers"] = func(_ callScope, state, _ string) (any, error) {
				n, _ := polled.LoadOrStore(state, new(atomic.Int64))
				return n.(*atomic.Int64).Load(), nil
			}
			calls["signinby"] = func(_ callScope, link, _ string) (any, error) {
				_, _, err := w.Organizations.Sessions.Begin(t.Context(), organizations.SignIn{Body: ruletest.Body(t, `{"link":"`+link+`"}`)})
				return nil, err
			}
			calls["demote"] = func(scope callScope, _, b string) (any, error) {
				other := uuid("ann")
				if scope.User.UUID == other {
					other = uuid("gus")
				}
				return w.Organizations.Members.Update(t.Context(), scope, other, ruletest.Body(t, b), false)
			}
			calls["owners"] = func(scope callScope, _, _ string) (any, error) {
				list, err := w.Organizations.Members.List(t.Context(), scope, organizations.MemberQuery{Page: management.Page{Limit: 100}})
				owners := 0
				for _, m := range list.Results {
					if m.Level == management.Owner {
						owners++
					}
				}
				return owners, err
			}
			path := ""
			if c.before != nil {
				path = c.before(w)
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			worked := 0
			for n := range many {
				scope := w.Scope(t, c.user(n)) // all scopes are from before the requests
				all.Go(func() {
					_, err := calls[c.call](scope, path, c.body(n))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						worked++
					}
				})
			}
			all.Wait()
			if worked != c.work {
				t.Errorf("%d have worked, want %d", worked, c.work)
			}
			w.Run(t, calls, []ruletest.Row{c.after})
		})
	}
}
