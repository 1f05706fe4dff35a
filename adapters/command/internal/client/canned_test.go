package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// cannedServer answers each request from a table and records it. Tests use it to compare the
// requests and the output of a command; cmd/bunting tests the commands with a real server.
type cannedServer struct {
	*httptest.Server
	mu       sync.Mutex
	answers  map[string]string
	requests []string
}

// cannedProject is the only project of the key, in the list that a command reads unless a row has
// another one.
const (
	cannedProjects = "GET /api/projects/?limit=500&offset=0"
	cannedProject  = `{"id":1,"name":"Shop","api_token":"phc_good"}`
)

// newCannedServer returns a server with answers by method and path, such as "GET /api/users/@me/".
// An answer is a body of JSON, after its status unless that is 200. Other requests get a 404.
func newCannedServer(t *testing.T, answers map[string]string) *cannedServer {
	t.Helper()
	s := &cannedServer{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *cannedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + r.URL.RequestURI()
	answer, found := s.answers[name]
	switch {
	case found || name != cannedProjects:
		s.requests = append(s.requests, strings.TrimSpace(name+" "+canonicalBody(r.Body)))
	default:
		answer, found = cannedPage(cannedProject), true
	}
	if !found {
		answer = `404 {"detail":"Not found."}`
	}
	status := http.StatusOK
	if first, rest, _ := strings.Cut(answer, " "); len(first) == 3 {
		if n, err := strconv.Atoi(first); err == nil {
			status, answer = n, rest
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

// canonicalBody returns JSON without blanks and with sorted members, and other text as it is.
func canonicalBody(r io.Reader) string {
	text, _ := io.ReadAll(r)
	var v any
	if json.Unmarshal(text, &v) != nil {
		return string(text)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// cannedPage returns a page of a list with some objects.
func cannedPage(objects ...string) string {
	return fmt.Sprintf(`{"count":%d,"next":null,"previous":null,"results":[%s]}`, len(objects), strings.Join(objects, ","))
}

// commandRow is a command line with its requests and its output.
type commandRow struct {
	args    []string
	stdin   string
	env     []string
	answers map[string]string
	sent    []string // all requests but that for the list of projects
	code    int
	stdout  string // all of it, each run of blanks as one
	stderr  string // a part, or "" for an empty output
}

// squeezed returns text with each run of blanks as one blank, and without blanks at the ends of lines.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// runCommandRows runs the rows with a key, and with no folder for the file of sign-ins.
func runCommandRows(t *testing.T, commands []cli.Command, rows map[string]commandRow) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCannedServer(t, row.answers)
			env := append([]string{"BUNTING_SERVER=" + s.URL, "BUNTING_KEY=phx_good"}, row.env...)
			r := clitest.Call(context.Background(), commands, row.stdin, env, row.args...)
			if r.Code != row.code {
				t.Errorf("exit code %d, want %d", r.Code, row.code)
			}
			if diff := gocmp.Diff(row.stdout, squeezed(r.Stdout)); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if !strings.Contains(r.Stderr, row.stderr) || row.stderr == "" && r.Stderr != "" {
				t.Errorf("stderr %q, want %q in it", r.Stderr, row.stderr)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if diff := gocmp.Diff(row.sent, s.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// decoded returns the value of a JSON text.
func decoded[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(cmp.Or(text, "null")), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
