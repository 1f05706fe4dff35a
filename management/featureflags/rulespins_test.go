package featureflags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The source of the expected values in these tables is spec/console.md §2.4, N11.
func TestPins(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{"pins": pinRows, "bodies": pinBodyRows, "bound": pinBoundRows(), "doors": pinEntryRows})
}

var pinnedFlag = ruletest.Row{"N11", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[],"rollout_percentage":0}],"multivariate":{"variants":[{"key":"red","rollout_percentage":50},{"key":"blue","rollout_percentage":50}]}}}`, `{"id":1,"version":1}`}

var pinRows = []ruletest.Row{
	pinnedFlag,
	{"N11 nothing is pinned", "bob", "pins 1", `{}`, `{"count":0}`},
	{"N11 by person_id", "bob", "pin 1", `{"person_id":"` + flagtest.Vic + `","value":"blue","note":"asked for it"}`,
		`{"id":1,"person":{"uuid":"` + flagtest.Vic + `","name":"vic@example.com","distinct_id":"vic"},"group":null,"value":"blue","note":"asked for it","expires_at":null,"created_by":{"id":2}}`},
	{"N11 by a distinct id that nobody has yet", "cyd", "pin 1", `{"distinct_id":"new","value":true,"expires_at":"2026-01-03T00:00:00Z"}`, `{"id":2,"person":{"name":"new","distinct_id":"new"},"value":true,"expires_at":"2026-01-03T00:00:00Z"}`},
	{"N11 a group", "cyd", "pin 1", `{"group":{"type":"company","key":"acme"},"value":false}`, `{"id":3,"person":null,"group":{"type":"company","key":"acme"},"value":false}`},
	{"N11 a second one for the same person replaces the first", "cyd", "pin 1", `{"distinct_id":"vic2","value":false}`, `{"id":4,"value":false}`},
	{"N11 and for the same group", "cyd", "pin 1", `{"group":{"type":"company","key":"acme"},"value":"red"}`, `{"id":5,"value":"red"}`},
	{"N11", "bob", "pins 1", `{}`, `{"count":3,"results":[{"id":5,"group":{"key":"acme"}},{"id":4,"person":{"name":"vic@example.com"}},{"id":2,"person":{"name":"new"}}]}`},
	{"N11 pages", "bob", "pins 1", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"id":4}]}`},
	{"N10 counts them", "bob", "rows", `{}`, `{"results":[{"key":"a","pinned":3}]}`},
	{"N11 no version", "bob", "get 1", ``, `{"version":1}`},
	{"N11 the activity", "ann", "log FeatureFlag 1", ``, `{"activity":"pinned","user":{"email":"cyd@example.com"},"detail":{"name":"a","changes":[{"field":"pins"}]}}`},
	{"N11 an expired one is gone", "bob", "wait 24h", ``, `null`},
	{"N11 an expired one is gone", "bob", "pins 1", `{}`, `{"count":2,"results":[{"id":5},{"id":4}]}`},
	{"N11 an expired one is gone", "bob", "rows", `{}`, `{"results":[{"pinned":2}]}`},
	{"N11 an expired one is gone", "bob", "unpin 1 2", ``, `404 not_found - Not found.`},
	{"N11", "bob", "unpin 1 4", ``, `null`},
	{"N11", "bob", "unpin 1 4", ``, `404 not_found - Not found.`},
	{"N11", "bob", "pins 1", `{}`, `{"count":1,"results":[{"id":5}]}`},
	{"N11 the activity", "ann", "log FeatureFlag 1", ``, `{"activity":"unpinned","user":{"email":"bob@example.com"}}`},
	{"N11 a change keeps them", "bob", "change 1", `{"name":"about"}`, `{"version":2}`},
	{"N11 versions are without them: those of now stay", "bob", "restore 1", `{"version":1}`, `{"version":3}`},
	{"N11 versions are without them: those of now stay", "bob", "pins 1", `{}`, `{"count":1,"results":[{"id":5}]}`},
	{"N11 another project's flag", "dan", "pins 1", `{}`, `404 not_found - Not found.`},
	{"N11 another project's flag", "dan", "pin 1", `{"distinct_id":"x","value":true}`, `404 not_found - Not found.`},
}

