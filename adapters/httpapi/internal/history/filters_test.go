package history

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

// faultOf returns the status, the place and the beginning of the detail of an error.
func faultOf(err error) (status int, attr, detail string) {
	var p *problem.Problem
	if !errors.As(err, &p) {
		return 0, "", ""
	}
	if p.Attr != nil {
		attr = *p.Attr
	}
	return p.Status, attr, p.Detail
}

// Filters of events and of persons are a JSON list of at most 50. Their types select the object with
// the property: event (default), feature and person for events, person and person_metadata for
// persons (spec/clients.md §2.2).
func TestFilters_Refusals(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"key":"a","value":1},`, n), ",") + "]"
	}
	for name, c := range map[string]struct{ text, event, person string }{
		"not JSON":            {`[`, "properties must be a JSON list of property filters: ", "properties must be a JSON list of property filters: "},
		"an object":           {`{"key":"a"}`, "properties must be a JSON list of property filters: ", "properties must be a JSON list of property filters: "},
		"a list of texts":     {`["a"]`, "properties must be a JSON list of property filters: ", "properties[0]"},
		"too many":            {list(51), "properties has 51 filters, at most 50 are allowed.", "properties has 51 filters, at most 50 are allowed."},
		"another type":        {`[{"key":"a","value":1},{"key":"a","value":1,"type":"cohort"}]`, `properties[1].type: filters of events must have type event, feature or person, not "cohort".`, `properties[1].type: filters of persons must have type person or person_metadata, not "cohort".`},
		"a type of a number":  {`[{"key":"a","value":1,"type":7}]`, "properties[0].type: expected a string.", "properties[0]"},
		"no key":              {`[{"value":1}]`, "properties[0].key: expected a string.", "properties[0]"},
		"a key of a number":   {`[{"key":7,"value":1}]`, "properties[0].key: expected a string.", "-"},
		"an unknown operator": {`[{"key":"a","value":1,"operator":"like"}]`, "properties[0]", "properties[0]"},
		"a broken expression": {`[{"key":"a","value":"(","operator":"regex"}]`, "properties[0]", "properties[0]"},
		"a date of nobody":    {`[{"key":"a","value":"soon","operator":"is_date_after"}]`, "properties[0]", "properties[0]"},
	} {
		_, err := eventMatcher(context.Background(), c.text, nil, time.Now())
		if status, attr, detail := faultOf(err); status != 400 || attr != "properties" || !strings.HasPrefix(detail, c.event) {
			t.Errorf("%s of events: %v", name, err)
		}
		if c.person == "-" { // a key of a person may be a number
			continue
		}
		filters, err := personFilters(url.Values{"properties": {c.text}})
		if err == nil {
			_, err = personMatcher(context.Background(), filters, nil, time.Now())
		}
		if status, attr, detail := faultOf(err); status != 400 || attr != "properties" || !strings.HasPrefix(detail, c.person) {
			t.Errorf("%s of persons: %v", name, err)
		}
	}
	for _, text := range []string{"", "[]", "null"} {
		if match, err := eventMatcher(context.Background(), text, nil, time.Now()); match != nil || err != nil {
			t.Errorf("%q of events: %v", text, err)
		}
		if filters, err := personFilters(url.Values{"properties": {text}}); filters != "" || err != nil {
			t.Errorf("%q of persons: %q, %v", text, filters, err)
		}
	}
	if _, err := eventMatcher(context.Background(), list(50), nil, time.Now()); err != nil {
		t.Errorf("fifty: %v", err)
	}
}

// The parameter email is a filter like the others, and counts as one.
func TestFilters_Email(t *testing.T) {
	t.Parallel()
	filters, err := personFilters(url.Values{"email": {`a"b@c.d`}, "properties": {`[{"key":"x","value":1}]`}})
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	_ = json.Unmarshal([]byte(filters), &got)
	_ = json.Unmarshal([]byte(`[{"key":"x","value":1},{"key":"email","value":"a\"b@c.d","operator":"exact","type":"person"}]`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fifty := "[" + strings.TrimSuffix(strings.Repeat(`{"key":"a","value":1},`, 50), ",") + "]"
	if _, err := personFilters(url.Values{"email": {"a"}, "properties": {fifty}}); err == nil {
		t.Error("51 filters are allowed")
	}
}

// All filters of a request must match. Operators have the meaning of flags, and negative ones match
// objects without the property (decision 40).
func TestFilters_Match(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	settings := map[string]json.RawMessage{"timezone": json.RawMessage(`"UTC"`)}
	const properties = `{"plan":"Pro","n":5,"list":["a","b"],"yes":true,"at":"2026-03-30T00:00:00Z","empty":null,"$browser":"Chrome"}`
	object, err := capture.ParseObject(properties)
	if err != nil {
		t.Fatal(err)
	}
	person := &capture.StoredPerson{Person: capture.Person{Properties: object, CreatedAt: now.AddDate(0, 0, -10)}, DistinctIDs: []string{"d"}}
	event := &capture.Record{Properties: properties, PersonProperties: `{"plan":"Free"}`}
	for filter, want := range map[string]bool{
		`{"key":"plan","value":"Pro"}`:                                  true,
		`{"key":"plan","value":"pro"}`:                                  true, // exact ignores case: spec/flags.md §4
		`{"key":"plan","value":["Free","Pro"]}`:                         true,
		`{"key":"plan","value":"Free"}`:                                 false,
		`{"key":"plan","value":"Free","operator":"is_not"}`:             true,
		`{"key":"none","value":"x","operator":"is_not"}`:                true,
		`{"key":"none","value":"x"}`:                                    false,
		`{"key":"plan","value":"R","operator":"icontains"}`:             true,
		`{"key":"plan","value":"x","operator":"not_icontains"}`:         true,
		`{"key":"plan","value":"^P.o$","operator":"regex"}`:             true,
		`{"key":"plan","value":"^p","operator":"regex"}`:                false,
		`{"key":"n","value":4,"operator":"gt"}`:                         true,
		`{"key":"n","value":5,"operator":"gt"}`:                         false,
		`{"key":"n","value":5,"operator":"gte"}`:                        true,
		`{"key":"n","value":"6","operator":"lt"}`:                       true,
		`{"key":"n","operator":"is_set","value":"is_set"}`:              true,
		`{"key":"none","operator":"is_not_set","value":"is_not_set"}`:   true,
		`{"key":"n","operator":"is_not_set","value":"is_not_set"}`:      false,
		`{"key":"yes","value":"true"}`:                                  true,
		`{"key":"at","value":"2026-03-29","operator":"is_date_after"}`:  true,
		`{"key":"at","value":"2026-03-29","operator":"is_date_before"}`: false,
		`{"key":"at","value":"-7d","operator":"is_date_after"}`:         true,
	} {
		for _, both := range []string{filter, filter + `,{"key":"n","value":5}`} {
			match, err := personMatcher(context.Background(), "["+both+"]", settings, now)
			if err != nil || match(person) != want {
				t.Errorf("%s of a person: %v, want %v", both, err, want)
			}
			ofEvent, err := eventMatcher(context.Background(), "["+both+"]", settings, now)
			if err != nil || ofEvent(event) != want {
				t.Errorf("%s of an event: %v, want %v", both, err, want)
			}
		}
		match, err := personMatcher(context.Background(), "["+filter+`,{"key":"n","value":6}]`, settings, now)
		if err != nil || match(person) {
			t.Errorf("%s and one that does not match: %v", filter, err)
		}
	}
	// Filters of events read the event, or its person at the time of the event.
	for filter, want := range map[string]bool{
		`{"key":"plan","value":"Pro","type":"event"}`: true, `{"key":"plan","value":"Pro","type":"feature"}`: true,
		`{"key":"plan","value":"Pro","type":"person"}`: false, `{"key":"plan","value":"Free","type":"person"}`: true, `{"key":"n","value":5,"type":"person"}`: false,
		`{"key":"plan","value":"Pro","type":"event"},{"key":"plan","value":"Free","type":"person"}`: true,
	} {
		match, err := eventMatcher(context.Background(), "["+filter+"]", settings, now)
		if err != nil || match(event) != want {
			t.Errorf("%s: %v, want %v", filter, err, want)
		}
	}
	// After the end of the request no object matches: the caller must not use the result.
	ctx, cancel := context.WithCancel(context.Background())
	match, err := personMatcher(ctx, `[{"key":"n","value":5}]`, settings, now)
	if err != nil || !match(person) {
		t.Fatal(err)
	}
	cancel()
	if match(person) {
		t.Error("a person matches after the end of the request")
	}
}

// Only the properties that filters read are decoded, and the sources of $initial_
// properties (spec/flags.md §8.2). Numbers keep their text.
func TestFilters_Decode(t *testing.T) {
	t.Parallel()
	keys := filteredKeys([]flags.Property{{Key: "a"}, {Key: "$initial_utm_source"}, {Key: "initial_x"}})
	want := map[string]bool{"a": true, "$initial_utm_source": true, "utm_source": true, "$utm_source": true, "initial_x": true}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	object, err := capture.ParseObject(`{"a":5.0,"b":[1],"utm_source":"x","c":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flags.Properties{"a": json.Number("5.0"), "utm_source": "x"}, decodeProperties(object, keys)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := decodeProperties(object, nil); len(got) != 4 || got["c"] != nil {
		t.Errorf("all: %v", got)
	}
}
