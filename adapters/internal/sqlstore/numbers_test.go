package sqlstore

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// storeOfSchema8 opens a store that a server of schema 8 wrote, with further data of
// that version.
func storeOfSchema8(t *testing.T, address, more string) *Store {
	t.Helper()
	ctx := context.Background()
	o, err := database.Open(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := o.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = provider.UpTo(ctx, 8); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile("testdata/schema8.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = o.Write.Exec(string(written) + more); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return openStore(t, address)
}

// Stored data is preserved, gets numbers, and is still found by its UUIDs (clients.md
// §1.1, decision 26).
func TestStore_NumbersOfInsightsAndExperiments(t *testing.T) {
	for name, address := range map[string]string{"disk": "sqlite:" + filepath.Join(t.TempDir(), "store.db"), "postgres": pgtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			store := managementStore{storeOfSchema8(t, address, "")}
			r, err := rooms.Open(rooms.Config{Store: store})
			if err != nil {
				t.Fatal(err)
			}
			scope := ownerScope(t, store)
			request := func(what string, v any, err error) string {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				return encode(t, v)
			}
			ctx := t.Context()
			for _, named := range []string{"1", "BOtR7RVz", "055d708a-c6f1-46d8-aa2a-0377253e5356", "055D708A-C6F1-46D8-AA2A-0377253E5356"} {
				i, err := r.Dashboards.Insights.Get(ctx, scope, named)
				expectMembers(t, "the insight "+named, request(named, i, err), `{"id":1,"short_id":"BOtR7RVz","name":"First","description":"about","dashboards":[1]}`)
			}
			second, err := r.Dashboards.Insights.Get(ctx, scope, "0add2a15-8fc3-4d68-b37b-69464174b554")
			expectMembers(t, "one of before there were short ids", request("second", second, err), `{"id":2,"name":"Second"}`)
			again, err := r.Dashboards.Insights.Get(ctx, scope, second.ShortID)
			expectMembers(t, "by the short id that follows from its UUID", request("again", again, err), `{"id":2}`)
			back, err := r.Dashboards.Insights.Update(ctx, scope, "5cbeac24-d7a3-48ee-b228-04d2f2ba1619", bodyOf(t, `{"deleted":false}`))
			expectMembers(t, "one that was deleted", request("back", back, err), `{"id":3,"short_id":"YejwwhXD","deleted":false}`)
			board, err := r.Dashboards.Get(ctx, scope, "1")
			expectMembers(t, "the first tile", encode(t, board.Tiles[0]), `{"id":1}`)
			expectMembers(t, "its insight", request("board", board.Tiles[0].Insight, err), `{"id":1,"short_id":"BOtR7RVz"}`)
			a, err := r.Dashboards.Annotations.Get(ctx, scope, "1")
			expectMembers(t, "an annotation", request("annotation", a, err), `{"dashboard_item":1,"insight_short_id":"BOtR7RVz"}`)
			log, err := r.ActivityLog(ctx, scope, management.ActivityQuery{Scopes: []string{"Insight"}, Item: "1", Limit: 9, Page: 1})
			expectMembers(t, "the log", request("log", map[string]any{"lines": log.Total, "item": log.Results[0].ItemID}, err), `{"lines":2,"item":"1"}`)
			e, err := r.Experiments.Get(ctx, scope, "e2246a37-f3c6-464d-9495-84df544f94e6")
			expectMembers(t, "the experiment", request("experiment", e, err), `{"id":1,"name":"Exp","feature_flag_key":"exp"}`)
			flag, err := r.FeatureFlags.Get(ctx, scope, 1)
			expectMembers(t, "its flag", request("flag", flag, err), `{"experiment_set":[1]}`)
			created, err := r.Dashboards.Insights.Create(ctx, scope, bodyOf(t, `{"name":"New"}`))
			expectMembers(t, "the next one", request("made", created, err), `{"id":4}`)
			rule, err := database.List(ctx, store.db.Read, func(id *string) []any { return []any{id} }, `SELECT data FROM records WHERE kind = 'access_rule' AND id = '1/insight/1/project:1/everybody'`)
			if err != nil || len(rule) != 1 {
				t.Fatalf("%d rules about the insight: %v", len(rule), err)
			}
			expectMembers(t, "the rule", rule[0], `{"resource":"insight","resource_id":"1"}`)
		})
	}
}

func ownerScope(t *testing.T, store rooms.Store) *management.Scope {
	t.Helper()
	scope := &management.Scope{Caller: &management.Caller{Key: &management.KeyRecord{}}}
	err := store.Read(t.Context(), func(tx rooms.Tx) error {
		u, err := management.UserByNumber(tx, 1)
		if err != nil {
			return err
		}
		p, err := tx.Project(1)
		if err != nil {
			return err
		}
		o, err := tx.Organization(p.Organization)
		scope.Caller.User, scope.Project, scope.Organization, scope.Level = u, p, o, management.Owner
		scope.Memberships = []management.Membership{{Organization: p.Organization, User: u.UUID, Level: management.Owner}}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func bodyOf(t *testing.T, text string) (b management.Body) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b.Members); err != nil {
		t.Fatal(err)
	}
	return b
}

// expectMembers compares the members of a response that want names.
func expectMembers(t *testing.T, what, answer, want string) {
	t.Helper()
	var got, wantMembers map[string]any
	if json.Unmarshal([]byte(answer), &got) != nil || json.Unmarshal([]byte(want), &wantMembers) != nil {
		t.Fatalf("%s: %s", what, answer)
	}
	for name := range got {
		if _, ok := wantMembers[name]; !ok {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(wantMembers, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// encode returns the JSON of a value.
func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
