package command

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// Streams of definitions follow the changes of a definitions file. A server that ends does not wait
// for them, and reports its end to their clients.
func TestServe_Streams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags.json")
	write := func(flag string) {
		t.Helper()
		text := `{"projects": [{"id": 1, "api_key": "phc_s", "secret_api_keys": ["phs_s"],
			"cohorts": {"7": {"is_static": true, "members": ["ann"]}},
			"flags": [{"id": 1, "key": "` + flag + `", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 7}]}]}}]}]}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	s := serve(t, time.Minute, "--definitions", file)
	r, err := http.NewRequest(http.MethodGet, s.url+"/flags/definitions/stream?token=phc_s&static_cohorts=members", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer phs_s")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	data := func() string {
		t.Helper()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatal("the stream has ended")
				}
				if strings.HasPrefix(line, "data: ") {
					return line
				}
			case <-time.After(clitest.WaitTimeout):
				t.Fatal("nothing comes")
			}
		}
	}
	if got := data(); !strings.Contains(got, `"key":"first"`) || !strings.HasSuffix(got, `"static_cohort_members":{"7":["ann"]}}`) {
		t.Error(got)
	}
	write("second")
	if got := data(); !strings.Contains(got, `"key":"second"`) {
		t.Error(got)
	}
	s.stop()
	if got := data(); got != `data: {"code":"shutdown"}` {
		t.Error(got)
	}
	s.wait(0) // if it had waited for the stream, the exit code would be 1
}
