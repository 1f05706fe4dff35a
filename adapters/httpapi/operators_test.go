package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Decision 40: an operator has the same meaning in filters of persons, cohorts, flags, their blast
// radius, and insights. The meaning is that of flags.md §4.5. Flags refuse list values for
// operators that compare strings; elsewhere the operators match any element, and the negated
// operators no element.
func TestOperators_MeanTheSameEverywhere(t *testing.T) {
	t.Parallel()
	meanTheSame(t, `{}`, []string{ // of persons a, b, …; c has neither property
		`{"plan":"free","score":5}`, `{"plan":"Pro","score":150}`, `{"other":1}`, `{"plan":"trial","score":null}`, `{"plan":null,"score":"x"}`,
	}, []sameMeaning{
		{"plan", "not_icontains", `["free","tri"]`, "b c e"},
		{"plan", "icontains", `["FREE","tri"]`, "a d"},
		{"plan", "icontains", `"RO"`, "b"},
		{"plan", "not_icontains", `"ro"`, "a c d e"},
		{"plan", "regex", `["^f","^t"]`, "a d"},
		{"plan", "not_regex", `["^f","^t"]`, "b c e"},
		{"plan", "regex", `"^p"`, ""},
		{"plan", "starts_with", `["PR","tr"]`, "b d"},
		{"plan", "not_ends_with", `["O","L"]`, "a c"}, // null is the string null
		{"plan", "exact", `"PRO"`, "b"},
		{"plan", "exact", `["FREE","pro"]`, "a b"},
		{"plan", "exact", `"null"`, "e"},
		{"plan", "is_not", `"PRO"`, "a c d e"},
		{"plan", "is_not", `["FREE","pro"]`, "c d e"},
		{"plan", "icontains_multi", `["FREE","tri"]`, "a d"},
		{"plan", "not_icontains_multi", `["FREE","tri"]`, "b c e"},
		{"plan", "is_set", `"is_set"`, "a b d e"},
		{"plan", "is_not_set", `"is_not_set"`, "c"},
		{"score", "not_between", `[0,100]`, "b c d e"},
		{"score", "between", `[0,100]`, "a"},
		{"score", "gt", `"10"`, "b"},
		{"score", "gt", `["10"]`, "b"},
		{"score", "lte", `"5.0"`, "a"},
		{"score", "exact", `"5"`, "a"},
		{"score", "is_set", `"is_set"`, "a b d e"},
		{"score", "is_not_set", `"is_not_set"`, "c"},
		{"score", "is_date_after", `"1970-01-01"`, "a b"}, // seconds since 1970
	})
}

// The project's settings for comparisons in flags apply everywhere: dates without an offset are in
// its time zone (flags.md §4.7), and lists are compared with booleans according to its
// property_matching_version (§4.6).
func TestOperators_BySettingsOfTheProject(t *testing.T) {
	t.Parallel()
	people := []string{`{"at":"2026-01-01T22:59:59Z","on":true}`, `{"at":"2026-01-01T23:00:01Z","on":[]}`, `{"at":"2026-01-02","on":"TRUE"}`, `{"on":"false"}`}
	meanTheSame(t, `{"timezone":"Europe/Berlin"}`, people, []sameMeaning{
		{"at", "is_date_before", `"2026-01-02"`, "a"},
		{"at", "is_date_after", `"2026-01-02"`, "b"},
		{"at", "is_date_exact", `"2026-01-01T23:00:00Z"`, "c"},
		{"on", "exact", `true`, "a b c"},
		{"on", "exact", `["true","false"]`, "d"},
	})
	meanTheSame(t, `{"property_matching_version":2}`, people, []sameMeaning{
		{"at", "is_date_before", `"2026-01-02"`, "a b"},
		{"at", "is_date_exact", `"2026-01-02T00:00:00Z"`, "c"},
		{"on", "exact", `true`, "a c"},
		{"on", "exact", `["true","false"]`, "a c d"},
		{"on", "is_not", `"true"`, "b d"},
	})
}

// sameMeaning is a filter of persons, and the persons that it matches.
type sameMeaning struct{ key, operator, value, want string }

