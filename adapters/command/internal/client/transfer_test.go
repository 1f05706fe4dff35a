package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/flags/wire"
)

// apiServer implements the protocol of export and import for 7 persons, two group types with two
// groups, and 25 events, ten in a page.
type apiServer struct {
	*httptest.Server
	mu        sync.Mutex
	requests  int
	intercept func(n int, w http.ResponseWriter, r *http.Request) bool // responds instead; n counts from 1

	events  []map[string]any // events that /batch/ received
	batches []int            // number of events in each batch
	people  []string         // lines that /import/ received
	refuse  string           // batches with an event of this name are rejected
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.intercept != nil && s.intercept(s.requests, w, r) {
		return
	}
	if r.URL.Path == "/batch/" {
		s.batch(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer phx_good" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"detail":"bad key"}`)
		return
	}
	const project = `{"id":1,"name":"Shop","api_token":"phc_good"}`
	switch r.URL.Path {
	case "/api/projects/":
		_, _ = io.WriteString(w, `{"count":1,"next":null,"previous":null,"results":[`+project+`]}`)
	case "/api/projects/1/persons/":
		s.page(w, r, 7, func(n int) string {
			return fmt.Sprintf(`{"id":%d,"uuid":"p%d","distinct_ids":["d%d"],"properties":{"n":%d.0,"<":1},"created_at":"2025-06-01T10:00:00Z","is_identified":true}`, n, n, n, n)
		})
	case "/api/projects/1/groups_types/":
		_, _ = io.WriteString(w, `[{"group_type":"company","group_type_index":0},{"group_type":"team","group_type_index":2}]`)
	case "/api/projects/1/groups/":
		index := r.URL.Query().Get("group_type_index")
		s.page(w, r, 2, func(n int) string {
			return fmt.Sprintf(`{"group_type_index":%s,"group_key":"g%s%d","group_properties":{},"created_at":"2025-06-01T10:00:00Z"}`, index, index, n)
		})
	case "/api/projects/1/events/":
		if r.URL.Query().Get("order") != "recorded" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.page(w, r, 25, func(n int) string {
			return fmt.Sprintf(`{"uuid":"e%d","event":"x","distinct_id":"d1","properties":{},"timestamp":"2025-06-01T10:00:00Z","person_id":"p1","person_mode":"full","person":{"properties":{"a":1}}}`, n)
		})
	case "/api/projects/1/import/":
		body, _ := io.ReadAll(r.Body)
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		errors, good := []string{}, 0
		for n, line := range lines {
			if strings.Contains(line, "taken") {
				errors = append(errors, fmt.Sprintf(`{"line":%d,"detail":"belongs to another"}`, n+1))
				continue
			}
			s.people = append(s.people, line)
			good++
		}
		_, _ = fmt.Fprintf(w, `{"imported":%d,"failed":%d,"errors":[%s]}`, good, len(errors), strings.Join(errors, ","))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// page returns up to ten of n objects, whose numbers begin after the cursor.
func (s *apiServer) page(w http.ResponseWriter, r *http.Request, n int, item func(n int) string) {
	after, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	var results []string
	i := after + 1
	for ; i <= n && len(results) < 10; i++ {
		results = append(results, item(i))
	}
	next := "null"
	if i <= n {
		next = fmt.Sprintf(`"http://elsewhere.example%s?cursor=%d"`, r.URL.Path, i-1)
	}
	_, _ = fmt.Fprintf(w, `{"count":%d,"next":%s,"previous":null,"results":[%s]}`, n, next, strings.Join(results, ","))
}

func (s *apiServer) batch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Key        string           `json:"api_key"`
		Historical bool             `json:"historical_migration"`
		Batch      []map[string]any `json:"batch"`
	}
	text, _ := io.ReadAll(r.Body)
	err := json.Unmarshal(text, &body)
	tooLong := len(text) >= 5_000_000 && len(body.Batch) > 1 // a single event may be longer
	if err != nil || !body.Historical || body.Key != "phc_good" || r.Header.Get("Authorization") != "" || tooLong {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"detail":"not as it should be"}`)
		return
	}
	for _, e := range body.Batch {
		if s.refuse != "" && e["event"] == s.refuse {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"detail":"a bad event"}`)
			return
		}
	}
	s.events = append(s.events, body.Batch...)
	s.batches = append(s.batches, len(body.Batch))
	_, _ = io.WriteString(w, `{"status":1}`)
}

