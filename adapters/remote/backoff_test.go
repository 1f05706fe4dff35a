package remote

import (
	"net/http"
	"testing"
	"time"
)

// The back-off has full jitter: a share of 1, 2, 4, 8, 16 and then 30 seconds.
func TestSource_BackoffIsFullJitter(t *testing.T) {
	for _, share := range []float64{0, 0.5, 1} {
		s := &Source{c: &Config{knobs: &knobs{random: func() float64 { return share }}}}
		var next schedule
		for i, most := range []float64{1, 2, 4, 8, 16, 30, 30, 30} {
			want := time.Duration(share * most * float64(time.Second))
			if got := s.backoff(&next, 0); got != want {
				t.Errorf("retry %d with share %v: %v, want %v", i+1, share, got, want)
			}
		}
		if got := s.backoff(&next, time.Minute); got < time.Minute || got > time.Minute+time.Second {
			t.Errorf("after Retry-After: 60 it waits %v", got)
		}
	}
}

func TestSource_RetryAfter(t *testing.T) {
	now := time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"0", "", 0}, {"7", "", 7 * time.Second}, {"-7", "", 0}, {"soon", "", 0},
		{"86400", "", time.Hour}, {"99999999999999999999", "", time.Hour},
		{"Wed, 15 Jul 2026 12:00:30 GMT", "", 30 * time.Second},
		{"Wed, 15 Jul 2026 11:00:00 GMT", "", 0},
		{"Wed, 15 Jul 2020 12:00:30 GMT", "Wed, 15 Jul 2020 12:00:20 GMT", 10 * time.Second}, // the clocks differ
	} {
		h := http.Header{}
		h.Set("Retry-After", tt.after)
		h.Set("Date", tt.date)
		if got := min(retryAfterOf(h, now), maxRetryAfter); got != tt.want {
			t.Errorf("%q at %q: %v, want %v", tt.after, tt.date, got, tt.want)
		}
	}
}

func TestCleanVersion(t *testing.T) {
	for etag, want := range map[string]string{
		`W/"5f3c"`: "5f3c", `"5f3c"`: "5f3c", "5f3c": "5f3c", "": "", `W/""`: "",
		"a b": "", "a\r\nX: y": "", `a"b`: "", "ü": "", "a,b": "",
		string(make([]byte, 300)): "",
	} {
		if got := cleanVersion(etag); got != want {
			t.Errorf("%q: %q, want %q", etag, got, want)
		}
	}
}
