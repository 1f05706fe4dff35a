package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

// manageFile is a file of testdata/management: cases of one resource.
type manageFile struct {
	Clause string       `json:"clause"`
	Source string       `json:"source"` // the source of the expected values
	Cases  []manageCase `json:"cases"`
}

// manageCase is a series of requests to a new office.
type manageCase struct {
	Name  string       `json:"name"`
	Row   int          `json:"row"` // of spec/management.md §6, 0 without a row
	Note  string       `json:"note"`
	Steps []manageStep `json:"steps"`
}

// manageStep is a request and its response. Texts may contain names in braces, for values of the
// office (org, other_org, owner, owner_id, ...) and values that earlier steps saved.
type manageStep struct {
	// After advances the clock first.
	After string `json:"after"`
	// DNS are TXT records by host, from now on.
	DNS map[string][]string `json:"dns"`
	// Follow first runs the follower of exceptions through the log.
	Follow bool `json:"follow"`
	// Run performs a background job of the server: scheduled applies the due changes, spent stores
	// the usage by caller.
	Run string `json:"run"`
	// As selects the key, in the notation of office.key; empty means the owner's, none means no
	// key.
	As      string            `json:"as"`
	Request string            `json:"request"` // method and path
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Text    string            `json:"text"` // sent unchanged instead of Body

	Status int `json:"status"`
	// Want is the body: <uuid>, <time>, <int>, <text>, <key> and <any> match values of that kind,
	// <{name}> a number that was saved, and an object with the member ... may have additional
	// members. If null or absent, the body is not checked; the text "" means an empty body.
	Want json.RawMessage `json:"want"`
	// WantText is the body, byte by byte.
	WantText    string            `json:"want_text"`
	WantHeaders map[string]string `json:"want_headers"`
	// Error is the envelope: type, code, detail, attr.
	Error []any `json:"error"`
	// Keep saves values of the response under names, by their path, such as results.0.id; an empty
	// path is the whole body, accept_url?secret a parameter of a URL.
	Keep map[string]string `json:"keep"`
}

// manageFiles returns the files of cases below testdata/management, by their names.
func manageFiles(t testing.TB, folder string) map[string]manageFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../testdata/management", folder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	out := map[string]manageFile{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f manageFile
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if f.Clause == "" || f.Source == "" {
			t.Errorf("%s: clause and source are missing", path)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".json")] = f
	}
	return out
}

// Every case has the responses of its file. Each write is first tried with a full disk: it returns
// 503 with Retry-After and stores no data, so that the case then continues unchanged.
// TestManagement_PostgresCases runs cases without these attempts.
func TestManagement_Cases(t *testing.T) {
	eachManageCase(t, "", func(t *testing.T, c *manageCase) {
		o, full := fullOffice(t)
		o.walkAfterFullDisk(t, c.Steps, full)
	})
}

// eachManageCase runs the cases of a folder below testdata/management.
func eachManageCase(t *testing.T, folder string, run func(t *testing.T, c *manageCase)) {
	t.Helper()
	for name, f := range manageFiles(t, folder) {
		for _, c := range f.Cases {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				run(t, &c)
			})
		}
	}
}

func (o *office) walk(t *testing.T, steps []manageStep) {
	t.Helper()
	for i := range steps {
		if ok := o.step(t, fmt.Sprintf("step %d, %s", i+1, steps[i].Request), &steps[i]); !ok {
			return
		}
	}
}

// officeRuns are background jobs of a server.
var officeRuns = map[string]func(*office) error{
	"spent": func(o *office) error {
		var list []sqlstore.Spending
		for _, x := range o.handler.TakeUsage() {
			list = append(list, sqlstore.Spending(x))
		}
		return o.store.AddSpending(context.Background(), o.now(), list)
	},
	"evaluated": func(o *office) error {
		var list []sqlstore.Evaluation
		for _, x := range o.handler.TakeEvaluationCounts() {
			list = append(list, sqlstore.Evaluation(x))
		}
		return o.store.AddEvaluations(context.Background(), o.now(), list)
	},
	"alerts": func(o *office) error {
		_, err := o.service.Dashboards.Alerts.CheckDue(context.Background())
		return err
	},
	"scheduled": func(o *office) error {
		_, changes := o.service.Changes.Scheduled.RunDue(context.Background())
		_, surveys := o.service.Surveys.StartDueIterations(context.Background())
		return errors.Join(changes, surveys)
	},
}

var braced = regexp.MustCompile(`\{[a-z0-9_]+\}`)

