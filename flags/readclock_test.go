package flags

import (
	"context"
	"testing"
	"time"
)

// A Reader of a Set reads the clock only for flags that compare dates.
func TestReader_Clock(t *testing.T) {
	const plain = `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": 50}]}}]}`
	const dated = `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [
		{"properties": [{"key": "since", "type": "person", "operator": "is_date_before", "value": "-7d"}]}]}}]}`
	sub := &Subject{DistinctID: "u", Person: Properties{"since": "2026-01-01"}}
	for _, tt := range []struct {
		definitions string
		reads       int
	}{{plain, 0}, {dated, 3}} {
		d, err := ParseDefinitions([]byte(tt.definitions))
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		r := newSetReader(Compile(d), func() time.Time {
			reads++
			return time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
		})
		for range 3 {
			r.Bool(context.Background(), "f", sub, false)
		}
		if reads != tt.reads {
			t.Errorf("the clock was read %d times, want %d: %s", reads, tt.reads, tt.definitions)
		}
	}
}
