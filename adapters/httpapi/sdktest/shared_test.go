package sdktest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// This file has checks that are the same for every SDK.

// wrongKeys are keys without access to the definitions of project main, with the resulting status.
var wrongKeys = map[string]int{
	"phx_nobody":      http.StatusUnauthorized,
	"phs_nobody":      http.StatusUnauthorized,
	"phs_strict":      http.StatusUnauthorized, // the key of another project
	"phx_main_narrow": http.StatusForbidden,    // without the scope
}

// checkAnswers checks an SDK that evaluates flags locally and requests the others.
func checkAnswers(t *testing.T, p *project, sub *subject, want, localAnswers, both answers) {
	t.Helper()
	for key, mine := range localAnswers {
		if both[key] != mine {
			t.Errorf("%s for %s: %v once, then %v", key, sub.Name, mine, both[key])
		}
	}
	for key, server := range want {
		mine, answered := both[key]
		if _, decided := localAnswers[key]; !decided && (!answered || mine != server) {
			t.Errorf("%s for %s: %v, the server says %v", key, sub.Name, mine, server)
		}
	}
	for _, key := range serverOnlyFlags[p.Name] {
		if both[key] != want[key] {
			t.Errorf("%s for %s: %v, the server says %v", key, sub.Name, both[key], want[key])
		}
	}
}

// polling checks a client that polls continuously. value returns the flag rollout-None for a
// subject, evaluated locally, or nil if the client has no such flag.
func polling(t *testing.T, s *server, p *project, value func() any) {
	t.Helper()
	statuses := func() (all []int) {
		for _, r := range s.requestsTo("/flags/definitions") {
			all = append(all, r.Status)
		}
		return all
	}
	last := func(status int) func() bool {
		return func() bool { all := statuses(); return len(all) > 0 && all[len(all)-1] == status }
	}
	eventually(t, "304", last(http.StatusNotModified))
	if got := statuses(); got[0] != http.StatusOK || slices.Index(got, http.StatusNotModified) != 1 {
		t.Errorf("statuses %v", got)
	}
	first, second := s.requestsTo("/flags/definitions")[0], s.requestsTo("/flags/definitions")[1]
	if first.Header.Get("If-None-Match") != "" || !strings.HasPrefix(second.Header.Get("If-None-Match"), `W/"`) {
		t.Errorf("If-None-Match %q, then %q", first.Header["If-None-Match"], second.Header["If-None-Match"])
	}
	if got := value(); got != true {
		t.Errorf("after 304: %v", got)
	}
	s.change(p.Name, func(f *flags.FileProject) {
		f.Definitions.Flags = slices.Clone(f.Definitions.Flags)
		i := slices.IndexFunc(f.Definitions.Flags, func(f flags.Flag) bool { return f.Key == "rollout-None" })
		f.Definitions.Flags[i] = flags.Flag{ID: f.Definitions.Flags[i].ID, Key: "rollout-None"} // not active
	})
	eventually(t, "the changed flag", func() bool { return value() == false })
	s.change(p.Name, func(f *flags.FileProject) {
		f.QuotaLimited = []string{"feature_flags"}
		f.Definitions.Flags = f.Definitions.Flags[:len(f.Definitions.Flags)-1] // otherwise the response is 304
	})
	eventually(t, "402 to clear the flags", func() bool { return value() == nil })
	if !slices.Contains(statuses(), http.StatusPaymentRequired) {
		t.Errorf("statuses %v", statuses())
	}
	s.change(p.Name, func(f *flags.FileProject) { f.QuotaLimited = nil })
	eventually(t, "flags after the pause", func() bool { return value() == false })
}

// calledEvents returns the properties of the $feature_flag_called events that were sent to /batch/.
func calledEvents(t *testing.T, s *server) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, r := range s.requestsTo("/batch") {
		var body struct {
			Batch []struct {
				Event      string
				Properties map[string]any
			}
		}
		var in io.Reader = strings.NewReader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			gz, err := gzip.NewReader(in)
			if err != nil {
				t.Fatal(err)
			}
			in = gz
		}
		if err := json.NewDecoder(in).Decode(&body); err != nil {
			t.Fatal(err)
		}
		for _, e := range body.Batch {
			if e.Event == "$feature_flag_called" {
				all = append(all, e.Properties)
			}
		}
	}
	return all
}

// checkEvents checks the events about two flags that are on for all subjects, experiment and
// rollout-100 (§10.3).
func checkEvents(t *testing.T, p *project, events []map[string]any, n int) {
	t.Helper()
	if len(events) != n {
		t.Errorf("%d events, want %d: %v", len(events), n, events)
	}
	for _, e := range events {
		flag, remote := p.flag(e["$feature_flag"]), e["locally_evaluated"] == false
		if remote || flag.HasExperiment { // a definition may omit it if it is false
			if e["$feature_flag_has_experiment"] != flag.HasExperiment {
				t.Errorf("has_experiment of %v", e)
			}
		}
		if !remote {
			continue
		}
		for name, want := range map[string]any{
			"$feature_flag_reason": "Matched condition set 1", "$feature_flag_id": float64(flag.ID), "$feature_flag_version": float64(flag.Version),
		} {
			if e[name] != want {
				t.Errorf("%s is %v, want %v", name, e[name], want)
			}
		}
	}
}

// limit sets a monthly quota of flag requests for a project's organization.
func (s *server) limit(name string, requests int64) {
	s.change(name, func(f *flags.FileProject) { f.FlagLimit = &requests })
}

func (p *project) flag(key any) *flags.Flag {
	i := slices.IndexFunc(p.Definitions.Flags, func(f flags.Flag) bool { return f.Key == key })
	return &p.Definitions.Flags[i]
}

// inProcess handles requests without a socket, so that a test can use a fake clock.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.RequestURI(), r.Body)
	in.Header = r.Header
	out := httptest.NewRecorder()
	h.ServeHTTP(out, in)
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return out.Result(), nil
}

// tail is a writer that stores the last 4096 bytes.
type tail struct{ buffer []byte }

func (w *tail) Write(p []byte) (int, error) {
	w.buffer = append(w.buffer, p...)
	if n := len(w.buffer) - 4096; n > 0 {
		w.buffer = w.buffer[n:]
	}
	return len(p), nil
}

func (w *tail) String() string { return string(w.buffer) }
