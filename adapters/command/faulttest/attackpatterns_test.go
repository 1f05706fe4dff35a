//go:build linux

package faulttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Strings that are costly for a flag's pattern, sent with the public key, do not delay other
// clients for long: a pattern with a too large program is a fault and never matches, and any other
// pattern is matched against no more text than is possible in a third of a second.
func TestAttack_CostlyPatterns(t *testing.T) {
	const (
		tooLarge = `((a{1,100}){1,10}b){1,10}` // ran ten seconds on a million letters
		large    = `(a{1,100}){1,10}b`         // about 2,000 instructions: up to 16 KiB of text
	)
	flag := func(id int, key, pattern string) string {
		return fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{"properties": [{"key": "p", "type": "person", "operator": "regex", "value": %q}]}]}}`, id, key, pattern)
	}
	file := filepath.Join(t.TempDir(), "patterns.json")
	text := `{"projects": [{"id": 1, "name": "patterns", "api_key": "` + apiKey + `", "flags": [
		{"id": 1, "key": "new-onboarding", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}},
		` + flag(2, "too-large", tooLarge) + `, ` + flag(3, "large", large) + `]}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, address := launchBare(t, nil, "--definitions", file)
	s.await(t, address)
	body := func(n int) []byte {
		return []byte(`{"api_key":"` + apiKey + `","distinct_id":"u","person_properties":{"p":"` + strings.Repeat("a", n) + `"}}`)
	}

	// The values of the flags for a user with a short text, and with one that is too long.
	for n, want := range map[int]bool{3: false, 1_000_000: true} {
		before := s.metric(t, "bunting_flags_pattern_timeouts_total")
		status, answer := read(t)(s.client.Post(s.url+"/flags?v=2", "application/json", strings.NewReader(string(body(n)))))
		var got struct {
			Flags map[string]struct {
				Enabled bool `json:"enabled"`
			} `json:"flags"`
		}
		if err := json.Unmarshal([]byte(answer), &got); status != http.StatusOK || err != nil {
			t.Fatal(status, answer, err)
		}
		if got.Flags["too-large"].Enabled || got.Flags["large"].Enabled || !got.Flags["new-onboarding"].Enabled {
			t.Errorf("%d letters: %s", n, answer)
		}
		if counted := s.metric(t, "bunting_flags_pattern_timeouts_total") > before; counted != want {
			t.Errorf("%d letters: counted as too much: %v, want %v", n, counted, want)
		}
	}

	step := func(n int) bool {
		status, answer := s.flags(t, fmt.Sprint("user-", n))
		if status != http.StatusOK || !strings.Contains(answer, `"new-onboarding"`) {
			t.Errorf("an honest request got %d %.200s", status, answer)
		}
		return status == http.StatusOK
	}
	runHonestClients(t, *attackRequests, step) // warms the server up
	// Each search of the second pattern needs a third of a second; smaller patterns are the remedy.
	for name, letters := range map[string]int{"a million letters": 1_000_000, "as many as are looked at": 16_000} {
		t.Run(name, func(t *testing.T) {
			c := attackCase{path: "/flags?v=2", body: body(letters), attackers: 4, statuses: []int{http.StatusOK, http.StatusServiceUnavailable}}
			if statuses := c.measureAgainst(t, s, step); statuses[http.StatusOK] == 0 {
				t.Error("no attacker was answered: the searches do not end")
			}
		})
	}
}
