package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// oneFlag writes a definitions file with the flag "f" at a rollout percentage.
func oneFlag(t *testing.T, rollout string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.json")
	text := `{"projects": [{"id": 1, "name": "p", "api_key": "phc_x", "flags": [{"id": 1, "key": "f", "active": true,
		"filters": {"groups": [{"properties": [], "rollout_percentage": ` + rollout + `}]}}]}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestShadow_ReportsDifferences proves that a flag that is on in one service and off in the other
// is reported, whichever of them provides the response.
func TestShadow_ReportsDifferences(t *testing.T) {
	upstream := serve(t, time.Minute, "--definitions", oneFlag(t, "0"))
	for side, want := range map[string]string{"self": `"f":true`, "upstream": `"f":false`} {
		t.Run(side, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			s := serve(t, time.Minute, "--definitions", oneFlag(t, "100"), "--upstream", upstream.url, "--shadow-answer", side, "--shadow-report", report)
			r, err := http.NewRequest(http.MethodPost, s.url+"/decide?v=3", strings.NewReader(`{"api_key": "phc_x", "distinct_id": "ana"}`))
			if err != nil {
				t.Fatal(err)
			}
			if status, body := do(t, r); status != 200 || !strings.Contains(body, want) {
				t.Errorf("%d %s, want %s", status, body, want)
			}
			for end := time.Now().Add(clitest.WaitTimeout); ; time.Sleep(10 * time.Millisecond) { // the comparison runs after the response
				if _, body := s.get("/metrics", ""); strings.Contains(body, "bunting_shadow_compared_total 1\n") {
					break
				} else if time.Now().After(end) {
					t.Fatal("nothing was compared")
				}
			}
			s.stop()
			s.wait(0)
			if out := s.stdout.String(); !strings.Contains(out, "1 requests for flags, 1 compared, 1 of them differ (100.0000 %)") || !strings.Contains(out, "ana") {
				t.Errorf("printed at the end:\n%s", out)
			}
			text, err := os.ReadFile(report)
			var got struct {
				Flags []struct {
					Key    string
					Causes map[string]int64
				}
			}
			if err == nil {
				err = json.Unmarshal(text, &got)
			}
			if err != nil || len(got.Flags) != 1 || got.Flags[0].Key != "f" || got.Flags[0].Causes["value"] != 1 {
				t.Errorf("%v: report %s", err, text)
			}
		})
	}
	upstream.stop()
	upstream.wait(0)
}

func TestShadow_NeedsAnUpstream(t *testing.T) {
	call(t, "", nil, "shadow").Want(t, 2, "", "--upstream is missing")
	call(t, "", nil, "shadow", "--upstream", "nowhere").Want(t, 2, "", `must be a URL such as`)
	call(t, "", nil, "shadow", "--help").Want(t, 0, "--shadow-answer SIDE", "")
}
