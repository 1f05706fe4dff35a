package manage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// The call of a flag that an event reports: the value is a boolean or a variant, other values are
// ignored.
func TestFlagCalls_CallOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for properties, want := range map[string]featureflags.LastCall{
		`{}`:                                            {},
		`{"$feature_flag_response":true}`:               {Value: true},
		`{"$feature_flag_response":false}`:              {Value: false},
		`{"$feature_flag_response":"red"}`:              {Value: "red"},
		`{"$feature_flag_response":""}`:                 {Value: ""},
		`{"$feature_flag_response":null}`:               {},
		`{"$feature_flag_response":1}`:                  {},
		`{"$feature_flag_response":["a"]}`:              {},
		`{"$feature_flag_version":7,"$lib":"web"}`:      {Version: 7, SDK: "web"},
		`{"$feature_flag_version":"7","$lib":7}`:        {},
		`{"$feature_flag_version":7.5}`:                 {},
		`{"$feature_flag_version":9223372036854775808}`: {},
	} {
		object, err := capture.ParseObject(properties)
		if err != nil {
			t.Fatal(err)
		}
		want.At, want.DistinctID = at, "d"
		if diff := cmp.Diff(&want, callOf(&capture.Record{Timestamp: at, DistinctID: "d"}, object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", properties, diff)
		}
	}
}

// Whether a person has changed since a call: by the properties that the event stores, or, without a
// copy, by the time of the person's creation.
func TestFlagCalls_ChangedSince(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	long := string(make([]byte, copiedPerson+1))
	for name, c := range map[string]struct {
		mode    capture.PersonMode
		stored  string
		now     string
		created time.Time
		want    bool
	}{
		"the same":               {capture.Full, `{"a":1}`, `{"a":1}`, at.Add(time.Hour), false},
		"another value":          {capture.Full, `{"a":1}`, `{"a":2}`, at.Add(-time.Hour), true},
		"no copy, created then":  {capture.Propertyless, `{}`, `{"a":2}`, at, false},
		"no copy, created later": {capture.Propertyless, `{}`, `{"a":2}`, at.Add(1), true},
		"as long as a copy":      {capture.Full, `{}`, long[:copiedPerson], at, true},
		"longer than a copy":     {capture.Full, `{}`, long, at, false},
		"longer, created later":  {capture.Full, `{}`, long, at.Add(time.Hour), true},
	} {
		e := &capture.Record{PersonMode: c.mode, PersonProperties: c.stored, Timestamp: at}
		if got := changedSince(e, &capture.StoredPerson{Person: capture.Person{CreatedAt: c.created}}, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// callHistory has a number of calls, newest first, and records its reads.
type callHistory struct {
	capture.History
	total int
	reads int
	fail  int // the read that fails, from 1
}

var errCallHistory = errors.New("the store is down")

func (h *callHistory) Events(_ context.Context, _ int64, q capture.EventQuery) ([]capture.Record, error) {
	if h.reads++; h.reads == h.fail {
		return nil, errCallHistory
	}
	from := 0
	if q.After != nil {
		from = h.total - int(q.After.ID) + 1
	}
	var out []capture.Record
	for i := from; i < h.total && len(out) < q.Limit; i++ {
		out = append(out, capture.Record{ID: int64(h.total - i), Properties: `{"$feature_flag":"f"}`})
	}
	return out, nil
}

// Calls are read 500 at a time, at most 10,000.
func TestFlagCalls_EachCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ total, fail, visited, reads int }{
		{0, 0, 0, 1}, {499, 0, 499, 1}, {500, 0, 500, 2}, {501, 0, 501, 2}, {10_000, 0, 10_000, 20}, {10_001, 0, 10_000, 20}, {501, 2, 500, 2}, {501, 1, 0, 1},
	} {
		h := &callHistory{total: c.total, fail: c.fail}
		visited, last := 0, int64(c.total+1)
		err := flagService{history: h}.eachCall(context.Background(), 1, capture.EventQuery{Limit: callsPage}, func(e *capture.Record, properties capture.Object) {
			visited++
			if key, _ := properties.Text("$feature_flag"); e.ID != last-1 || key != "f" {
				t.Errorf("%d after %d, key %q", e.ID, last, key)
			}
			last = e.ID
		})
		if visited != c.visited || h.reads != c.reads || errors.Is(err, errCallHistory) != (c.fail > 0) {
			t.Errorf("of %d: %d calls in %d reads, %v", c.total, visited, h.reads, err)
		}
	}
}
