package batchexports

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management/internal/plain"
)

func TestSchedule(t *testing.T) {
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	for _, tt := range []struct {
		name            string
		plan            schedule
		at, floor, next string
	}{
		{"hour", schedule{interval: everyHour, zone: time.UTC}, "2026-01-01T12:34:56Z", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"},
		{"at its beginning", schedule{interval: everyHour, zone: time.UTC}, "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"},
		{"before 1970", schedule{interval: everyHour, zone: time.UTC}, "1969-12-31T23:30:00Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
		{"5 minutes", schedule{interval: every5Minutes, zone: time.UTC}, "2026-01-01T12:34:56Z", "2026-01-01T12:30:00Z", "2026-01-01T12:35:00Z"},
		{"15 minutes", schedule{interval: every15Minutes, zone: time.UTC}, "2026-01-01T12:44:59Z", "2026-01-01T12:30:00Z", "2026-01-01T12:45:00Z"},
		{"day", schedule{interval: everyDay, zone: time.UTC}, "2026-01-01T12:34:56Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"day with an hour", schedule{interval: everyDay, zone: time.UTC, hour: 13}, "2026-01-01T12:34:56Z", "2025-12-31T13:00:00Z", "2026-01-01T13:00:00Z"},
		{"day of a zone", schedule{interval: everyDay, zone: zone("Europe/Berlin")}, "2026-01-01T23:30:00Z", "2026-01-01T23:00:00Z", "2026-01-02T23:00:00Z"},
		{"a day of 23 hours", schedule{interval: everyDay, zone: zone("Europe/Berlin")}, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"a day of 25 hours", schedule{interval: everyDay, zone: zone("Europe/Berlin")}, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"week", schedule{interval: everyWeek, zone: time.UTC}, "2026-01-01T12:34:56Z", "2025-12-28T00:00:00Z", "2026-01-04T00:00:00Z"}, // a Thursday
		{"at its beginning", schedule{interval: everyWeek, zone: time.UTC}, "2026-01-04T00:00:00Z", "2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"},
		{"week with a day and an hour", schedule{interval: everyWeek, zone: zone("America/New_York"), day: 4, hour: 9}, "2026-01-01T13:59:59Z", "2025-12-25T14:00:00Z", "2026-01-01T14:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			when, _ := plain.ParseTime(tt.at)
			if got := tt.plan.floor(when).Format(time.RFC3339); got != tt.floor {
				t.Errorf("floor %s, want %s", got, tt.floor)
			}
			if got := tt.plan.next(when).Format(time.RFC3339); got != tt.next {
				t.Errorf("next %s, want %s", got, tt.next)
			}
			if got := tt.plan.next(tt.plan.floor(when)); !got.Equal(tt.plan.next(when)) {
				t.Errorf("the interval is not left by its beginning: %s", got)
			}
		})
	}
}

func TestExportPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 7: 320 * time.Second, 8: 10 * time.Minute, 100: 10 * time.Minute} {
		if got := exportPause(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}

func TestRelativeTime(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"-7d": "2026-03-24T12:00:00Z", "-24h": "2026-03-30T12:00:00Z", "-2w": "2026-03-17T12:00:00Z", "-1y": "2025-03-31T12:00:00Z",
		"2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05 02:00": "2026-01-02T01:04:05Z", "2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z",
		"-7": "", "-d": "", "d": "", "-7x": "", "--7d": "", "-99999d": "", "nonsense": "",
	} {
		when, ok := relativeTime(text, now)
		if got := when.Format(time.RFC3339); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %s, %v, want %q", text, got, ok, want)
		}
	}
}

// redact removes secrets from messages, also in the encoding of URLs.
func TestDestination_Redact(t *testing.T) {
	d := ExportDestination{Type: destinationPostgres, Config: map[string]json.RawMessage{
		"user": []byte(`"annika"`), "password": []byte(`"p ss/wörd"`), "host": []byte(`"db"`), "database": []byte(`"x"`),
	}}
	got := d.redact("postgres://annika:p+ss%2Fw%C3%B6rd@db/x: p ss/wörd is wrong")
	if want := "postgres://***:***@db/x: *** is wrong"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// sessionRows are Rows with events only.
type sessionRows struct {
	Rows
	events []Event
	passes int
}

func (r *sessionRows) Events(_ context.Context, _ int64, span Span, visit func(*Event) error) error {
	r.passes++
	for i := range r.events {
		if span.Contains(&r.events[i]) {
			if err := visit(&r.events[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sessions that exceed the memory limit are found in several passes, each session exactly once.
func TestSessions_Passes(t *testing.T) {
	const n = 5000
	r := &sessionRows{}
	when := time.Unix(1_700_000_000, 0)
	long := strings.Repeat("x", 30_000)
	var want []string
	for i := range n {
		id := fmt.Sprintf("session-%05d", i)
		want = append(want, id)
		for k := range 2 {
			r.events = append(r.events, Event{
				ID: int64(2*i + k + 1), Name: "a", DistinctID: long, Timestamp: when, CreatedAt: when, Properties: `{"$session_id":"` + id + `"}`,
			})
		}
	}
	s := New(Config{Rows: r})
	var got []string
	err := s.sessions(context.Background(), &exportRecord{}, Span{UpTo: 2 * n}, func(row []any) error {
		got = append(got, row[0].(string))
		if row[7] != int64(2) {
			return fmt.Errorf("%s has %v events, want 2", row[0], row[7])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d sessions, want %d", len(got), n)
	}
	if r.passes < 3 {
		t.Errorf("%d passes: the test holds too little", r.passes)
	}
}

// Backfills of sessions select them by their last event.
func TestSessions_ByTime(t *testing.T) {
	when := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := &sessionRows{}
	add := func(session string, minutes int) {
		r.events = append(r.events, Event{ID: int64(len(r.events) + 1), Name: "a", Timestamp: when.Add(time.Duration(minutes) * time.Minute), CreatedAt: when, Properties: `{"$session_id":"` + session + `"}`})
	}
	add("before", -10)
	add("over the beginning", -10)
	add("over the beginning", 10)
	add("inside", 20)
	add("over the end", 50)
	add("over the end", 70)
	s := New(Config{Rows: r})
	var got []string
	err := s.sessions(context.Background(), &exportRecord{}, Span{UpTo: 100, From: when, To: when.Add(time.Hour)}, func(row []any) error {
		got = append(got, fmt.Sprint(row[0], " ", row[7]))
		return nil
	})
	if want := []string{"inside 1", "over the beginning 2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// mayContain finds a session in each form of the JSON text.
func TestSessions_MayContain(t *testing.T) {
	p := &sessionPass{width: 1 << 32}
	for text, want := range map[string]bool{
		`{"a":1}`: false, `{"$session_id":"x"}`: true, `{ "$session_id" : "x"}`: true, `{"inner":{"$session_id":5},"$session_id":"x"}`: true,
		`{"$session_id":null}`: false, `{"\u0024session_id":"x"}`: true, `{"$session_id":"\u0061"}`: true, `{"a":"$session_id","b":2}`: false,
	} {
		if got := p.mayContain(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
