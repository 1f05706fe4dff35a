package wire

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// httpDates are the formats of dates in HTTP (RFC 9110 §5.6.7).
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

// httpDate parses a date in one of the formats of HTTP.
func httpDate(text string) (t time.Time, ok bool) {
	for _, form := range httpDates {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return t, false
}

// RetryAfter returns how long to wait according to the header Retry-After, which has a number of
// seconds (at most 68 years are returned) or a date. It returns 0 if the header is empty or
// invalid, or if the date has passed. A date is compared with the response's header Date, which is
// the server's own clock, or with now if that header is empty or invalid.
func RetryAfter(header, date string, now time.Time) time.Duration {
	// Only digits, so the error is that the number is too large.
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 32)
		if err != nil {
			seconds = math.MaxInt32
		}
		return time.Duration(seconds) * time.Second
	}
	// Otherwise the header must be a date.
	at, ok := httpDate(header)
	if !ok {
		return 0
	}
	if theirs, ok := httpDate(date); ok {
		now = theirs
	}
	return max(at.Sub(now), 0)
}
