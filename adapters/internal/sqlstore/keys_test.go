package sqlstore

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

func applyText(t *testing.T, s *Store, origin, text string) {
	t.Helper()
	f, err := flags.ParseFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyFile(context.Background(), origin, f, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestStore_Key(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, "sqlite::memory:")
	applyText(t, s, "a.json", `{"projects":[
		{"id":1,"api_key":"phc_a","personal_api_keys":[{"key":"phx_1","scopes":["flag:read","*"]}],"secret_api_keys":["phs_a"]},
		{"id":2,"api_key":"phc_b","personal_api_keys":[{"key":"phx_1","scopes":["*","flag:read"]},{"key":"phx_2","scopes":[]}]}]}`)
	applyText(t, s, "b.json", `{"projects":[{"id":3,"api_key":"phc_c","personal_api_keys":[{"key":"phx_1","scopes":["*","flag:read"]}]}]}`)
	a, b, c := keyProject{1, "phc_a"}, keyProject{2, "phc_b"}, keyProject{3, "phc_c"}
	check := func(when string, want map[string]storedKey) {
		t.Helper()
		for key, want := range want {
			got, err := s.Key(ctx, key)
			if len(want.Projects) == 0 {
				if !errors.Is(err, flags.ErrUnknownKey) {
					t.Errorf("%s %q: %+v, %v", when, key, got, err)
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s %q, %v (-want +got):\n%s", when, key, err, diff)
			}
		}
	}
	scopes := []string{"*", "flag:read"}
	check("first", map[string]storedKey{
		"phx_1": {false, "", scopes, []keyProject{a, b, c}},
		"phx_2": {false, "", []string{}, []keyProject{b}},
		"phs_a": {true, "", []string{}, []keyProject{a}},
		"phc_a": {}, "": {}, "x\x00": {},
	})
	// A key that was removed from one file has access to the projects of the other
	// file.
	applyText(t, s, "a.json", `{"projects":[{"id":1,"api_key":"phc_a"},{"id":2,"api_key":"phc_b"}]}`)
	check("then", map[string]storedKey{"phx_1": {false, "", scopes, []keyProject{c}}, "phx_2": {}, "phs_a": {}})
	if err := s.ForgetFile(ctx, "b.json"); err != nil {
		t.Fatal(err)
	}
	check("last", map[string]storedKey{"phx_1": {}})
}

func TestCapture_3_6_Keys(t *testing.T) {
	s := openStore(t, "sqlite::memory:")
	applyText(t, s, "a.json", `{"organization":{"id":"o","quotas":{"events":5,"exceptions":null}},"projects":[
		{"id":1,"api_key":"phc_a","secret_api_keys":["phs_a"],"personal_api_keys":[{"key":"phx_a","scopes":["*"]}],"quota_limited":["events"]}]}`)
	public := capture.Project{ID: 1, APIKey: "phc_a", OrganizationID: "o", Limits: map[capture.Resource]int64{"events": 5}, Paused: []capture.Resource{"events"}}
	secret := public
	secret.Secret = true
	for token, want := range map[string]capture.Project{"phc_a": public, "phs_a": secret} {
		got, err := captureKeys{s}.Project(context.Background(), token)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s, %v (-want +got):\n%s", token, err, diff)
		}
	}
	for _, token := range []string{"", "phx_a", "phc_b", "a\x00b"} {
		if p, err := s.projectByToken(context.Background(), token); !errors.Is(err, capture.ErrUnknownKey) {
			t.Errorf("%q: %+v, %v", token, p, err)
		}
	}
}

func TestBootstrap(t *testing.T) { // decision 21
	ctx := context.Background()
	s := openStore(t, "sqlite::memory:")
	b, err := s.Bootstrap(ctx, BootstrapConfig{OwnerEmail: "me@example.com"})
	if err != nil || b == nil {
		t.Fatal(b, err)
	}
	// spec/management.md §1.1: 32 and 35 bytes in base 62.
	if !regexp.MustCompile(`^phc_[0-9A-Za-z]{42,43}$`).MatchString(b.APIKey) || !regexp.MustCompile(`^phx_[0-9A-Za-z]{47,48}$`).MatchString(b.PersonalKey) {
		t.Errorf("keys %q and %q", b.APIKey, b.PersonalKey)
	}
	got, err := s.Key(ctx, b.PersonalKey)
	want := storedKey{false, "First key of me@example.com", []string{"*"}, []keyProject{{1, b.APIKey}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	names, err := s.Projects(ctx)
	if diff := cmp.Diff([]flags.Project{{ID: 1, Name: "Default project", APIKey: b.APIKey, OrganizationID: b.OrganizationID}}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if again, err := s.Bootstrap(ctx, BootstrapConfig{OwnerEmail: "me@example.com"}); err != nil || again != nil {
		t.Errorf("again: %+v, %v", again, err)
	}
	// A file adopts a project that was created by Bootstrap.
	applyText(t, s, "a.json", `{"projects":[{"id":1,"name":"mine","api_key":"`+b.APIKey+`"}]}`)
	if got, err := s.ProjectByKey(ctx, b.APIKey); err != nil || got.Name != "mine" {
		t.Errorf("taken over: %+v, %v", got, err)
	}
}