// meanTheSame creates persons with the names a, b and so on in a project with some settings, and
// checks the filters in every place that has filters of persons.
func meanTheSame(t *testing.T, settings string, people []string, filters []sameMeaning) {
	t.Helper()
	o := newOffice(t, "sqlite::memory:")
	o.do(t, "PATCH /api/projects/1/", settings, http.StatusOK)
	var batch []string
	everybody := ""
	for i, set := range people {
		who := string(rune('a' + i))
		everybody += who
		batch = append(batch, fmt.Sprintf(`{"event":"$identify","distinct_id":%q,"properties":{"$set":%s}}`, who, set))
	}
	o.do(t, "POST /batch/", `{"api_key":"phc_1","batch":[`+strings.Join(batch, ",")+`]}`, http.StatusOK)
	for _, tt := range filters {
		filter := fmt.Sprintf(`{"type":"person","key":%q,"operator":%q,"value":%s}`, tt.key, tt.operator, tt.value)
		messages := map[string]string{
			"people":    o.names(t, "GET /api/projects/1/persons/?properties="+url.QueryEscape("["+filter+"]"), ""),
			"questions": o.queryPersons(t, `{"kind":"ActorsQuery","select":["person"],"properties":[`+filter+`]}`),
			"events":    o.queryPersons(t, `{"kind":"ActorsQuery","select":["person"],"source":{"kind":"InsightActorsQuery","series":0,"source":{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"dateRange":{"date_from":"all"},"trendsFilter":{"display":"BoldNumber"},"properties":[`+filter+`]}}}`),
		}
		var cohort struct{ ID, Count int }
		fromJSON(t, o.do(t, "POST /api/projects/1/cohorts/", `{"filters":{"properties":{"type":"AND","values":[`+filter+`]}}}`, http.StatusCreated), &cohort)
		messages["cohorts"] = o.names(t, fmt.Sprintf("GET /api/projects/1/cohorts/%d/persons/", cohort.ID), "")
		messages["cohorts in questions"] = o.queryPersons(t, fmt.Sprintf(`{"kind":"ActorsQuery","select":["person"],"properties":[{"type":"cohort","key":"id","value":%d}]}`, cohort.ID))

		condition := `{"properties":[` + filter + `]}`
		isRejected := strings.HasPrefix(tt.value, "[") && !slices.Contains([]string{"exact", "is_not", "between", "not_between", "icontains_multi", "not_icontains_multi"}, tt.operator)
		key := fmt.Sprintf("flag-%d", cohort.ID)
		flag := fmt.Sprintf(`{"key":%q,"active":true,"filters":{"groups":[%s]}}`, key, condition)
		if isRejected {
			o.do(t, "POST /api/projects/1/feature_flags/", flag, http.StatusBadRequest)
			o.do(t, "POST /api/projects/1/feature_flags/user_blast_radius/", `{"condition":`+condition+`}`, http.StatusBadRequest)
		} else {
			o.do(t, "POST /api/projects/1/feature_flags/", flag, http.StatusCreated)
			messages["flags"] = o.decided(t, key, everybody)
			var radius struct {
				Affected int `json:"users_affected"`
			}
			fromJSON(t, o.do(t, "POST /api/projects/1/feature_flags/user_blast_radius/", `{"condition":`+condition+`}`, http.StatusOK), &radius)
			if want := len(strings.Fields(tt.want)); radius.Affected != want {
				t.Errorf("%s %s %s: the blast radius is %d, want %d", tt.key, tt.operator, tt.value, radius.Affected, want)
			}
		}
		for who, got := range messages {
			if got != tt.want {
				t.Errorf("%s %s %s: %s say %q, want %q", tt.key, tt.operator, tt.value, who, got, tt.want)
			}
		}
		if want := len(strings.Fields(tt.want)); cohort.Count != want {
			t.Errorf("%s %s %s: the cohort's count is %d, want %d", tt.key, tt.operator, tt.value, cohort.Count, want)
		}
	}
}