var pinBodyRows = flagtest.Rows([]ruletest.Row{pinnedFlag}, flagtest.Each("N11", "bob", "pin 1",
	[2]string{`{"value":true}`, `400 required distinct_id Give distinct_id, person_id or group.`},
	[2]string{`{"distinct_id":"x","group":{"type":"company","key":"acme"},"value":true}`, `400 invalid_input distinct_id Give one of`},
	[2]string{`{"distinct_id":"x"}`, `400 required value`},
	[2]string{`{"distinct_id":"x","value":"green"}`, `400 does_not_exist value The feature flag has no variant "green".`},
	[2]string{`{"distinct_id":"x","value":1}`, `400 invalid_input value Give true, false or the key of a variant.`},
	[2]string{`{"distinct_id":"","value":true}`, `400 invalid_input distinct_id This field may not be blank.`},
	[2]string{`{"distinct_id":{},"value":true}`, `400 invalid_input distinct_id Not a valid string.`},
	[2]string{`{"distinct_id":"` + strings.Repeat("ä", 401) + `","value":true}`, `400 max_length distinct_id`},
	[2]string{`{"distinct_id":"x","value":true,"note":"` + strings.Repeat("ä", 201) + `"}`, `400 max_length note`},
	[2]string{`{"distinct_id":"x","value":true,"expires_at":"2026-01-01T00:00:00Z"}`, `400 invalid_input expires_at This time is in the past.`},
	[2]string{`{"person_id":"0191f0a2-5b1c-7d3e-8f40-0000000000ff","value":true}`, `400 does_not_exist person_id There is no person 0191f0a2-5b1c-7d3e-8f40-0000000000ff.`},
	[2]string{`{"group":{"type":"planet","key":"acme"},"value":true}`, `400 does_not_exist group__type The project has no group type "planet".`},
	[2]string{`{"group":{"type":"company"},"value":true}`, `400 invalid_input group__key Not a valid string.`},
	[2]string{`{"group":{"type":"company","key":""},"value":true}`, `400 invalid_input group__key This field may not be blank.`},
))

// pinBoundRows prove that a flag may have at most 100 pins, that replacing a pin is possible at the
// limit, and that expired pins do not count.
func pinBoundRows() []ruletest.Row {
	out := []ruletest.Row{pinnedFlag}
	for i := range 100 {
		out = append(out, ruletest.Row{"N11", "bob", "pin 1", fmt.Sprintf(`{"distinct_id":"u%d","value":true,"expires_at":"2026-01-02T13:00:00Z"}`, i), `{"value":true}`})
	}
	return append(out, []ruletest.Row{
		{"N11 at most 100 a flag", "bob", "pin 1", `{"distinct_id":"more","value":true}`, `400 max_length - A feature flag may have at most 100 pinned values.`},
		{"N11 at most 100 a flag", "bob", "pin 1", `{"group":{"type":"company","key":"acme"},"value":true}`, `400 max_length - A feature flag may have at most 100 pinned values.`},
		{"N11 replaced", "bob", "pin 1", `{"distinct_id":"u7","value":false}`, `{"id":101,"value":false}`},
		{"N11 another flag has its own", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"N11 another flag has its own", "bob", "pin 2", `{"distinct_id":"u1","value":true}`, `{"id":102}`},
		{"N11 expired ones make room", "bob", "wait 1h", ``, `null`},
		{"N11 expired ones make room", "bob", "pin 1", `{"distinct_id":"more","value":true}`, `{"id":103}`},
		{"N11 expired ones make room", "bob", "pins 1", `{}`, `{"count":2,"results":[{"id":103},{"id":101}]}`},
	}...)
}

var pinEntryRows = []ruletest.Row{
	pinnedFlag,
	{"N11", "bob", "pin 1", `{"distinct_id":"una","value":true}`, `{"id":1}`},
	{"N11 an export leaves pins out", "bob", "export", ``, `{"flags":[{"key":"a","pins":"(absent)"}]}`},
	{"N12 pins need an approval", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12 pins need an approval", "bob", "pin 1", `{"distinct_id":"x","value":true}`, flagtest.NeedsOne},
	{"N12 and so does their end", "bob", "unpin 1 1", ``, flagtest.NeedsOne},
	{"N12 a refusal changes nothing", "bob", "pins 1", `{}`, `{"count":1,"results":[{"id":1}]}`},
	{"N12", "ann", "approvals", `{"needed":0}`, `{"needed":0}`},
	{"N11 of a deleted flag none", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"N11 of a deleted flag none", "bob", "pin 1", `{"distinct_id":"x","value":true}`, `400 invalid_input - This feature flag has been deleted. Restore it before pinning its values.`},
	{"N11 one of the same key begins without", "bob", "create", `{"key":"a"}`, `{"id":2}`},
	{"N11 one of the same key begins without", "bob", "pins 2", `{}`, `{"count":0}`},
}