// fill replaces names in braces with their values.
func (o *office) fill(text string) string {
	return braced.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := o.vars[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

func (o *office) step(t *testing.T, name string, s *manageStep) bool {
	t.Helper()
	if s.After != "" {
		d, err := time.ParseDuration(s.After)
		if err != nil {
			t.Fatal(name, err)
		}
		o.clock.Add(d.Microseconds())
	}
	if s.DNS != nil {
		o.dns.mu.Lock()
		o.dns.hosts = map[string][]string{}
		for host, texts := range s.DNS {
			for _, text := range texts {
				o.dns.hosts[o.fill(host)] = append(o.dns.hosts[o.fill(host)], o.fill(text))
			}
		}
		o.dns.mu.Unlock()
	}
	if s.Follow {
		o.follow(t)
	}
	if s.Run != "" {
		if err := officeRuns[s.Run](o); err != nil {
			t.Error(name, err)
		}
	}
	if s.Request == "" {
		return true
	}
	status, headers, body := o.send(t, s)
	failed := false
	fail := func(format string, args ...any) {
		t.Helper()
		failed = true
		t.Errorf(name+": "+format, args...)
	}
	if status != s.Status {
		fail("status %d, want %d: %s", status, s.Status, body)
	}
	for header, want := range s.WantHeaders {
		// One of the header's lines must match: compression adds to Vary too.
		if got := headers.Values(header); !slices.Contains(got, o.fill(want)) && (want != "" || len(got) > 0) {
			fail("%s is %q, want %q", header, got, o.fill(want))
		}
	}
	want := s.Want
	if s.Error != nil {
		e := slices.Concat(s.Error, []any{nil, nil, nil, nil})[:4]
		want, _ = json.Marshal(map[string]any{"type": e[0], "code": e[1], "detail": e[2], "attr": e[3]})
	}
	if len(want) > 0 && string(want) != "null" {
		if diff := o.compare(o.fill(string(want)), body); diff != "" {
			fail("body (-want +got):\n%s", diff)
		}
	}
	if s.WantText != "" && o.fill(s.WantText) != string(body) {
		fail("body (-want +got):\n%s", cmp.Diff(o.fill(s.WantText), string(body)))
	}
	for as, path := range s.Keep {
		path, parameter, _ := strings.Cut(path, "?")
		value, ok := dig(body, path)
		if parameter != "" {
			value = parameterOf(value, parameter)
		}
		if !ok {
			fail("the answer has no %s: %s", path, body)
			continue
		}
		o.vars[as] = value
	}
	return !failed
}

func (o *office) send(t *testing.T, s *manageStep) (status int, headers http.Header, body []byte) {
	t.Helper()
	return o.sendTo(t, o.URL, s)
}

func (o *office) sendTo(t *testing.T, url string, s *manageStep) (status int, headers http.Header, body []byte) {
	t.Helper()
	method, path, _ := strings.Cut(o.fill(s.Request), " ")
	sent := o.fill(s.Text)
	if s.Body != nil {
		sent = o.fill(string(s.Body))
	}
	req, err := http.NewRequest(method, url+path, strings.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	if sent != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	caller := s.As
	if caller == "" {
		caller = "owner"
	}
	if caller != "none" {
		req.Header.Set("Authorization", "Bearer "+o.key(t, o.fill(caller)))
	}
	for name, v := range s.Headers {
		if v == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, o.fill(v))
	}
	res, err := o.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return res.StatusCode, res.Header, nil // the response is a stream without end
	}
	body, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, body
}

// compare describes the difference between a body and the expected body.
func (o *office) compare(want string, body []byte) string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return "the case is no JSON: " + err.Error()
	}
	if w == "" {
		if len(body) > 0 {
			return "+ " + string(body)
		}
		return ""
	}
	if err := json.Unmarshal(body, &g); err != nil {
		return fmt.Sprintf("no JSON: %q", body)
	}
	w = o.settle(w, g)
	return cmp.Diff(w, g)
}

var placeholders = map[string]*regexp.Regexp{
	"<uuid>": regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"$`),
	"<time>": regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"$`),
	"<int>":  regexp.MustCompile(`^-?\d+$`),
	"<text>": regexp.MustCompile(`^".+"$`),
	"<key>":  regexp.MustCompile(`^"ph[xcs]_[0-9A-Za-z]{40,50}"$`),
	"<any>":  regexp.MustCompile(``),
}

// insightResults are the members of an insight that are results of its query; the vectors of
// spec/insights.md check them, cases only if they name them.
var insightResults = []string{
	"result", "hasMore", "columns", "types", "last_refresh", "is_cached", "cache_target_age", "next_allowed_client_refresh",
	"query_status", "timezone", "hogql", "resolved_date_range", "error", "derived_name",
}

// settle replaces placeholders in want with the values of the response that they match.
func (o *office) settle(want, got any) any {
	switch w := want.(type) {
	case string:
		if pattern, ok := placeholders[w]; ok {
			text, _ := json.Marshal(got)
			if pattern.Match(text) {
				return got
			}
		}
		if inner, ok := strings.CutPrefix(w, "<"); ok { // a number that an earlier step saved
			if n, err := strconv.ParseFloat(strings.TrimSuffix(inner, ">"), 64); err == nil {
				return n
			}
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return w
		}
		out := map[string]any{}
		if _, insight := g["derived_name"]; insight {
			for _, name := range insightResults {
				if v, there := g[name]; there {
					out[name] = v
				}
			}
		}
		for name, v := range w {
			if name == "..." {
				for otherName, v := range g {
					if _, named := w[otherName]; !named {
						out[otherName] = v
					}
				}
				continue
			}
			out[name] = o.settle(v, g[name])
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return w
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = o.settle(w[i], g[i])
		}
		return out
	}
	return want
}

func parameterOf(address, name string) string {
	target, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return target.Query().Get(name)
}

// dig returns the value at a path of a response.
func dig(body []byte, path string) (string, bool) {
	if path == "" {
		return string(body), true
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", false
	}
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				return "", false
			}
			v = x[i]
		default:
			return "", false
		}
	}
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	case json.Number:
		return x.String(), true
	}
	text, err := json.Marshal(v)
	return string(text), err == nil && reflect.ValueOf(v).IsValid()
}
