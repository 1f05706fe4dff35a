package wire

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// httpDates are the forms of a date in HTTP (RFC 9110 §5.6.7).
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

func httpDate(text string) (t time.Time, ok bool) {
	for _, form := range httpDates {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return t, false
}

// RetryAfter is how long the header Retry-After asks to wait: seconds, of which more than
// 68 years are cut, or until a date. Zero: it is empty, over, or cannot be read. A date is
// compared with the answer's header Date, the server's own clock; with now where that is empty.
func RetryAfter(header, date string, now time.Time) time.Duration {
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 32)
		if err != nil {
			seconds = math.MaxInt32
		}
		return time.Duration(seconds) * time.Second
	}
	at, ok := httpDate(header)
	if !ok {
		return 0
	}
	if theirs, ok := httpDate(date); ok {
		now = theirs
	}
	return max(at.Sub(now), 0)
}
