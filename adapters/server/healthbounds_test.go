package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/capture"
)

// Sizes in health checks: with one decimal in the largest unit that fits.
func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 KiB", 511: "0 KiB", 1024: "1 KiB", 1<<20 - 1: "1024 KiB", 1 << 20: "1.0 MiB", 3 << 19: "1.5 MiB", 1<<30 - 1: "1024.0 MiB", 1 << 30: "1.0 GiB", 5 << 39: "2.5 TiB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// Reasons for dropped events: the most frequent first, of equals by name, and only those of the last
// hour.
func TestDroppedMessage(t *testing.T) {
	t.Parallel()
	counts := func(list map[capture.DropReason]uint64) totals {
		return totals{intake: capture.IntakeStats{Dropped: list}}
	}
	for name, c := range map[string]struct {
		before, now map[capture.DropReason]uint64
		want        string
	}{
		"none":            {nil, nil, "nothing dropped in the last hour"},
		"an hour ago":     {map[capture.DropReason]uint64{"a": 5}, map[capture.DropReason]uint64{"a": 5}, "nothing dropped in the last hour"},
		"a new reason":    {map[capture.DropReason]uint64{"a": 5}, map[capture.DropReason]uint64{"a": 5, "b": 1}, "dropped in the last hour: 1 (b 1)"},
		"the frequent":    {nil, map[capture.DropReason]uint64{"a": 1, "b": 20, "c": 3}, "dropped in the last hour: 24 (b 20, c 3, a 1)"},
		"equals, by name": {nil, map[capture.DropReason]uint64{"z": 2, "a": 2, "m": 2}, "dropped in the last hour: 6 (a 2, m 2, z 2)"},
		"the difference":  {map[capture.DropReason]uint64{"a": 100, "b": 1}, map[capture.DropReason]uint64{"a": 101, "b": 3}, "dropped in the last hour: 3 (b 2, a 1)"},
	} {
		f := finding{details: []message{droppedMessage(&healthView{hour: counts(c.before), now: counts(c.now)})}}
		if got := f.detail(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The states of a certificate at the limits of 21 and 3 days, of a clock at 5 seconds, and of the disk of
// segments at 2 GiB and 200 MiB.
func TestHealth_Thresholds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for remaining, want := range map[time.Duration]string{
		21 * 24 * time.Hour: "", 21*24*time.Hour - 1: healthWarn, 3 * 24 * time.Hour: healthWarn, 3*24*time.Hour - 1: healthBad, 0: healthBad, -time.Hour: healthBad,
	} {
		v := &healthView{parts: &parts{server: &Server{}}, now: totals{at: now}}
		if f := certificateUntil(now.Add(remaining))(t.Context(), v); f.state != want {
			t.Errorf("a certificate for %s: %q, want %q", remaining, f.state, want)
		}
	}
	for moved, want := range map[time.Duration]string{
		0: "", 5*time.Second - 1: "", 1 - 5*time.Second: "", 5 * time.Second: "The clock was moved by 5s since the start.", -5 * time.Second: "The clock was moved by -5s since the start.", 25 * time.Hour: "The clock was moved by 25h0m0s since the start.",
	} {
		f := clockBetween(now, now.Add(time.Hour+moved), time.Hour)
		if want == "" && (f.state != "" || f.detail() != "steady") || want != "" && (f.state != healthWarn || f.detail() != want) {
			t.Errorf("moved by %s: %+v, want %q", moved, f, want)
		}
	}
	for took, want := range map[time.Duration]string{250*time.Millisecond - 1: "", 250 * time.Millisecond: healthWarn, 2*time.Second - 1: healthWarn, 2 * time.Second: healthBad} {
		v := &healthView{now: totals{recorder: capture.RecorderStats{Commits: 1, CommitTime: took}}}
		if f := commitHealth(t.Context(), v); f.state != want {
			t.Errorf("a commit in %s: %q, want %q", took, f.state, want)
		}
	}
	segments := func(free int64) metrics.Storage {
		return metrics.Storage{Segments: 3 << 19, SegmentFiles: 2, Unsealed: 7, SegmentsFree: free}
	}
	for _, c := range []struct {
		free                 int64
		err                  error
		state, advice, about string
	}{
		{-1, nil, "", "", "2 files with 1.5 MiB; events that are to be written into files: 7"},
		{2 << 30, nil, "", "", "2 files with 1.5 MiB; events that are to be written into files: 7; 2.0 GiB free on their disk"},
		{2<<30 - 1<<20, nil, healthWarn, "segments_low", "2 files with 1.5 MiB; events that are to be written into files: 7; 2.0 GiB free on their disk"},
		{-1, errors.New("x"), healthWarn, "segments_retry", "No file could be written since 2026-03-01 12:00:00 UTC: x; 2 files with 1.5 MiB; events that are to be written into files: 7"},
		{200 << 20, errors.New("x"), healthWarn, "segments_retry", "No file could be written since 2026-03-01 12:00:00 UTC: x; 2 files with 1.5 MiB; events that are to be written into files: 7; 200.0 MiB free on their disk"},
		{0, errors.New("x"), healthWarn, "segments_full", "No file could be written since 2026-03-01 12:00:00 UTC: x; 2 files with 1.5 MiB; events that are to be written into files: 7; 0 KiB free on their disk"},
	} {
		if f := segmentsFinding(segments(c.free), now, c.err); f.state != c.state || f.advice != c.advice || f.detail() != c.about {
			t.Errorf("segments, %d bytes free, %v: %+v %s", c.free, c.err, f, f.detail())
		}
	}
	timedOut := &healthView{now: totals{recorder: capture.RecorderStats{Commits: 5, TimedOut: 3, Rejected: 4}}, recent: totals{recorder: capture.RecorderStats{Rejected: 1}}}
	if f := intakeHealth(t.Context(), timedOut); f.state != healthWarn || !strings.HasPrefix(f.detail(), "tries to store events that have failed in the last minutes: 0, requests that were refused for now: 6;") {
		t.Errorf("requests that waited too long: %+v", f)
	}
	if f := storeProblem(errors.New("x")); f.state != healthBad || !strings.Contains(f.detail(), "x") || healthTexts[f.advice] == "" {
		t.Errorf("%+v", f)
	}
}
