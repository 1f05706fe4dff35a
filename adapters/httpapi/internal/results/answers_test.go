package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/charts"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/experiments"
)

// Errors of a query and of running it (spec/insights.md §1.7): their status, type and code, and the
// seconds until a busy server may be tried again, rounded up.
func TestProblem_OfQueries(t *testing.T) {
	t.Parallel()
	run := func(kind queries.Kind, after time.Duration) error {
		return fmt.Errorf("x: %w", &queries.Error{Kind: kind, Detail: "why 100%", RetryAfter: after})
	}
	for name, c := range map[string]struct {
		err        error
		want, attr string
		retryAfter int
	}{
		"in the query":      {&port.Error{Code: "invalid_input", Attr: "query__series__0", Detail: "why 100%"}, "400 validation_error invalid_input", "query__series__0", 0},
		"without a place":   {fmt.Errorf("x: %w", &port.Error{Code: "query_too_large", Detail: "why 100%"}), "400 validation_error query_too_large", "", 0},
		"out of time":       {run(queries.TimedOut, 0), "504 server_error query_timeout", "", 0},
		"cancelled":         {run(queries.Cancelled, 0), "400 validation_error query_cancelled", "", 0},
		"busy":              {run(queries.Busy, 1500*time.Millisecond), "429 throttled_error throttled", "", 2},
		"busy for a moment": {run(queries.Busy, time.Millisecond), "429 throttled_error throttled", "", 1},
		"another run":       {run(queries.Conflict, 0), "409 server_error conflict", "", 0},
		"no such run":       {run(queries.NotFound, 0), "404 invalid_request not_found", "", 0},
	} {
		var p *problem.Problem
		if !errors.As(Problem(c.err), &p) {
			t.Errorf("%s: no problem", name)
			continue
		}
		attr := ""
		if p.Attr != nil {
			attr = *p.Attr
		}
		if got := fmt.Sprintf("%d %s %s", p.Status, p.Type, p.Code); got != c.want || attr != c.attr || p.RetryAfter != c.retryAfter || p.Detail != "why 100%" {
			t.Errorf("%s: %s, attr %q, %+v", name, got, attr, p)
		}
	}
	other := errors.New("x")
	if !errors.Is(Problem(other), other) || Problem(nil) != nil {
		t.Error("another error is changed")
	}
}

// The member refresh (spec/insights.md §1.6): a mode, or true and false, also as JSON. null is the
// cache only, and without the member each endpoint has its own default.
func TestModeOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]queries.Mode{
		"": queries.Async, "null": queries.CacheOnly, "true": queries.Blocking, "false": queries.CacheOnly, `"true"`: queries.Blocking, `"false"`: queries.CacheOnly,
		`"blocking"`: queries.Blocking, `"force_blocking"`: "force_blocking", `"async"`: queries.Async, `"lazy_async"`: "lazy_async", `"force_async"`: queries.ForceAsync,
		`"async_except_on_cache_miss"`: "async_except_on_cache_miss", `"force_cache"`: queries.CacheOnly,
	} {
		var text json.RawMessage
		if raw != "" {
			text = json.RawMessage(raw)
		}
		if got, err := modeOf(text, queries.Async); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{`""`, `"Blocking"`, `"now"`, `1`, `{}`, `[true]`, `"` + strings.Repeat("x", 5000) + `"`} {
		got, err := modeOf(json.RawMessage(raw), queries.Async)
		var p *problem.Problem
		if got != "" || !errors.As(err, &p) || p.Status != 400 || p.Code != "invalid_choice" || *p.Attr != "refresh" || len(p.Detail) > 500 {
			t.Errorf("%.50s: %q, %v", raw, got, err)
		}
	}
}

// Cells of CSV. Text that a spreadsheet would run as a formula begins with an apostrophe.
func TestCSV_Cells(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`null`: "", `""`: "", `"a"`: "a", `"=1+1"`: "'=1+1", `"+1"`: "'+1", `"-1"`: "'-1", `"@x"`: "'@x", `"\tx"`: "'\tx", `"\rx"`: "'\rx", `" =1"`: " =1", `"a=1"`: "a=1", `"é"`: "é",
		`-1.50`: "-1.50", `12345678901234567890`: "12345678901234567890", `1e-7`: "1e-7", `true`: "true", `false`: "false",
	} {
		if got := cell(wire.Value(json.RawMessage(raw))); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	head := strings.SplitN(string(resultsCSV(nil)), "\n", 2)
	if n := strings.Count(head[0], ",") + 1; head[1] != "" || n != 1+len(metricColumns)+len(variantColumns)+2 {
		t.Errorf("without results: %q", head)
	}
}

