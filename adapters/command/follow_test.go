package command

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// Decision 24: exceptions become issues while the server runs, and the follower ends with the
// server.
func TestServe_FollowsExceptions(t *testing.T) {
	s := serve(t, time.Minute, "--rate-limit", "off")
	key := func(kind string) string {
		t.Helper()
		found := regexp.MustCompile(`\b` + kind + `_\w+`).FindString(s.stdout.String())
		if found == "" {
			t.Fatalf("no %s key in %s", kind, s.stdout)
		}
		return found
	}
	body := `{"api_key":"` + key("phc") + `","event":"$exception","distinct_id":"u","properties":{"$exception_fingerprint":"mine"}}`
	request, err := http.NewRequest(http.MethodPost, s.url+"/i/v0/e/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := do(t, request); status != 200 {
		t.Fatal(status, text)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(clitest.WaitTimeout); ; <-tick.C {
		status, text := s.get("/api/projects/1/error_tracking/issues/", key("phx"))
		if status == 200 && strings.Contains(text, `"fingerprint":"mine"`) {
			break
		}
		if status != 200 || time.Now().After(deadline) {
			t.Fatal(status, text)
		}
	}
	s.stop()
	s.wait(0)
}
