package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
)

// console.md N20: each check derives its state from the counters. The numbers are calculated by
// hand: a check uses the difference to some minutes ago, not the total.
func TestHealth_Checks(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	recorder := func(commits, failures, refused uint64, took time.Duration, waiting int) totals {
		return totals{at: now, recorder: capture.RecorderStats{Commits: commits, Failures: failures, Rejected: refused, CommitTime: took, Waiting: waiting}}
	}
	dropped := func(n, m uint64) totals {
		return totals{at: now, intake: capture.IntakeStats{Dropped: map[capture.DropReason]uint64{capture.MissingEventName: n, capture.EventsOverQuota: m}}}
	}
	for name, x := range map[string]struct {
		check        func(context.Context, *healthView) finding
		recent, now  totals
		state, about string
	}{
		"commits, none":                 {commitHealth, recorder(5, 0, 0, time.Hour, 0), recorder(5, 0, 0, time.Hour, 0), "", "Nothing was stored in the last minutes."},
		"commits, 4 in 20 ms":           {commitHealth, recorder(5, 0, 0, time.Hour, 0), recorder(9, 0, 0, time.Hour+20*time.Millisecond, 0), "", "5.0 ms on average in the last minutes"},
		"commits, 2 in 500 ms":          {commitHealth, totals{}, recorder(2, 0, 0, 500*time.Millisecond, 0), healthWarn, "250.0 ms on average in the last minutes"},
		"commits, 1 in 2 s":             {commitHealth, totals{}, recorder(1, 0, 0, 2*time.Second, 0), healthBad, "2000.0 ms on average in the last minutes"},
		"intake, old failures":          {intakeHealth, recorder(9, 7, 1, 0, 0), recorder(9, 7, 1, 0, 3), "", "waiting events: 3; nothing dropped in the last hour"},
		"intake, dropped":               {intakeHealth, dropped(2, 0), dropped(5, 7), "", "waiting events: 0; dropped in the last hour: 10 (events_over_quota 7, missing_event_name 3)"},
		"intake, some fail":             {intakeHealth, recorder(9, 7, 1, 0, 0), recorder(10, 8, 3, 0, 0), healthWarn, "tries to store events that have failed in the last minutes: 1, requests that were refused for now: 2; waiting events: 0; nothing dropped in the last hour"},
		"intake, all fail":              {intakeHealth, recorder(9, 7, 1, 0, 0), recorder(9, 8, 1, 0, 2), healthBad, "No event can be stored. Failed tries in the last minutes: 1; waiting events: 2; nothing dropped in the last hour"},
		"definitions, store":            {definitionsHealth, totals{}, totals{}, "", "from the store"},
		"definitions, failed long ago":  {definitionsHealth, totals{flags: serving.Stats{SourceErrors: 3}}, totals{flags: serving.Stats{SourceErrors: 3}}, "", "from the store"},
		"definitions, failed just now":  {definitionsHealth, totals{flags: serving.Stats{SourceErrors: 3}}, totals{flags: serving.Stats{SourceErrors: 5}}, healthWarn, "Definitions could not be read; flags are evaluated with the last valid ones. Failed reads in the last minutes: 2"},
		"certificate, a month":          {certificateUntil(now.Add(30 * 24 * time.Hour)), totals{}, totals{at: now}, "", "good until 2026-03-31 12:00:00 UTC"},
		"certificate, two weeks":        {certificateUntil(now.Add(14 * 24 * time.Hour)), totals{}, totals{at: now}, healthWarn, "good until 2026-03-15 12:00:00 UTC"},
		"certificate of six days":       {certificateBetween(now.Add(-4*24*time.Hour), now.Add(2*24*time.Hour)), totals{}, totals{at: now}, "", "good until 2026-03-03 12:00:00 UTC"},
		"certificate of six days, late": {certificateBetween(now.Add(-5*24*time.Hour), now.Add(24*time.Hour)), totals{}, totals{at: now}, healthWarn, "good until 2026-03-02 12:00:00 UTC"},
		"certificate, none yet": {func(ctx context.Context, v *healthView) finding {
			v.server.certificate = &certificate{}
			return certificateHealth(ctx, v)
		}, totals{}, totals{at: now}, healthBad, "There is no certificate yet."},
		"certificate, over":             {certificateUntil(now.Add(-time.Hour)), totals{}, totals{at: now}, healthBad, "good until 2026-03-01 11:00:00 UTC"},
		"clock, steady":                 {clockHealth, totals{}, totals{at: now}, "", "steady"},
		"clock, beside the running one": {movedClock, totals{}, totals{}, healthWarn, "The clock was moved by 1h0m0s since the start."},
	} {
		f := x.check(t.Context(), &healthView{parts: &parts{server: &Server{}}, recent: x.recent, hour: x.recent, now: x.now, began: x.now.at})
		if f.state != x.state || f.detail() != x.about {
			t.Errorf("%s: %q %s, want %q %s", name, f.state, f.detail(), x.state, x.about)
		}
		if bad, hasAdvice := f.state != "", f.advice != ""; bad != hasAdvice || hasAdvice && healthTexts[f.advice] == "" {
			t.Errorf("%s: %q has the advice %q", name, f.state, f.advice)
		}
	}
}

