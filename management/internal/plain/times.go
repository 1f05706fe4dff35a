package plain

import (
	"strings"
	"time"
)

// timeForms are the layouts of ParseTime, in the order in which it tries them.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04"}

// BadTime is the message for a value that is not a valid time.
const BadTime = "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."

// ParseTime reads an ISO 8601 time, in UTC if it has no zone, cut to microseconds. It returns false
// if text is not such a time.
func ParseTime(text string) (time.Time, bool) {
	for _, form := range timeForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() > 0 {
			return at.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// QueryTime reads a date or a time of a query string, in which a plus sign is decoded as a space. It
// returns false if text is neither.
func QueryTime(text string) (time.Time, bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	if at, ok := ParseTime(text); ok {
		return at, true
	}
	return ParseTime(strings.Replace(text, " ", "+", 1))
}
