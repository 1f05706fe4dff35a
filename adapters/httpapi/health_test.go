package httpapi_test

import (
	"strings"
	"testing"
)

// console.md N21: a page that reports errors in a loop is rate limited, without affecting other pages.
func TestConsole_MistakesAreBounded(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie := o.ownerSession(t)
	report := visit{request: "POST /api/console/report/", cookie: cookie, body: `{"message": "m"}`}
	for range 10 {
		o.wantResponse(t, report, 204, "")
	}
	o.wantResponse(t, report, 429, "throttled")
	report.cookie = o.ownerSession(t)
	o.wantResponse(t, report, 204, "")
}

// console.md N9: a check returns at most 500 errors, and 6,000 of them take no longer than parsing
// them (searching the whole text for each took two minutes).
func TestFlagCheck_Bounded(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	property := `{"key": "p", "type": "person", "operator": "exakt", "value": "v"}`
	body := `{"key": "k", "filters": {"groups": [{"properties": [` + property + strings.Repeat(","+property, 5999) + `]}]}}`
	_, answer := o.visits(t, o.Server, visit{request: "POST " + ownFlags + "check/", cookie: o.ownerSession(t), body: body})
	if n := strings.Count(answer, `"attr":"filters.groups.0.properties.`); n != 500 {
		t.Errorf("%d faults, want 500: %.200s", n, answer)
	}
	o.wantResponse(t, visit{request: "POST " + ownFlags, cookie: o.ownerSession(t), body: body}, 400, "properties[0].operator")
}
