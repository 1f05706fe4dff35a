package capture

import (
	"testing"
	"time"
)

type timeCase struct {
	Name, Text, Timestamp string
	SentAt                string `json:"sent_at"`
	Offset                *int64
	IgnoreSentAt          bool `json:"ignore_sent_at"`
	NotUnderstood         bool `json:"not_understood"`
	RFC3339               bool
	// Result is empty if the time is invalid.
	Result string
}

func timeCases(t testing.TB) (file struct {
	Now                      time.Time
	Events, Forms, Query, V1 []timeCase
}) {
	readData(t, "times.json", &file)
	return file
}

// timeText formats a time with the standard library, so that the parser is not compared with
// itself.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func TestCapture_17_3_Times(t *testing.T) {
	file := timeCases(t)
	for _, c := range file.Events {
		t.Run(c.Name, func(t *testing.T) {
			it := Item{Timestamp: c.Timestamp}
			if c.Offset != nil {
				it.Offset, it.HasOffset = *c.Offset, true
			}
			var sentAt time.Time
			if c.SentAt != "" {
				var err error
				if sentAt, err = time.Parse(time.RFC3339Nano, c.SentAt); err != nil {
					t.Fatal(err)
				}
			}
			// A clock with a different zone and nanoseconds must not make a difference.
			now := file.Now.Add(789).In(time.FixedZone("", 3600))
			got, understood := eventTime(&it, now, sentAt, c.IgnoreSentAt)
			if timeText(got) != c.Result || understood == c.NotUnderstood || got.Location() != time.UTC {
				t.Errorf("%s, understood %v, want %s, %v", timeText(got), understood, c.Result, !c.NotUnderstood)
			}
		})
	}
}

func TestCapture_5_Forms(t *testing.T) {
	for _, c := range timeCases(t).Forms {
		t.Run(c.Name, func(t *testing.T) {
			got, ok := parseTime(c.Text)
			if timeText(got) != c.Result || ok != (c.Result != "") {
				t.Errorf("%q is %s (%v), want %q", c.Text, timeText(got), ok, c.Result)
			}
		})
	}
}

func TestCapture_1_5_QuerySentAt(t *testing.T) {
	for _, c := range timeCases(t).Query {
		if got := timeText(querySentAt(c.Text)); got != c.Result {
			t.Errorf("%q is %q, want %q", c.Text, got, c.Result)
		}
	}
}

func TestCapture_6_3_RFC3339(t *testing.T) {
	for _, c := range timeCases(t).V1 {
		if _, ok := parseRFC3339(c.Text); ok != c.RFC3339 {
			t.Errorf("%q: %v, want %v", c.Text, ok, c.RFC3339)
		}
	}
}

func TestCapture_5_NoAllocation(t *testing.T) {
	it := Item{Timestamp: "2026-01-02T03:04:05.678Z"}
	now := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	if n := testing.AllocsPerRun(100, func() { eventTime(&it, now, now, false) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzParseTime compares the result with the standard library for RFC 3339, and checks the
// rules of §5 for any text.
func FuzzParseTime(f *testing.F) {
	file := timeCases(f)
	for _, c := range append(append(file.Forms, file.V1...), file.Events...) {
		f.Add(c.Text+c.Timestamp, c.SentAt, int64(0))
	}
	f.Fuzz(func(t *testing.T, text, sent string, offset int64) {
		got, ok := parseTime(text)
		var want time.Time
		if want.UnmarshalText([]byte(text)) == nil && strictly(text) && (!ok || !got.Equal(want)) {
			t.Errorf("%q is %v (%v), want %v", text, got, ok, want)
		}
		if ok && got.Location() != time.UTC {
			t.Errorf("%q is in %v", text, got.Location())
		}
		sentAt, _ := parseTime(sent)
		for _, it := range []Item{{Timestamp: text}, {Timestamp: text, Offset: offset, HasOffset: true}} {
			at, understood := eventTime(&it, file.Now, sentAt, false)
			if at.After(file.Now.Add(futureLimit)) || at.Year() < 0 || at.Nanosecond()%1000 != 0 {
				t.Errorf("%q sent at %q is %v", text, sent, at)
			}
			if !it.HasOffset && text != "" && understood != ok || !understood && !at.Equal(file.Now) {
				t.Errorf("%q: understood %v, readable %v, %v", text, understood, ok, at)
			}
		}
	})
}

// strictly reports whether a text is RFC 3339 without the deviations that the library
// accepts: hours of one digit, and zones of 24 hours or 60 minutes.
func strictly(text string) bool {
	n := len(text)
	return text[13] == ':' && (text[n-1] == 'Z' || text[n-5:n-3] < "24" && text[n-2:] < "60")
}

func BenchmarkParseTime(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parseTime("2026-01-02T03:04:05.678Z")
	}
}