// names returns the names of the received events, in order.
func (s *apiServer) names() (out []string) {
	for _, e := range s.events {
		out = append(out, fmt.Sprint(e["event"]))
	}
	return out
}

// runCommand runs export or import with valid keys.
func runCommand(ctx context.Context, s *apiServer, stdin string, command cli.Command, args ...string) clitest.Result {
	env := []string{"BUNTING_KEY=phx_good", "BUNTING_PROJECT_KEY=phc_good"}
	return clitest.Call(ctx, []cli.Command{command}, stdin, env, append([]string{command.Name, "--server", s.URL}, args...)...)
}

func exportTo(s *apiServer, args ...string) clitest.Result {
	return runCommand(context.Background(), s, "", Export, args...)
}

func importFrom(s *apiServer, stdin string, args ...string) clitest.Result {
	return runCommand(context.Background(), s, stdin, Import, args...)
}

// exportedLines returns type and id of each line of an export.
func exportedLines(t *testing.T, text string) (out []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v struct{ Type, UUID, Key string }
		if err := json.Unmarshal([]byte(strings.Replace(line, "group_key", "key", 1)), &v); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, v.Type+" "+v.UUID+v.Key)
	}
	return out
}

func fullExport() (out []string) {
	for n := range 7 {
		out = append(out, fmt.Sprintf("person p%d", n+1))
	}
	out = append(out, "group g01", "group g02", "group g21", "group g22")
	for n := range 25 {
		out = append(out, fmt.Sprintf("event e%d", n+1))
	}
	return out
}

func TestExport_Complete(t *testing.T) {
	s := newAPIServer(t)
	r := exportTo(s)
	r.Want(t, cli.ExitOK, `{"type":"person","uuid":"p1","distinct_ids":["d1"],"properties":{"n":1.0,"<":1},"created_at":"2025-06-01T10:00:00Z","is_identified":true}`,
		"exported 7 persons, 4 groups, 25 events")
	if diff := cmp.Diff(fullExport(), exportedLines(t, r.Stdout)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(r.Stdout, `"group_type":"team","group_type_index":2,"group_key":"g21"`) || !strings.Contains(r.Stdout, `"person_properties":{"a":1}`) {
		t.Error("members are missing")
	}
	if got := exportedLines(t, exportTo(s, "--what", "events,groups").Stdout); len(got) != 29 || got[0] != "group g01" {
		t.Errorf("events,groups: %d lines", len(got))
	}
}

// After an interruption at any request, the same command continues without gaps or duplicates, even
// if more was written than the state records.
func TestExport_Resume(t *testing.T) {
	for stop := 2; stop <= 9; stop++ { // the first request finds the project
		s := newAPIServer(t)
		file := filepath.Join(t.TempDir(), "out.jsonl")
		s.intercept = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == stop {
				w.WriteHeader(http.StatusForbidden)
			}
			return n == stop
		}
		if r := exportTo(s, "--output", file); stop <= 8 && r.Code != cli.ExitError {
			t.Fatalf("stop %d: %+v", stop, r)
		}
		if stop <= 8 {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.WriteString(strings.Repeat("x", 1<<16)) // more than the rest of the export
			_ = f.Close()
			exportTo(s, "--output", file).Want(t, cli.ExitOK, "", "exported 7 persons, 4 groups, 25 events")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fullExport(), exportedLines(t, string(text))); diff != "" {
			t.Errorf("stop %d (-want +got):\n%s", stop, diff)
		}
		if _, err := os.Stat(file + ".part"); !os.IsNotExist(err) {
			t.Errorf("stop %d: the state is still there: %v", stop, err)
		}
	}
}

