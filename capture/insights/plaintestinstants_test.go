package insights

import (
	"testing"
	"time"
)

// zone returns the time zone with a name.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// parseInstant parses a time in the format of RFC 3339.
func parseInstant(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}
