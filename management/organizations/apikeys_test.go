package organizations

import (
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/management"
)

// §1.4: there are 41 objects, and one of experiments.md §3.1, each with read and write, and the
// scope of all.
func TestIsScope(t *testing.T) {
	if n := len(slices.Compact(slices.Sorted(slices.Values(scopeObjects)))); n != 42 {
		t.Errorf("%d objects, want 42", n)
	}
	for scope, want := range map[string]bool{
		"*": true, "feature_flag:read": true, "logs:write": true, "user_interview_DO_NOT_USE:read": true,
		"": false, "feature_flag": false, "feature_flag:": false, "feature_flag:admin": false, "flags:read": false, "INTERNAL": false,
		"INTERNAL:read": false, "*:read": false, "feature_flag:read:write": false, " *": false,
	} {
		if got := isScope(scope); got != want {
			t.Errorf("isScope(%q) is %v", scope, got)
		}
	}
}

// §1.3: the test vector for hashes of keys.
func TestHashKey(t *testing.T) {
	if got := management.HashKey("test_key_12345"); got != "sha256$45af89b510a3279a817f851de5d3f95b73485d58ec2672a39e52d8aeeb014059" {
		t.Error(got)
	}
	for key, want := range map[string]string{"phx_0123456789abcd": "phx_...abcd", "phx_short": "********"} {
		if got := management.MaskKey(key); got != want {
			t.Errorf("MaskKey(%q) is %q, want %q", key, got, want)
		}
	}
}

// §1.10, decision 19: a key never grants more rights than the calling key has.
func TestCheckKeyWithin(t *testing.T) {
	key := func(scopes string, projects []int64, organizations ...string) *management.KeyRecord {
		k := &management.KeyRecord{Scopes: []string{scopes}, Projects: projects, Organizations: organizations}
		if scopes == "" {
			k.Scopes = nil
		}
		return k
	}
	for _, c := range []struct {
		name        string
		caller, new *management.KeyRecord
		want        bool
	}{
		{"all gives all", key("*", nil), key("*", nil), true},
		{"all gives one of old", key("*", nil), key("", nil), true},
		{"one of old gives all", key("", []int64{1}), key("*", nil), true},
		{"write gives read", key("cohort:write", nil), key("cohort:read", nil), true},
		{"read gives no write", key("cohort:read", nil), key("cohort:write", nil), false},
		{"a scope gives not all", key("user:write", nil), key("*", nil), false},
		{"a scope gives none of old", key("user:write", nil), key("", nil), false},
		{"one project gives none of old", key("*", []int64{1}), key("", []int64{1}), false},
		{"fewer projects", key("*", []int64{1, 2}), key("*", []int64{2}), true},
		{"another project", key("*", []int64{1, 2}), key("*", []int64{2, 3}), false},
		{"all projects", key("*", []int64{1}), key("*", nil), false},
		{"fewer organizations", key("*", nil, "a", "b"), key("*", nil, "b"), true},
		{"another organization", key("*", nil, "a"), key("*", nil, "b"), false},
		{"all organizations", key("*", nil, "a"), key("*", nil), false},
	} {
		if err := checkKeyWithin(&management.Caller{Key: c.caller}, c.new); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
