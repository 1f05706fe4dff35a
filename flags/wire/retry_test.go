package wire_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// RFC 9110 §10.2.3: seconds, or a date in one of the three formats of §5.6.7, from which the
// examples are.
func TestRetryAfter(t *testing.T) {
	now := time.Date(1994, 11, 6, 8, 49, 7, 0, time.UTC) // 30 seconds before the dates
	for _, tt := range []struct {
		header, date string
		want         time.Duration
	}{
		{"", "", 0}, {"0", "", 0}, {"120", "", 2 * time.Minute}, {"-7", "", 0}, {"+7", "", 0}, {"7.5", "", 0}, {"soon", "", 0},
		{"99999999999999999999", "", (1<<31 - 1) * time.Second},
		{"Sun, 06 Nov 1994 08:49:37 GMT", "", 30 * time.Second},
		{"Sunday, 06-Nov-94 08:49:37 GMT", "", 30 * time.Second},
		{"Sun Nov  6 08:49:37 1994", "", 30 * time.Second},
		{"Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:27 GMT", 10 * time.Second}, // the clocks differ
		{"Sun, 06 Nov 1994 08:49:37 GMT", "yesterday", 30 * time.Second},
		{"Sun, 06 Nov 1994 08:49:00 GMT", "", 0},
	} {
		if got := wire.RetryAfter(tt.header, tt.date, now); got != tt.want {
			t.Errorf("%q at %q: %v, want %v", tt.header, tt.date, got, tt.want)
		}
	}
}
