package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
)

// §6.3: one entry for each event. Duplicates were stored before, and an event of an id that names
// nobody is stored without a person.
func TestV1_Results(t *testing.T) {
	t.Parallel()
	items := []capture.Item{{DistinctID: "ann"}, {DistinctID: "Anonymous"}, {DistinctID: "ann"}, {DistinctID: "ann"}, {DistinctID: "anonymous"}, {}}
	for i := range items {
		items[i].UUID[15] = byte(i)
	}
	receipt := &capture.Receipt{Results: []capture.DropReason{capture.NotDropped, capture.NotDropped, capture.Duplicate, capture.EventsOverQuota, capture.Duplicate, "missing_distinct_id"}}
	var got struct {
		Results map[string]struct{ Result, Details string }
	}
	if err := json.Unmarshal(resultsV1(&capture.Submission{Items: items}, receipt), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"ok ", "warning person_processing_disabled", "ok ", "drop events_over_quota", "ok ", "drop missing_distinct_id"} {
		r := got.Results[fmt.Sprintf("00000000-0000-0000-0000-%012d", i)]
		if r.Result+" "+r.Details != want {
			t.Errorf("%d: %+v, want %s", i, r, want)
		}
	}
	if len(got.Results) != len(items) {
		t.Errorf("%d results", len(got.Results))
	}
}

// §13.4: a batch is refused as a whole only if each of its events is over a quota.
func TestV1_AllOverQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		results []capture.DropReason
		want    bool
	}{
		{[]capture.DropReason{capture.EventsOverQuota}, true},
		{[]capture.DropReason{capture.EventsOverQuota, "exceptions_over_quota", "llm_events_over_quota", "survey_responses_over_quota"}, true},
		{[]capture.DropReason{capture.EventsOverQuota, capture.NotDropped}, false},
		{[]capture.DropReason{capture.MissingEventName}, false},
		{[]capture.DropReason{capture.EventsOverQuota, capture.Duplicate}, false},
	} {
		if got := isAllOverQuota(&capture.Receipt{Results: c.results}); got != c.want {
			t.Errorf("%q: %v", c.results, got)
		}
	}
}

// §6.2: the errors of a request, with a link for people. Errors of the server keep their cause for
// the log.
func TestV1_Problems(t *testing.T) {
	t.Parallel()
	cause := errors.New("the disk is full")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"of the protocol": {&capture.V1Error{Status: 400, Tag: "empty_batch", Description: "no events"}, `400 {"error":"empty_batch","error_description":"no events","error_uri":"https://posthog.com/docs/api"}`},
		"a quota":         {&problemBilling, `402 {"error":"billing_limit_exceeded","error_description":"all events of the batch are over the project's quota","error_uri":"https://posthog.com/docs/billing/limits-alerts"}`},
		"a problem":       {problemEncoding.With("compress", ""), `415 {"error":"unsupported_encoding",`},
		"of the server":   {errors.Join(&problemNotStored, cause), `503 {"error":"server_error","error_description":"transient error, please retry",`},
	} {
		err := problemV1(c.err)
		var p *problem.Problem
		if !errors.As(err, &p) || !strings.HasPrefix(fmt.Sprintf("%d %s", p.Status, p.Body), c.want) {
			t.Errorf("%s: %v, %s, want %s", name, err, p.Body, c.want)
		}
		if errors.Is(err, cause) != (p.Status >= 500) || p.Status == 503 && p.RetryAfter != 1 {
			t.Errorf("%s: %v, retry after %d", name, err, p.RetryAfter)
		}
	}
	if problemBilling.Body != nil || !errors.Is(problemV1(cause), cause) {
		t.Error("the problem itself, or another error, is changed")
	}
}
