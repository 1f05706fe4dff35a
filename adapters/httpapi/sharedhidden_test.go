package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// management.md §4.1.8: without showInspector a link does not reveal queries, neither as JSON nor
// as a page: no query, and no part of one in an error or in other members of the result.
func TestShared_JSONHidesQuestions(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	v := o.insightProject(t, &insightCase{ID: "hidden", Events: json.RawMessage(`[["buy","ann","2020-01-02T03:04:05Z",{}]]`)})
	questions := []string{
		`{"kind":"SecretQuery"}`,
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}],"properties":[{"key":"secret_key","type":"event","operator":"secret_operator","value":"secret_value"}]}`,
		`{"kind":"HogQLQuery","query":"SELECT secret_column FROM events"}`,
		`{"kind":"HogQLQuery","query":"SELECT count() AS n FROM events WHERE event != 'secret_event'"}`,
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy","math":"hogql","math_hogql":"countIf(event != 'secret_event')"}],"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-02"}}`,
	}
	hidden, visible := v.board(t, `{}`, questions...), v.board(t, `{"showInspector":true}`, questions...)
	for _, path := range []string{"/shared/" + hidden + ".json", "/shared/" + hidden, "/embedded/" + hidden} {
		status, _, body := o.send(t, &manageStep{As: "none", Request: "GET " + path})
		text := string(body)
		if status != 200 || strings.Contains(strings.ToLower(text), "secret") {
			t.Errorf("%s: %d, tells of questions: %s", path, status, text)
		}
		if strings.Contains(path, ".json") && (strings.Count(text, "This question") != 3 || strings.Count(text, `"result":[[1]]`) != 1) {
			t.Errorf("%s: not three faults and a result: %s", path, text)
		}
	}
	if _, _, body := o.send(t, &manageStep{As: "none", Request: "GET /shared/" + visible + ".json"}); !strings.Contains(string(body), "secret_column") || !strings.Contains(string(body), `\"SecretQuery\" is not supported`) {
		t.Errorf("with its inspector: %s", body)
	}
}