func TestExport_Refusals(t *testing.T) {
	s := newAPIServer(t)
	file := clitest.TempFile(t, "there.jsonl", "mine")
	exportTo(s, "--output", file).Want(t, cli.ExitError, "", "already exists")
	if text, _ := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file was changed: %q", text)
	}
	exportTo(s, "--key", "phx_bad").Want(t, cli.ExitError, "", "the server answered 401: bad key")
	exportTo(s, "--project", "a/b").Want(t, cli.ExitUsage, "", `there is no project "a/b"`)
	exportTo(s, "--what", "cats").Want(t, cli.ExitUsage, "", `unknown part "cats"`)
	exportTo(s, "--server", "example.org").Want(t, cli.ExitUsage, "", "--server: must be a URL")
	exportTo(s, "--key", "").Want(t, cli.ExitUsage, "", "--key is missing")
	exportTo(s, "extra").Want(t, cli.ExitUsage, "", "unexpected argument")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.intercept = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/projects/" {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	exportTo(s, "--output", file).Want(t, cli.ExitError, "", "run the same command again")
	exportTo(s, "--output", file, "--what", "events").Want(t, cli.ExitError, "", "other options")
	if err := os.WriteFile(file+".part", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	exportTo(s, "--output", file).Want(t, cli.ExitError, "", "remove it to start over")
}