// A metric of an experiment is found by its uuid in both lists and in the saved metrics; its
// fingerprint changes with the metric.
func TestFingerprintOf(t *testing.T) {
	t.Parallel()
	x := &experiments.Experiment{}
	x.Metrics = json.RawMessage(`[{"uuid":"a","fingerprint":"1"},{"uuid":"b"}]`)
	x.MetricsSecondary = json.RawMessage(`[{"uuid":"c","fingerprint":"3"},{"uuid":"a","fingerprint":"x"}]`)
	for uuid, want := range map[string]string{"a": "1 true", "b": " true", "c": "3 true", "d": " false", "A": " false"} {
		fingerprint, exists := fingerprintOf(x, uuid)
		if got := fmt.Sprint(fingerprint, " ", exists); got != want {
			t.Errorf("%s: %s, want %s", uuid, got, want)
		}
	}
	if _, exists := fingerprintOf(&experiments.Experiment{}, "a"); exists {
		t.Error("an experiment without metrics has one")
	}
}

// The days of a metric, from the result of its query. Without days the response stays pending.
func TestExperimentSeries_Fill(t *testing.T) {
	t.Parallel()
	out := &experimentSeries{Status: "pending", Days: map[string]json.RawMessage{}}
	if err := out.fill(nil); err != nil || out.Status != "pending" || out.Computed != nil || len(out.Days) != 0 {
		t.Errorf("no result: %+v, %v", out, err)
	}
	if err := out.fill(map[string]any{"timeseries": map[string]any{"2026-01-31": map[string]int{"n": 1}}}); err != nil || out.Status != "completed" || out.Computed != nil || string(out.Days["2026-01-31"]) != `{"n":1}` {
		t.Errorf("without a time: %+v, %v", out, err)
	}
	if err := out.fill(map[string]any{"timeseries": map[string]any{}, "last_refresh": "T"}); err != nil || *out.Computed != "T" || *out.Created != "T" || *out.Updated != "T" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A run that recomputes the days of a metric has a name of the experiment and the metric.
func TestSeriesRequest_Recalculation(t *testing.T) {
	t.Parallel()
	x := &experiments.Experiment{}
	x.ID = 7
	series := &seriesRequest{x, "u", "f"}
	start, fault := "T", "no"
	for name, c := range map[string]struct {
		status *queries.Status
		want   recalculation
	}{
		"not started": {nil, recalculation{ID: "timeseries-7-u", Experiment: 7, Metric: "u", Fingerprint: "f", Status: "pending"}},
		"running":     {&queries.Status{Start: &start}, recalculation{ID: "timeseries-7-u", Experiment: 7, Metric: "u", Fingerprint: "f", Status: "pending", Created: &start}},
		"failed":      {&queries.Status{Start: &start, Complete: true, ErrorMessage: &fault}, recalculation{ID: "timeseries-7-u", Experiment: 7, Metric: "u", Fingerprint: "f", Status: "pending", Created: &start, ended: true, fault: &fault}},
	} {
		if got := *series.recalculation(c.status); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// checkedBody returns the error and the warnings of the check of a body.
func checkedBody(t *testing.T, questions []question, body string) (string, []string) {
	t.Helper()
	var warnings []string
	c := &frame.Call{}
	c.Body.Warn = func(text string) { warnings = append(warnings, text) }
	if err := json.Unmarshal([]byte(body), &c.Body.Members); err != nil {
		t.Fatal(err)
	}
	err := checksOf(questions)(c)
	var p *problem.Problem
	if !errors.As(err, &p) {
		return fmt.Sprint(err), warnings
	}
	attr := ""
	if p.Attr != nil {
		attr = *p.Attr
	}
	return fmt.Sprintf("%d %s", p.Status, attr), warnings
}

// Decision 30: a member within two edits of one that is absent is an error with its place, any other
// unknown member is a warning. Values of another type are the errors of their field.
func TestChecks_OfBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		questions []question
		body      string
		want      string
		warns     string // a part of the only warning
	}{
		"nothing":             {insightQuestions, `{}`, "<nil>", ""},
		"a correct query":     {insightQuestions, `{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"x"}]}}`, "<nil>", ""},
		"a misspelled member": {insightQuestions, `{"query":{"kind":"TrendsQuery","series":[],"intervall":"day"}}`, "400 query__intervall", ""},
		"an unknown member":   {insightQuestions, `{"query":{"kind":"TrendsQuery","series":[],"xyzzyxyzzy":1}}`, "<nil>", "xyzzyxyzzy"},
		"a query of null":     {insightQuestions, `{"query":null}`, "<nil>", ""},
		"a query of text":     {insightQuestions, `{"query":"x"}`, "<nil>", ""},
		"of a tile":           {templateQuestions, `{"tiles":[{},{"query":{"kind":"TrendsQuery","series":[],"intervall":"day"}}]}`, "400 tiles__1__query__intervall", ""},
		"tiles of no list":    {templateQuestions, `{"tiles":{"query":{"kind":"TrendsQuery","intervall":"day"}}}`, "<nil>", ""},
		"tiles of texts":      {templateQuestions, `{"tiles":["x",null,[]]}`, "<nil>", ""},
		"overrides":           {queryOverrides, `{"filters_override":{"date_form":"-7d"}}`, "400 filters_override__date_form", ""},
		"of no such member":   {queryOverrides, `{"query":{"kind":"TrendsQuery","intervall":"day"}}`, "<nil>", ""},
	} {
		got, warnings := checkedBody(t, c.questions, c.body)
		if got != c.want || (len(warnings) == 1) != (c.warns != "") || c.warns != "" && !strings.Contains(warnings[0], c.warns) {
			t.Errorf("%s: %s, warnings %q, want %s", name, got, warnings, c.want)
		}
	}
}

// The message of a shared page about an insight without a current result, by its reason. It quotes
// neither the query nor errors of the server.
func TestSharedPage_States(t *testing.T) {
	t.Parallel()
	name := "query__kind"
	refreshed := "2026-03-31T12:00:00Z"
	fault := func(kind, code string, attr *string) *dashboards.Insight {
		i := &dashboards.Insight{}
		i.Error = &dashboards.InsightError{Type: kind, Code: code, Attr: attr, Detail: "secret"}
		return i
	}
	running := func(result string, last *string) *dashboards.Insight {
		i := &dashboards.Insight{}
		i.QueryStatus, i.LastRefresh = json.RawMessage(`{}`), last
		if result != "" {
			i.Result = json.RawMessage(result)
		}
		return i
	}
	ran := &resultRun{project: &port.Project{Location: time.FixedZone("CEST", 2*3600)}}
	for _, c := range []struct {
		insight *dashboards.Insight
		ran     *resultRun
		want    string
	}{
		{&dashboards.Insight{}, nil, "This server keeps insights and does not run them."},
		{fault("validation_error", "not_supported", nil), ran, "This question is not supported here."},
		{fault("validation_error", "invalid_input", &name), ran, "This question is not supported here."},
		{fault("validation_error", "query_too_large", nil), ran, "The answer is too large to be shown here."},
		{fault("throttled_error", "throttled", nil), ran, "The server is busy at the moment. Reload the page in a moment."},
		{fault("server_error", "query_timeout", nil), ran, "This takes too long to be computed."},
		{fault("server_error", "internal_error", nil), ran, "This could not be computed: something went wrong on the server."},
		{fault("validation_error", "invalid_input", nil), ran, "This question cannot be answered."},
		{running("", nil), ran, "This is still being computed. Load the page again in a moment."},
		{running("null", nil), ran, "This is still being computed. Load the page again in a moment."},
		{running("[]", &refreshed), ran, "These numbers are of 2026-03-31 14:00 CEST; newer ones are being computed."},
		{&dashboards.Insight{}, ran, "This insight has no query yet."},
	} {
		if got := stateOf(c.insight, c.ran); got != c.want {
			t.Errorf("%+v: %q, want %q", c.insight.Error, got, c.want)
		}
	}
	for raw, want := range map[string]bool{"": true, "null": true, "[]": false, "0": false, "{}": false} {
		if got := noResult(json.RawMessage(raw)); got != want {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// The size of a figure counts the escaped text of its cells and the tags around them.
func TestSharedPage_SizeOf(t *testing.T) {
	t.Parallel()
	const around = 23 // <td class="n h10"></td>
	f := &charts.Figure{Picture: "12345", Tables: []charts.Table{{Rows: [][]charts.Cell{{{Text: "ab"}, {Text: "<"}}, {{}}}}}}
	if got, want := sizeOf(f), 5+(2+around)+(4+around)+around; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