// The properties of exceptions are lists: a positive operator matches if any element does, a
// negative one if no element does, in insights and in lists of events.
func TestOperators_OverLists(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	var batch []string
	for _, types := range []string{`["ReferenceError"]`, `["ReferenceError","OtherError"]`, `["TypeError"]`} {
		batch = append(batch, `{"event":"$exception","distinct_id":"u","properties":{"$exception_types":`+types+`,"$exception_values":`+types+`,"$exception_sources":`+types+`,"$exception_functions":`+types+`,"tags":`+types+`}}`)
	}
	o.do(t, "POST /batch/", `{"api_key":"phc_1","batch":[`+strings.Join(batch, ",")+`]}`, http.StatusOK)
	for _, tt := range []struct {
		operator, value string
		want            int
	}{
		{"exact", `"ReferenceError"`, 2},
		{"exact", `["OtherError","TypeError"]`, 2},
		{"is_not", `"ReferenceError"`, 1},
		{"is_not", `["OtherError","TypeError"]`, 1},
		{"icontains", `"other"`, 1},
		{"not_icontains", `"other"`, 2},
		{"not_icontains", `["other","type"]`, 1},
		{"regex", `"^Other"`, 1},
		{"not_regex", `"^Other"`, 2},
		{"starts_with", `"ref"`, 2},
		{"is_set", `"is_set"`, 3},
		{"is_not_set", `"is_not_set"`, 0},
	} {
		for _, key := range []string{"$exception_types", "$exception_values", "$exception_sources", "$exception_functions"} {
			filter := fmt.Sprintf(`{"type":"event","key":%q,"operator":%q,"value":%s}`, key, tt.operator, tt.value)
			var answer struct{ Results []struct{ Count float64 } }
			query := `{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$exception"}],"dateRange":{"date_from":"all"},"properties":[` + filter + `]}}`
			fromJSON(t, o.do(t, "POST /api/projects/1/query/", query, http.StatusOK), &answer)
			var events struct{ Results []json.RawMessage }
			fromJSON(t, o.do(t, "GET /api/projects/1/events/?properties="+url.QueryEscape("["+filter+"]"), "", http.StatusOK), &events)
			if answer.Results[0].Count != float64(tt.want) || len(events.Results) != tt.want {
				t.Errorf("%s %s %s: a question counts %g, the list has %d, want %d", key, tt.operator, tt.value, answer.Results[0].Count, len(events.Results), tt.want)
			}
		}
	}
}

func fromJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// personNames returns the first distinct ids of persons, in order.
func personNames(t *testing.T, persons []json.RawMessage) string {
	var all []string
	for _, raw := range persons {
		var p struct {
			DistinctIDs []string `json:"distinct_ids"`
		}
		fromJSON(t, raw, &p)
		all = append(all, p.DistinctIDs...)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (o *office) names(t *testing.T, request, body string) string {
	t.Helper()
	var page struct{ Results []json.RawMessage }
	fromJSON(t, o.do(t, request, body, http.StatusOK), &page)
	return personNames(t, page.Results)
}

func (o *office) queryPersons(t *testing.T, query string) string {
	t.Helper()
	var answer struct{ Results [][]json.RawMessage }
	fromJSON(t, o.do(t, "POST /api/projects/1/query/", `{"query":`+query+`}`, http.StatusOK), &answer)
	var persons []json.RawMessage
	for _, row := range answer.Results {
		persons = append(persons, row[0])
	}
	return personNames(t, persons)
}

// decided returns the persons for whom a flag is enabled.
func (o *office) decided(t *testing.T, key, people string) string {
	t.Helper()
	var on []string
	for _, person := range strings.Split(people, "") {
		var answer struct{ FeatureFlags map[string]any }
		fromJSON(t, o.do(t, "POST /flags/?v=1", fmt.Sprintf(`{"api_key":"phc_1","distinct_id":%q,"flag_keys_to_evaluate":[%q]}`, person, key), http.StatusOK), &answer)
		if answer.FeatureFlags[key] == true {
			on = append(on, person)
		}
	}
	return strings.Join(on, " ")
}