// Events in all formats of exports are accepted.
func TestImport_Shapes(t *testing.T) {
	const id = "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"
	tests := map[string]struct {
		line string
		want string // the event that is sent; {} replaces its uuid if it has none
	}{
		"our export": {
			`{"type":"event","uuid":"` + id + `","event":"e","distinct_id":"d","properties":{"$ip":"192.0.2.1","n":1.0},"timestamp":"2025-06-01T10:00:00Z","created_at":"2025-06-01T10:00:00Z","elements_chain":"a:b","person_id":"p","person_mode":"full"}`,
			`{"distinct_id":"d","event":"e","properties":{"$elements_chain":"a:b","$ip":"192.0.2.1","n":1.0},"timestamp":"2025-06-01T10:00:00Z","uuid":"` + id + `"}`},
		"without a person": {
			`{"type":"event","uuid":"` + id + `","event":"e","distinct_id":"d","properties":{},"person_mode":"propertyless"}`,
			`{"distinct_id":"d","event":"e","properties":{"$ip":null,"$process_person_profile":false},"uuid":"` + id + `"}`},
		"PostHog's batch export, properties as text": {
			`{"uuid":"` + id + `","event":"e","properties":"{\"a\":\"\\u00e9\"}","distinct_id":"d","team_id":2,"timestamp":"2025-06-01 10:00:00.123456+00:00","person_id":"p","ip":"192.0.2.7","elements":""}`,
			`{"distinct_id":"d","event":"e","properties":{"$ip":"192.0.2.7","a":"\u00e9"},"timestamp":"2025-06-01 10:00:00.123456+00:00","uuid":"` + id + `"}`},
		"PostHog's list": {
			`{"id":"` + id + `","distinct_id":"d","properties":{},"event":"e","timestamp":"2025-06-01T10:00:00Z","person":null,"elements":[],"elements_chain":""}`,
			`{"distinct_id":"d","event":"e","properties":{"$ip":null},"timestamp":"2025-06-01T10:00:00Z","uuid":"` + id + `"}`},
		"no uuid": {
			`{"event":"e","distinct_id":7,"properties":null}`,
			`{"distinct_id":7,"event":"e","properties":{"$ip":null},"uuid":"{}"}`},
		"the id in the properties": {
			`{"event":"e","properties":{"distinct_id":"d"},"uuid":"` + id + `"}`,
			`{"distinct_id":"d","event":"e","properties":{"$ip":null,"distinct_id":"d"},"uuid":"` + id + `"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			kind, got, err := readRecord([]byte(tt.line))
			if err != nil || kind != importEvent {
				t.Fatalf("kind %d, %v", kind, err)
			}
			want := strings.Replace(tt.want, `"{}"`, `"`+lineUUID([]byte(tt.line)).String()+`"`, 1)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// RFC 9562 §5.5: version 5 and variant 10 in binary; the uuid is determined by the text.
func TestImport_LineUUID(t *testing.T) {
	a, b := lineUUID([]byte("a")), lineUUID([]byte("b"))
	if a[6]>>4 != 5 || a[8]>>6 != 2 || a == b || a != lineUUID([]byte("a")) {
		t.Errorf("%s, %s", a, b)
	}
}

// Events of language models are up to 8 MiB, and their lines twice as long if the properties are
// JSON in a string.
func TestImport_LongEvents(t *testing.T) {
	properties := `{"$ai_input":"` + strings.Repeat(`\"`, 3<<20) + `"}`
	text, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	s := newAPIServer(t)
	r := importFrom(s, `{"event":"$ai_span","distinct_id":"d","properties":`+string(text)+"}\n"+`{"event":"$ai_trace","distinct_id":"d","properties":`+properties+"}\n", "-")
	r.Want(t, cli.ExitOK, "", "2 events sent, 0 persons and groups imported, 0 refused, 0 left out")
	if diff := cmp.Diff([]string{"$ai_span", "$ai_trace"}, s.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImport_Omitted(t *testing.T) {
	lines := []struct{ text, why string }{
		{`{"event":"good","distinct_id":"d"}`, ""},
		{`{bad`, "is not a JSON object"},
		{`[1]`, "is not a JSON object"},
		{"\"\xff\"", "is not UTF-8"},
		{`{"event":"","distinct_id":"d"}`, "has no event name"},
		{`{"event":"e"}`, "has no distinct_id"},
		{`{"event":"e","distinct_id":"d","properties":"{"}`, "has properties that are not a JSON object"},
		{`{"person_id":"p","distinct_id":"d"}`, "is a person of PostHog's export"},
		{`{"results":[]}`, `has no "event"`},
		{`{"event":"e","distinct_id":"d","properties":{"x":"` + strings.Repeat("x", wire.MaxEventOf("e")) + `"}}`, "are allowed"},
		{strings.Repeat("x", maxRecord+1), "has more than 20 MiB"},
		{`{"event":"last","distinct_id":"d"}`, ""},
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.text + "\r\n\n") // an empty line after each
	}
	s := newAPIServer(t)
	r := importFrom(s, text.String(), "-")
	r.Want(t, cli.ExitError, "", "2 events sent, 0 persons and groups imported, 0 refused, 10 left out")
	if diff := cmp.Diff([]string{"good", "last"}, s.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n, l := range lines {
		if l.why != "" && !strings.Contains(r.Stderr, fmt.Sprintf("line %d %s", 2*n+1, l.why)) {
			if !strings.Contains(r.Stderr, fmt.Sprintf("line %d ", 2*n+1)) || !strings.Contains(r.Stderr, l.why) {
				t.Errorf("line %d: %q is not told in %q", 2*n+1, l.why, shorter(r.Stderr))
			}
		}
	}
}

func shorter(s string) string { return s[:min(len(s), 1000)] }

func eventLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"event":"e%d","distinct_id":"d"}`+"\n", i)
	}
	return b.String()
}

func eventNames(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("e%d", i))
	}
	return out
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Lines, a list, and gzip of both contain the same events; the order is preserved and batches
// respect their limits.
func TestImport_Forms(t *testing.T) {
	lines := eventLines(2500)
	list := "\ufeff [" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", " ,\n") + "]\n"
	for name, text := range map[string]string{"lines": lines, "no last line break": strings.TrimSpace(lines), "list": list, "gzip": packed(t, lines), "gzip of a list": packed(t, list)} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			importFrom(s, "", clitest.TempFile(t, "events", text)).Want(t, cli.ExitOK, "", "2500 events sent")
			if diff := cmp.Diff(eventNames(2500), s.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]int{1000, 1000, 500}, s.batches); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
		})
	}
	s := newAPIServer(t) // bodies below 5 MB, which the server checks
	large := strings.Repeat(`{"event":"e","distinct_id":"d","properties":{"x":"`+strings.Repeat("x", 900_000)+`"}}`+"\n", 12)
	importFrom(s, large, "-").Want(t, cli.ExitOK, "", "12 events sent")
	if diff := cmp.Diff([]int{5, 5, 2}, s.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	s = newAPIServer(t)
	importFrom(s, `[{"event":"a\\","distinct_id":"d\",]}{"},{"event":"b","distinct_id":"d"}]`, "-").Want(t, cli.ExitOK, "", "2 events sent")
	if diff := cmp.Diff([]string{`a\`, "b"}, s.names()); diff != "" {
		t.Errorf("escapes (-want +got):\n%s", diff)
	}
	importFrom(s, "", clitest.TempFile(t, "events", packed(t, lines)[:200])).Want(t, cli.ExitError, "", "cannot be read")
	importFrom(s, "", clitest.TempFile(t, "events", `[{"event":"e","distinct_id":"d"}`)).Want(t, cli.ExitError, "", "unexpected EOF")
	importFrom(s, "", clitest.TempFile(t, "events", "")).Want(t, cli.ExitOK, "", "0 events sent")
	importFrom(s, "", clitest.TempFile(t, "events", " [ ] ")).Want(t, cli.ExitOK, "", "0 events sent")
}

// A rejected event does not affect the rest of its batch.
func TestImport_OneRejected(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = "e37"
	r := importFrom(s, eventLines(100), "-")
	r.Want(t, cli.ExitError, "", "99 events sent, 0 persons and groups imported, 1 refused")
	if !strings.Contains(r.Stderr, "line 38 was refused: the server answered 400: a bad event") {
		t.Errorf("stderr %q", r.Stderr)
	}
	if diff := cmp.Diff(slices.DeleteFunc(eventNames(100), func(n string) bool { return n == "e37" }), s.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// After an interruption at any batch, the same command sends the remaining events.
func TestImport_Resume(t *testing.T) {
	for name, text := range map[string]string{"lines": eventLines(3500), "gzip": packed(t, eventLines(3500))} {
		for stop := 1; stop <= 4; stop++ {
			s := newAPIServer(t)
			file := clitest.TempFile(t, "events", text)
			s.intercept = func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n == stop {
					w.WriteHeader(http.StatusForbidden)
				}
				return n == stop
			}
			importFrom(s, "", file).Want(t, cli.ExitError, "", "run the same command again")
			importFrom(s, "", file).Want(t, cli.ExitOK, "", "3500 events sent")
			if diff := cmp.Diff(eventNames(3500), s.names()); diff != "" {
				t.Errorf("%s, stop %d (-want +got):\n%s", name, stop, diff)
			}
			if _, err := os.Stat(file + ".import"); !os.IsNotExist(err) {
				t.Errorf("%s, stop %d: the state is still there: %v", name, stop, err)
			}
		}
	}
}

// Of several files, those that were completed are not sent again.
func TestImport_SeveralFiles(t *testing.T) {
	s := newAPIServer(t)
	first, second := clitest.TempFile(t, "a", eventLines(3)), clitest.TempFile(t, "b", eventLines(2))
	s.intercept = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 2 {
			w.WriteHeader(http.StatusForbidden)
		}
		return n == 2
	}
	importFrom(s, "", first, second).Want(t, cli.ExitError, "", "run the same command again")
	importFrom(s, "", first, second).Want(t, cli.ExitOK, "", "5 events sent")
	if diff := cmp.Diff([]int{3, 2}, s.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// Persons and groups are sent to their own endpoint, in the order of the file.
func TestImport_People(t *testing.T) {
	s := newAPIServer(t)
	text := `{"type":"person","uuid":"p1","distinct_ids":["d"]}
{"type":"person","uuid":"p2","distinct_ids":["taken"]}
{"type":"group","group_type":"company","group_key":"acme"}
{"type":"event","event":"e0","distinct_id":"d"}
`
	r := importFrom(s, text, "-")
	r.Want(t, cli.ExitError, "", "1 events sent, 2 persons and groups imported, 1 refused, 0 left out")
	if !strings.Contains(r.Stderr, "line 2 was refused: belongs to another") || len(s.people) != 2 {
		t.Errorf("stderr %q, people %v", r.Stderr, s.people)
	}
	importFrom(s, text, "--key", "", "-").Want(t, cli.ExitError, "", "line 1 is a person or a group, and these need --key")
	importFrom(s, text, "--project-key", "", "-").Want(t, cli.ExitError, "", "line 4 is an event, and events need --project-key")
	importFrom(s, text).Want(t, cli.ExitUsage, "", "give a file, or - for the standard input")
	importFrom(s, text, "--key", "", "--project-key", "", "-").Want(t, cli.ExitUsage, "", "--project-key is missing")
	importFrom(s, text, filepath.Join(t.TempDir(), "none")).Want(t, cli.ExitError, "", "no such file")
	importFrom(s, text, "--project-key", "phc_bad", "-").Want(t, cli.ExitUsage, "", `there is no project "phc_bad"`)
	importFrom(s, `{"type":"event","event":"e0","distinct_id":"d"}`, "--project-key", "phc_bad", "-").Want(t, cli.ExitError, "", "401: not as it should be")
	importFrom(s, text, "--project-key", "phc_bad", "--project", "Shop", "-").Want(t, cli.ExitUsage, "", "--project-key is not the key of project 1 (Shop)")
}

// An export can be imported without changes.
func TestExport_ThenImport(t *testing.T) {
	s := newAPIServer(t)
	importFrom(s, exportTo(s).Stdout, "-").Want(t, cli.ExitOK, "", "25 events sent, 11 persons and groups imported, 0 refused, 0 left out")
}

// testClient returns a client that records its pauses instead of waiting.
func testClient(t *testing.T, s *apiServer) (*apiClient, *[]time.Duration) {
	t.Helper()
	c, err := newAPIClient(s.URL+"/", "phx_good")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	var pauses []time.Duration
	now := time.Unix(0, 0)
	c.now = func() time.Time { return now }
	c.pause = func(_ context.Context, d time.Duration) error {
		pauses, now = append(pauses, d), now.Add(d)
		return nil
	}
	return c, &pauses
}

func TestAPIClient_Retries(t *testing.T) {
	const list = "/api/projects/1/groups_types/"
	for _, status := range []int{408, 429, 500, 502, 503, 504} {
		s := newAPIServer(t)
		s.intercept = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 2 {
				w.Header().Set("Retry-After", "7")
			}
			if n <= 3 {
				w.WriteHeader(status)
			}
			return n <= 3
		}
		c, pauses := testClient(t, s)
		var answer []any
		if err := c.do(context.Background(), "GET", list, nil, &answer); err != nil || len(answer) != 2 {
			t.Errorf("%d: %v", status, err)
		}
		// Half a second, doubled each time, except for the pause that the server requests.
		if diff := cmp.Diff([]time.Duration{500 * time.Millisecond, 7 * time.Second, 2 * time.Second}, *pauses); diff != "" {
			t.Errorf("%d (-want +got):\n%s", status, diff)
		}
	}
	for _, status := range []int{301, 400, 401, 403, 404, 413} {
		s := newAPIServer(t)
		s.intercept = func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
		c, pauses := testClient(t, s)
		if err := c.do(context.Background(), "GET", list, nil, nil); err == nil || len(*pauses) > 0 {
			t.Errorf("%d: %v after %d pauses", status, err, len(*pauses))
		}
	}
	s := newAPIServer(t)
	c, pauses := testClient(t, s)
	s.Close() // the server does not listen
	if err := c.do(context.Background(), "GET", list, nil, nil); err == nil || !strings.Contains(err.Error(), "no answer from "+s.URL) {
		t.Errorf("a stopped server: %v", err)
	}
	if diff := cmp.Diff([]time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond}, *pauses); diff != "" {
		t.Errorf("a stopped server is tried for three seconds (-want +got):\n%s", diff)
	}
	*pauses = nil
	c.retriesSilence, c.hasAnswered = true, true // it has responded before: it may return
	if err := c.do(context.Background(), "GET", list, nil, nil); err == nil || len(*pauses) != apiTries-1 {
		t.Errorf("%v after %d pauses", err, len(*pauses))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	*pauses = nil
	if err := c.do(ctx, "GET", list, nil, nil); err == nil || len(*pauses) != 0 {
		t.Errorf("cancelled: %v after %d pauses", err, len(*pauses))
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"event":"e","distinct_id":"d","properties":"{\"a\":1}","ip":"x","elements_chain":"a"}`))
	f.Add([]byte(`{"type":"person","uuid":"p"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		kind, out, err := readRecord(text)
		if err == nil && kind == importEvent && !json.Valid(out) {
			t.Errorf("%q makes %q", text, out)
		}
	})
}
