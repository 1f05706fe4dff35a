package management_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// testRule is a rule about dashboard 1 or, without object, about all dashboards. Its subject is ""
// (everybody), bob, cyd or a role: builders has the member bob, testers has bob and cyd.
type testRule struct {
	onObject bool
	subject  string
	level    management.AccessLevel
}

// accessWorld is a project with dashboard 1, created by cyd, and with the roles of the rules.
type accessWorld struct {
	*ruletest.World
	subjects map[string]string // members of bodies that name the subject of a rule
}

func newAccessWorld(t *testing.T) *accessWorld {
	t.Helper()
	w := &accessWorld{ruletest.New(t, memstore.New(memstore.ExternalData{})), map[string]string{"": ""}}
	ann := w.Scope(t, "ann")
	if _, err := w.Dashboards.Create(t.Context(), w.Scope(t, "cyd"), ruletest.Body(t, `{"name":"Ours"}`)); err != nil {
		t.Fatal(err)
	}
	for role, members := range map[string][]string{"builders": {"bob"}, "testers": {"bob", "cyd"}} {
		r, err := w.Organizations.Roles.Create(t.Context(), ann, ruletest.Body(t, fmt.Sprintf(`{"name":%q}`, role)))
		if err != nil {
			t.Fatal(err)
		}
		w.subjects[role] = fmt.Sprintf(`,"role":%q`, r.ID)
		for _, name := range members {
			if _, err := w.Organizations.Roles.Members(r.ID).Create(t.Context(), ann, ruletest.Body(t, fmt.Sprintf(`{"user_uuid":%q}`, ruletest.UUID(name)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"bob", "cyd"} {
		w.subjects[name] = fmt.Sprintf(`,"organization_member":%q`, w.Scope(t, name).Memberships[0].ID)
	}
	return w
}

// set sets a rule, or deletes it if it has no level.
func (w *accessWorld) set(t *testing.T, r testRule) {
	t.Helper()
	kind, resource, level := "", `,"resource":"dashboard"`, "null"
	if r.onObject {
		kind, resource = "dashboard", ""
	}
	if r.level != "" {
		level = fmt.Sprintf("%q", r.level)
	}
	body := ruletest.Body(t, `{"access_level":`+level+resource+w.subjects[r.subject]+`}`)
	if _, err := w.SetControl(t.Context(), w.Scope(t, "ann"), kind, "1", body); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
}

// level returns the level of a user that dashboard 1 shows, or NoAccess if it refuses the user.
func (w *accessWorld) level(t *testing.T, name string) management.AccessLevel {
	t.Helper()
	d, err := w.Dashboards.Get(t.Context(), w.Scope(t, name), "1")
	if err != nil {
		if apiErr := new(management.Error); errors.As(err, &apiErr) && apiErr.Kind == management.Forbidden {
			return management.NoAccess
		}
		t.Fatal(err)
	}
	return d.UserAccessLevel
}

// Proves clients.md §11.2: a row for each of its lines and for each pair of lines that compete.
func TestAccessControls_Level(t *testing.T) {
	const noAccess, viewer, editor, manager = management.NoAccess, management.Viewer, management.Editor, management.Manager
	for _, c := range []struct {
		what, user string
		rules      []testRule
		want       management.AccessLevel
	}{
		{"1: an owner, whatever rules say", "ann", []testRule{{true, "", noAccess}, {false, "", noAccess}}, manager},
		{"1: an administrator", "gus", []testRule{{true, "", noAccess}, {false, "", noAccess}}, manager},
		{"1: the creator", "cyd", []testRule{{true, "cyd", noAccess}, {false, "", noAccess}}, manager},
		{"2: a rule that names the member", "bob", []testRule{{true, "bob", viewer}}, viewer},
		{"2: a rule that names a role", "bob", []testRule{{true, "builders", manager}}, manager},
		{"2: the highest of them", "bob", []testRule{{true, "bob", noAccess}, {true, "builders", viewer}, {true, "testers", noAccess}}, viewer},
		{"2: they go before the kind's", "bob", []testRule{{true, "bob", noAccess}, {false, "bob", manager}, {false, "", manager}}, noAccess},
		{"2: they go before the default", "bob", []testRule{{true, "bob", noAccess}, {true, "", manager}}, noAccess},
		{"2: not those of others", "bob", []testRule{{true, "cyd", noAccess}}, editor},
		{"3: the kind's default", "bob", []testRule{{false, "", viewer}}, viewer},
		{"3: the member's", "bob", []testRule{{false, "bob", viewer}}, viewer},
		{"3: a role's", "bob", []testRule{{false, "testers", noAccess}}, noAccess},
		{"3: the highest of default, member and roles", "bob", []testRule{{false, "", viewer}, {false, "bob", noAccess}, {false, "testers", editor}}, editor},
		{"3: the default may be the highest", "bob", []testRule{{false, "", manager}, {false, "bob", viewer}}, manager},
		{"3: they go before the object's default", "bob", []testRule{{false, "", manager}, {true, "", noAccess}}, manager},
		{"4: the object's default", "bob", []testRule{{true, "", viewer}}, viewer},
		{"4: rules of the kind about others are none", "bob", []testRule{{true, "", viewer}, {false, "cyd", noAccess}}, viewer},
		{"5: no rules", "bob", nil, editor},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newAccessWorld(t)
			for _, r := range c.rules {
				w.set(t, r)
			}
			if got := w.level(t, c.user); got != c.want {
				t.Errorf("%s has %s, want %s", c.user, got, c.want)
			}
		})
	}
}

// clients.md §11.1: without rules a member is an editor, but at most a viewer of the activity log.
func TestAccessControls_LevelWithoutRules(t *testing.T) {
	w := newAccessWorld(t)
	for kind, want := range map[string]management.AccessLevel{"dashboard": management.Editor, "action": management.Editor, "activity_log": management.Viewer} {
		if got := w.Scope(t, "bob").AccessTo(management.AccessObject{Kind: kind}); got != want {
			t.Errorf("%s: bob has %s, want %s", kind, got, want)
		}
	}
}

// expectedLevel applies the lines of §11.2 in their order to all rules.
func expectedLevel(user string, rules map[testRule]management.AccessLevel) management.AccessLevel {
	order := []management.AccessLevel{"none", "viewer", "editor", "manager"}
	highest := func(onObject bool, subjects ...string) (found management.AccessLevel) {
		for _, level := range order {
			for _, subject := range subjects {
				if rules[testRule{onObject: onObject, subject: subject}] == level {
					found = level
				}
			}
		}
		return found
	}
	names := map[string][]string{"bob": {"bob", "builders", "testers"}, "cyd": {"cyd", "testers"}}[user]
	if names == nil || user == "cyd" { // 1
		return "manager"
	}
	if level := highest(true, names...); level != "" { // 2
		return level
	}
	if level := highest(false, append(names, "")...); level != "" { // 3
		return level
	}
	if level := highest(true, ""); level != "" { // 4
		return level
	}
	return "editor" // 5
}

// After any sequence of set and deleted rules, levels are those of a literal reading of clients.md
// §11.2.
func TestAccessControls_Reference(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 2))
	w, rules := newAccessWorld(t), map[testRule]management.AccessLevel{}
	for step := range 400 {
		r := testRule{random.IntN(2) == 0, []string{"", "bob", "cyd", "builders", "testers"}[random.IntN(5)], ""}
		key := r
		r.level = []management.AccessLevel{"", "", "none", "viewer", "editor", "manager"}[random.IntN(6)]
		w.set(t, r)
		if rules[key] = r.level; r.level == "" {
			delete(rules, key)
		}
		for _, user := range []string{"ann", "gus", "bob", "cyd"} {
			if got, want := w.level(t, user), expectedLevel(user, rules); got != want {
				t.Fatalf("step %d, %s has %s, want %s: %v", step, user, got, want, rules)
			}
		}
	}
}

// A project has at most maxAccessRules rules.
func TestAccessControls_Bound(t *testing.T) {
	w := newAccessWorld(t)
	ann := w.Scope(t, "ann")
	full := w.Store.Write(t.Context(), func(tx rooms.Tx) (err error) {
		for i := 0; i < 10_000 && err == nil; i++ {
			err = tx.Put(&management.Record{Kind: "access_rule", Parent: management.ProjectParent(ruletest.Project), ID: fmt.Sprint(i), Other: "member:another's", Data: []byte(`{}`)})
		}
		return err
	})
	if full != nil {
		t.Fatal(full)
	}
	_, err := w.SetControl(t.Context(), ann, "dashboard", "1", ruletest.Body(t, `{"access_level":"viewer"}`))
	if want := "A project has at most 10000 access rules."; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}
