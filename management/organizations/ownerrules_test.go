package organizations_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openRooms opens the services on a store with organizations without members, for the rules of
// decision 21 about the first start.
func openRooms(t *testing.T, put func(tx rooms.Tx) error) *rooms.Rooms {
	t.Helper()
	store := memstore.New(memstore.ExternalData{})
	r, err := rooms.Open(rooms.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	return r
}

func organization(id, name string) *management.OrganizationRecord {
	return &management.OrganizationRecord{ID: id, Name: name, CreatedAt: ruletest.Start}
}

// scopeOfKey returns the scope of a key's caller in an organization.
func scopeOfKey(t *testing.T, r *rooms.Rooms, key, organization string) *management.Scope {
	t.Helper()
	c, err := r.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := r.Organization(t.Context(), c, organization)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestAdopt_FirstStart(t *testing.T) {
	r := openRooms(t, func(tx rooms.Tx) error {
		return errors.Join(tx.PutOrganization(organization(ours, "Ours")), tx.PutOrganization(organization(theirs, "Theirs")))
	})
	var keys []string
	owner := organizations.Adoption{Email: "Owner@Example.com", Key: func() (string, func(string) error, error) {
		return "", func(key string) error { keys = append(keys, key); return nil }, nil
	}}
	for range 2 { // the second start shows no key
		if err := r.Organizations.Adopt(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "phx_") {
		t.Fatalf("shown: %q", keys)
	}
	for _, organizationID := range []string{ours, theirs} { // both had no members
		scope := scopeOfKey(t, r, keys[0], organizationID)
		if scope.Level != management.Owner || scope.User.Email != "Owner@example.com" || len(scope.Key.Scopes) != 1 || scope.Key.Scopes[0] != "*" {
			t.Errorf("%+v with %+v", scope.User, scope.Key)
		}
	}
}

func TestAdopt_Key(t *testing.T) {
	putOrganization := func(tx rooms.Tx) error { return tx.PutOrganization(organization(ours, "Ours")) }
	key := func(text string, failed error) func() (string, func(string) error, error) {
		return func() (string, func(string) error, error) {
			return text, func(string) error { return failed }, nil
		}
	}
	t.Run("that is given", func(t *testing.T) {
		r := openRooms(t, putOrganization)
		if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "o@example.com", Key: key("phx_mine_and_long_enough", nil)}); err != nil {
			t.Fatal(err)
		}
		if scope := scopeOfKey(t, r, "phx_mine_and_long_enough", ours); scope.Level != management.Owner {
			t.Error(scope.Level)
		}
	})
	t.Run("that cannot be shown leaves the start a first one", func(t *testing.T) {
		r := openRooms(t, putOrganization)
		errShow := errors.New("the terminal is gone")
		if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "o@example.com", Key: key("phx_mine_and_long_enough", errShow)}); !errors.Is(err, errShow) {
			t.Fatal(err)
		}
		if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "p@example.com", Key: key("phx_mine_and_long_enough", nil)}); err != nil {
			t.Fatal(err)
		}
		if scope := scopeOfKey(t, r, "phx_mine_and_long_enough", ours); scope.User.Email != "p@example.com" {
			t.Error(scope.User.Email)
		}
	})
	t.Run("that is another's is refused", func(t *testing.T) {
		r := openRooms(t, func(tx rooms.Tx) error {
			return errors.Join(putOrganization(tx), tx.PutKey(&management.KeyRecord{ID: "s", Hash: management.HashKey("phs_taken"), Secret: true, Projects: []int64{1}}))
		})
		if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "o@example.com", Key: key("phs_taken", nil)}); err == nil {
			t.Error("a key that is there already")
		}
	})
	t.Run("none where nobody asks", func(t *testing.T) {
		r := openRooms(t, putOrganization)
		if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "o@example.com"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		if err := openRooms(t, putOrganization).Organizations.Adopt(t.Context(), organizations.Adoption{Email: "owner"}); err == nil || !strings.Contains(err.Error(), "owner@example.com") {
			t.Error(err)
		}
	})
}

