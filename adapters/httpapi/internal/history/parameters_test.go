package history

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// The number of a group type is needed for groups and refused for other owners, with PostHog's
// messages (spec/clients.md §2.2).
func TestPropertyGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		ofGroup bool
		want    int // -1 for nil
		detail  string
	}{
		{"", false, -1, ""}, {"0", true, 0, ""}, {"255", true, 255, ""},
		{"0", false, -1, "`group_type_index` can only set for `group` type"},
		{"", true, -1, "`group_type_index` must be set for `group` type"},
		{"256", true, 0, "A valid integer is required."}, {"-1", true, 0, "A valid integer is required."}, {"x", true, 0, "A valid integer is required."}, {"1.0", true, 0, "A valid integer is required."},
	} {
		index, err := propertyGroup(url.Values{"group_type_index": {c.text}}, c.ofGroup)
		_, _, detail := faultOf(err)
		if got := index; detail != c.detail || (err == nil) != (c.detail == "") || err == nil && (got == nil) != (c.want < 0) || err == nil && got != nil && *got != c.want {
			t.Errorf("%q, group %v: %v, %v", c.text, c.ofGroup, got, err)
		}
	}
	if _, err := groupTypeIndex(url.Values{}); err == nil {
		t.Error("no index is allowed")
	} else if status, attr, detail := faultOf(err); status != 400 || attr != "group_type_index" || detail != "This field is required." {
		t.Error(err)
	}
}

// The lines of an import that are refused, with the place and a correct value; the store is not
// called.
func TestImportOne_Refusals(t *testing.T) {
	t.Parallel()
	rd := &Reader{now: func() time.Time { return time.Unix(0, 0) }}
	const person, group = `{"type":"person","uuid":"0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f","distinct_ids":["d"]`, `{"type":"group","group_type":"company","group_key":"acme"`
	for line, want := range map[string]string{
		`{`:                                    "not a line of an export: ",
		`[]`:                                   "not a line of an export: ",
		`"person"`:                             "not a line of an export: ",
		`{"type":7}`:                           "not a line of an export: ",
		`{"type":"person","distinct_ids":"d"}`: "not a line of an export: ",
		`{}`:                                   `type: must be person or group, not ""; events go to /batch/`,
		`null`:                                 `type: must be person or group, not ""`,
		`{"type":"event"}`:                     `type: must be person or group, not "event"; events go to /batch/`,
		`{"type":"Person"}`:                    `type: must be person or group, not "Person"`,
		`{"type":"` + strings.Repeat("x", 1000) + `"}`:      `type: must be person or group, not "xxx`,
		`{"type":"person"}`:                                 "uuid: Must be a valid UUID.",
		`{"type":"person","uuid":"7","distinct_ids":["d"]}`: "uuid: Must be a valid UUID.",
		strings.Replace(person, `["d"]`, `[]`, 1) + `}`:     "distinct_ids: must have at least one id",
		person + `,"properties":[]}`:                        "properties: ",
		person + `,"properties":"x"}`:                       "properties: ",
		person + `,"created_at":"2026-01-31"}`:              "created_at: must be a time such as 2026-01-31T12:00:00Z",
		person + `,"created_at":"2026-01-31 12:00:00"}`:     "created_at: must be a time such as 2026-01-31T12:00:00Z",
		group + `,"created_at":"now"}`:                      "created_at: must be a time",
		`{"type":"group","group_key":"acme"}`:               "group_type: must be the name of a group type",
		group + `,"group_properties":7}`:                    "group_properties: ",
	} {
		err := rd.importOne(nil, line)
		var refusal *capture.Refusal
		if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Detail, want) || refusal.Kind != capture.Invalid || len(refusal.Detail) > 400 {
			t.Errorf("%.80s: %v, want %s", line, err, want)
		}
	}
}

// personHistory finds one person by uuid and by number.
type personHistory struct{ capture.History }

func (personHistory) PersonByUUID(_ context.Context, _ int64, id capture.UUID) (*capture.StoredPerson, error) {
	return &capture.StoredPerson{Person: capture.Person{UUID: id}, DistinctIDs: []string{"a", "b"}}, nil
}

func (personHistory) PersonByID(_ context.Context, _, id int64) (*capture.StoredPerson, error) {
	if id != 7 {
		return nil, nil
	}
	return &capture.StoredPerson{ID: id, DistinctIDs: []string{"a", "b"}}, nil
}

// A person is addressed by uuid or number, not by distinct id.
func TestReader_Person(t *testing.T) {
	t.Parallel()
	rd := &Reader{History: personHistory{}}
	for named, found := range map[string]bool{"0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f": true, "7": true, "8": false, "-7": false} {
		if p, err := rd.Person(context.Background(), 1, named); err != nil || (p != nil) != found {
			t.Errorf("%s: %v, %v", named, p, err)
		}
	}
	for _, named := range []string{"", "u@example.com", "7.0", "99999999999999999999"} {
		_, err := rd.Person(context.Background(), 1, named)
		if status, _, detail := faultOf(err); status != 400 || !strings.HasPrefix(detail, "The ID provided does not look like a personID.") || !strings.Contains(detail, "distinct_id="+named+" ") {
			t.Errorf("%q: %v", named, err)
		}
	}
}

// The parameters that select events. A person selects the events of all its distinct ids; together
// with a distinct id, only of that one if the person has it.
func TestReader_EventQuery(t *testing.T) {
	t.Parallel()
	rd := &Reader{History: personHistory{}}
	for query, want := range map[string]string{
		"": "null", "distinct_id=a": "a", "distinct_id=": "", "person_id=7": "a b", "person_id=8": "-", "person_id=7&distinct_id=b": "b", "person_id=7&distinct_id=c": "-",
	} {
		params, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := rd.eventQuery(context.Background(), 1, params)
		got := strings.Join(q.DistinctIDs, " ")
		switch {
		case q.DistinctIDs == nil:
			got = "null"
		case len(q.DistinctIDs) == 0:
			got = "-"
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", query, got, err, want)
		}
	}
	q, err := rd.eventQuery(context.Background(), 1, url.Values{"event": {"$pageview"}, "after": {"2026-01-31"}, "before": {"2026-02-01T00:00:00+01:00"}})
	if err != nil || q.Name != "$pageview" || !q.From.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)) || !q.To.Equal(time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", q, err)
	}
	for name, value := range map[string]string{"after": "x", "before": "x", "person_id": "x"} {
		if _, err := rd.eventQuery(context.Background(), 1, url.Values{name: {value}}); err == nil {
			t.Errorf("%s=%s is allowed", name, value)
		}
	}
}