func certificateUntil(end time.Time) func(context.Context, *healthView) finding {
	return certificateBetween(time.Time{}, end)
}

func certificateBetween(begin, end time.Time) func(context.Context, *healthView) finding {
	return func(ctx context.Context, v *healthView) finding {
		v.server.certificate = &certificate{}
		v.server.certificate.now.Store(&tls.Certificate{Leaf: &x509.Certificate{NotBefore: begin, NotAfter: end}})
		return certificateHealth(ctx, v)
	}
}

// movedClock reports an hour by the wall clock and a second by the monotonic clock.
func movedClock(context.Context, *healthView) finding {
	now := time.Now()
	return clockBetween(now, now.Add(time.Hour+time.Second), time.Second)
}

// "since" is the start for a state that never changed, and the time of the check for one that did;
// minutes are the differences between checks.
func TestHealth_SinceAndRates(t *testing.T) {
	s, err := Open(t.Context(), Options{Database: "sqlite::memory:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	h := s.parts().health
	first := h.now(t.Context())
	if first.Status != healthOK {
		t.Errorf("%+v", first)
	}
	for _, c := range first.Checks {
		if c.State != healthOK || !c.Since.Equal(h.began.UTC().Truncate(time.Microsecond)) {
			t.Errorf("%+v, want ok since the start, %s", c, h.began)
		}
	}
	r := httptest.NewRequest("GET", "/api/health/", nil)
	r.Header.Set("Authorization", "Bearer "+s.OwnerKey())
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if want := `{"status":"ok","checks":[{"name":"storage","state":"ok",`; w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), want) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.minutes = append(h.minutes, totals{at: h.began.Add(time.Minute), flags: serving.Stats{Requests: 70}, intake: capture.IntakeStats{Accepted: 9}, errors: 1},
		totals{at: h.began.Add(2 * time.Minute), flags: serving.Stats{Requests: 75}, intake: capture.IntakeStats{Accepted: 19}, errors: 1})
	h.since["clock"] = mark{healthWarn, h.began}
	h.last = nil
	second := h.now(t.Context())
	if r := second.Rates; len(r.Minutes) != 2 || r.Flags[0] != 70 || r.Flags[1] != 5 || r.Events[1] != 10 || r.Errors[0] != 1 || r.Errors[1] != 0 {
		t.Errorf("rates: %+v", r)
	}
	if c := second.Checks[len(second.Checks)-1]; c.Name != "clock" || !c.Since.After(h.began) {
		t.Errorf("a check that is ok again: %+v, want a later since", c)
	}
	if again := h.now(t.Context()); again != second {
		t.Error("who asks at once gets another look")
	}
}