// Keys of a definitions file are assigned to the owner of the organization that they open, of that
// of their project, or of the only one.
func TestAdopt_KeysOfAFile(t *testing.T) {
	key := func(name string, projects []int64, organizationIDs ...string) *management.KeyRecord {
		return &management.KeyRecord{Hash: management.HashKey("phx_" + name), Label: name, Scopes: []string{"*"}, Projects: projects, Organizations: organizationIDs, Origin: "demo.json"}
	}
	r := openRooms(t, func(tx rooms.Tx) error {
		ann, bob := management.User{ID: 1, UUID: uuid("ann"), Email: "ann@example.com"}, management.User{ID: 2, UUID: uuid("bob"), Email: "bob@example.com"}
		return errors.Join(
			tx.PutOrganization(organization(ours, "Ours")), tx.PutOrganization(organization(theirs, "Theirs")),
			tx.PutProject(&management.ProjectRecord{ID: 1, Organization: ours, APIKey: "phc_1"}), tx.PutProject(&management.ProjectRecord{ID: 2, Organization: theirs, APIKey: "phc_2"}),
			records.PutUser(tx, &ann), records.PutUser(tx, &bob),
			records.PutMembership(tx, &management.Membership{ID: "a", Organization: ours, User: ann.UUID, Level: management.Owner}),
			records.PutMembership(tx, &management.Membership{ID: "b", Organization: theirs, User: bob.UUID, Level: management.Owner}),
			tx.PutKey(key("of theirs", nil, theirs)), tx.PutKey(key("of a project of theirs", []int64{2})), tx.PutKey(key("of nothing", nil)),
		)
	})
	if err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "o@example.com"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"of theirs": "bob@example.com", "of a project of theirs": "bob@example.com", "of nothing": "ann@example.com"} {
		c, err := r.Authenticate(t.Context(), "phx_"+name, "test")
		if err != nil || c.User.Email != want {
			t.Errorf("the key %s: %v", name, err)
		}
	}
}

// An owner with an unrestricted key does not get another one.
func TestAdopt_HasAKey(t *testing.T) {
	for name, tt := range map[string]struct {
		key  management.KeyRecord
		want int // the number of displayed keys
	}{
		"that opens everything":   {management.KeyRecord{Scopes: []string{"*"}}, 0},
		"one of old":              {management.KeyRecord{}, 0},
		"of a project":            {management.KeyRecord{Scopes: []string{"*"}, Projects: []int64{1}}, 1},
		"of an organization":      {management.KeyRecord{Scopes: []string{"*"}, Organizations: []string{ours}}, 1},
		"with a scope":            {management.KeyRecord{Scopes: []string{"user:read"}}, 1},
		"of a file, which may go": {management.KeyRecord{Scopes: []string{"*"}, Origin: "demo.json"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := openRooms(t, func(tx rooms.Tx) error {
				tt.key.ID, tt.key.Hash, tt.key.User = "k", management.HashKey("phx_k"), 1
				u := management.User{ID: 1, UUID: uuid("ann"), Email: "ann@example.com"}
				return errors.Join(tx.PutOrganization(organization(ours, "Ours")), records.PutUser(tx, &u), tx.PutKey(&tt.key))
			})
			calls := 0
			err := r.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "ann@example.com", Key: func() (string, func(string) error, error) {
				return "", func(string) error { calls++; return nil }, nil
			}})
			if err != nil || calls != tt.want {
				t.Errorf("%d keys, %v", calls, err)
			}
		})
	}
}

// bunting keys recover creates a key for an owner who has lost all keys.
func TestRecoverKey(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	recoverKey := func(email string, failed error) (owner, label, text string, err error) {
		err = w.Organizations.RecoverKey(t.Context(), email, func(address string, k *management.KeyRecord, created string) error {
			owner, label, text = address, k.Label, created
			return failed
		})
		return owner, label, text, err
	}
	for email, want := range map[string]string{"": "ann@example.com", "DAN@example.com": "dan@example.com"} {
		owner, label, text, err := recoverKey(email, nil)
		if err != nil || owner != want || label != "Recovered key of "+want {
			t.Fatalf("%q: %s, %s, %v", email, owner, label, err)
		}
		c, err := w.Authenticate(t.Context(), text, "test")
		if err != nil || c.User.Email != want || c.Require("*") != nil {
			t.Errorf("%q: %v", email, err)
		}
	}
	if _, _, _, err := recoverKey("gus@example.com", nil); err == nil || !strings.Contains(err.Error(), "only ann@example.com, dan@example.com") {
		t.Error("an administrator is no owner:", err)
	}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§5.11", "ann", "log organization PersonalAPIKey", ``, `{"activity":"created","user":{"is_system":true},"detail":{"name":"Recovered key of ann@example.com"}}`},
		{"§1.10 nobody can do so over the API", "ann", "keys", ``, `[{"label":"Recovered key of ann@example.com","scopes":["*"],"value":null}]`},
	})
	errShow := errors.New("the terminal is gone")
	if _, _, _, err := recoverKey("", errShow); !errors.Is(err, errShow) {
		t.Error(err)
	}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"one that was not shown is not made", "ann", "keys", ``, `[{"label":"Recovered key of ann@example.com"}]`},
		{"who is inactive is no owner", "ann", "setuser ann", `{"inactive":true}`, `null`},
		{"who is inactive is no owner", "dan", "setuser dan", `{"inactive":true}`, `null`},
	})
	if _, _, _, err := recoverKey("", nil); !errors.Is(err, organizations.ErrNoOwner) {
		t.Error(err)
	}
}
