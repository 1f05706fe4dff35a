package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Pins (console.md N11): their bounds, their expiry, and the fields that they do not change.
func TestPins_Bounds(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"bodies": pinFormRows, "ends": pinEndRows, "targets": pinTargetRows, "what they leave": pinSideRows,
	})
}

var pinFormRows = flagtest.Rows([]ruletest.Row{pinnedFlag}, flagtest.Each("console.md N11", "bob", "pin 1",
	[2]string{`{"distinct_id":"x","person_id":null,"group":null,"value":true}`, `{"id":1,"person":{"distinct_id":"x"},"group":null}`},
	[2]string{`{"distinct_id":null,"group":{"type":"company","key":"acme"},"value":"red"}`, `{"id":2,"person":null,"value":"red"}`},
	[2]string{`{"distinct_id":7,"value":true}`, `{"person":{"name":"7","distinct_id":"7"}}`},
	[2]string{`{"distinct_id":" x ","value":true}`, `{"person":{"distinct_id":" x "}}`}, // blanks are part of an id
	[2]string{`{"group":{"type":"company","key":12},"value":true}`, `{"group":{"type":"company","key":"12"}}`},
	[2]string{`{"distinct_id":` + flagtest.Text(400) + `,"value":true}`, `{"person":{"distinct_id":` + flagtest.Text(400) + `}}`},
	[2]string{`{"distinct_id":` + flagtest.Text(401) + `,"value":true}`, `400 max_length distinct_id Ensure this field has no more than 400 characters.`},
	[2]string{`{"group":{"type":"company","key":` + flagtest.Text(400) + `},"value":true}`, `{"id":7}`},
	[2]string{`{"group":{"type":"company","key":` + flagtest.Text(401) + `},"value":true}`, `400 max_length group__key`},
	[2]string{`{"group":{"key":"acme"},"value":true}`, `400 invalid_input group__type Not a valid string.`},
	[2]string{`{"group":[],"value":true}`, `400 not_a_dict group`},
	[2]string{`{"group":{},"value":true}`, `400 invalid_input group__type Not a valid string.`},
	[2]string{`{"distinct_id":true,"value":true}`, `400 invalid_input distinct_id Not a valid string.`},
	[2]string{`{"person_id":"una","value":true}`, `400 invalid_input person_id Must be a valid UUID.`},
	[2]string{`{"person_id":"` + flagtest.Una + `","distinct_id":"una","value":true}`, `400 invalid_input distinct_id Give one of distinct_id, person_id and group.`},
	[2]string{`{"person_id":"` + flagtest.Una + `","group":{"type":"company","key":"acme"},"value":true}`, `400 invalid_input distinct_id Give one of`},
	[2]string{`{"distinct_id":"y","value":null}`, `400 invalid_input value Give true, false or the key of a variant.`},
	[2]string{`{"distinct_id":"y","value":"true"}`, `400 does_not_exist value The feature flag has no variant "true".`},
	[2]string{`{"distinct_id":"y","value":"Red"}`, `400 does_not_exist value`},
	[2]string{`{"distinct_id":"y","value":["red"]}`, `400 invalid_input value`},
	[2]string{`{"distinct_id":"y","value":true,"note":null}`, `{"note":""}`},
	[2]string{`{"distinct_id":"y","value":true,"note":` + flagtest.Text(200) + `}`, `{"note":` + flagtest.Text(200) + `}`},
	[2]string{`{"distinct_id":"y","value":true,"note":` + flagtest.Text(201) + `}`, `400 max_length note`},
	[2]string{`{"distinct_id":"y","value":true,"expires_at":"soon"}`, `400 invalid_input expires_at`},
	[2]string{`[]`, `400 invalid_input - Invalid data.`},
))

// Row i is sent i seconds after noon, the first one at 12:00:01.
var pinEndRows = []ruletest.Row{
	pinnedFlag,
	{"console.md N11 now is not later", "bob", "pin 1", `{"distinct_id":"x","value":true,"expires_at":"2026-01-02T12:00:02Z"}`, `400 invalid_input expires_at This time is in the past.`},
	{"console.md N11 a second later is", "bob", "pin 1", `{"distinct_id":"x","value":true,"expires_at":"2026-01-02T12:00:05Z"}`, `{"id":1,"expires_at":"2026-01-02T12:00:05Z"}`},
	{"console.md N11 until then it is there", "bob", "pins 1", ``, `{"count":1}`},
	{"console.md N11 from then on it is gone", "bob", "pins 1", ``, `{"count":0,"results":[]}`},
	{"console.md N11 from then on it is gone", "bob", "rows", ``, `{"results":[{"pinned":0}]}`},
	{"console.md N11 from then on it is gone", "bob", "who 1", `{"value":"true"}`, `{"results":[]}`},
	{"console.md N11 another one for the same id", "bob", "pin 1", `{"distinct_id":"x","value":"red"}`, `{"id":2,"expires_at":null}`},
	{"console.md N11 another one for the same id", "bob", "pins 1", ``, `{"count":1,"results":[{"id":2}]}`},
}

var pinTargetRows = []ruletest.Row{
	pinnedFlag,
	{"console.md N11 a group of one type", "bob", "pin 1", `{"group":{"type":"company","key":"acme"},"value":true}`, `{"id":1}`},
	{"console.md N11 one of the same key and another type", "bob", "pin 1", `{"group":{"type":"team","key":"acme"},"value":false}`, `{"id":2}`},
	{"console.md N11 a person with the same text", "bob", "pin 1", `{"distinct_id":"acme","value":false}`, `{"id":3}`},
	{"console.md N11 they are three", "bob", "pins 1", ``, `{"count":3,"results":[{"id":3},{"id":2},{"id":1}]}`},
	{"console.md N11 a second one replaces that of its target only", "bob", "pin 1", `{"group":{"type":"team","key":"acme"},"value":"blue"}`, `{"id":4}`},
	{"console.md N11 a second one replaces that of its target only", "bob", "pins 1", ``, `{"count":3,"results":[{"id":4},{"id":3},{"id":1}]}`},
	{"console.md N11 a person by uuid and by any id", "bob", "pin 1", `{"distinct_id":"vic","value":true}`, `{"id":5}`},
	{"console.md N11 a person by uuid and by any id", "bob", "pin 1", `{"person_id":"` + flagtest.Vic + `","value":"red"}`, `{"id":6}`},
	{"console.md N11 a person by uuid and by any id", "bob", "pins 1", `{"Limit":2}`, `{"count":4,"results":[{"id":6,"person":{"uuid":"` + flagtest.Vic + `"}},{"id":4}]}`},
	{"console.md N11 another person", "bob", "pin 1", `{"distinct_id":"una","value":true}`, `{"id":7}`},
	{"console.md N11 another person", "bob", "pins 1", `{"Offset":4}`, `{"count":5,"results":[{"id":1}]}`},
	{"console.md N11 an id that is none", "bob", "unpin 1 x", ``, `404 not_found - Not found.`},
	{"console.md N11 an id that is written otherwise", "bob", "unpin 1 01", ``, `404 not_found - Not found.`},
	{"console.md N11 one that was replaced", "bob", "unpin 1 5", ``, `404 not_found - Not found.`},
	{"console.md N11 another flag's", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"console.md N11 another flag's", "bob", "unpin 2 1", ``, `404 not_found - Not found.`},
	{"console.md N11 another project's", "dan", "unpin 1 1", ``, `404 not_found - Not found.`},
	{"console.md N11 the rest stays", "bob", "unpin 1 1", ``, `null`},
	{"console.md N11 the rest stays", "bob", "pins 1", ``, `{"count":4,"results":[{"id":7},{"id":6},{"id":4},{"id":3}]}`},
}

var pinSideRows = []ruletest.Row{
	pinnedFlag,
	{"console.md N11", "cyd", "pin 1", `{"distinct_id":"vic","value":"red","note":"asked for it"}`, `{"id":1,"created_by":{"first_name":"cyd"},"created_at":"2026-01-02T12:00:02Z"}`},
	{"console.md N11 no version, no change of the flag", "bob", "get 1", ``, `{"version":1,"updated_at":"2026-01-02T12:00:01Z","last_modified_by":{"first_name":"bob"}}`},
	{"console.md N11 the list of a cohort is hidden", "bob", "cohorts", ``, `{"count":0}`},
	{"console.md N11 no conflict with an editor", "bob", "change 1", `{"name":"x","version":1,"original_flag":{"name":""}}`, `{"version":2}`},
	{"console.md N11 it is kept with another variant", "bob", "change 1", `{"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"green","rollout_percentage":100}]}}}`, `{"version":3}`},
	{"console.md N11 it is kept with another variant", "bob", "pins 1", ``, `{"results":[{"value":"red"}]}`},
	{"console.md N11 a deleted flag keeps them for when it is back", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"console.md N11 but shows and changes none", "bob", "unpin 1 1", ``, `400 invalid_input - This feature flag has been deleted. Restore it before pinning its values.`},
	{"console.md N11 a deleted flag keeps them for when it is back", "bob", "change 1", `{"deleted":false}`, `{"deleted":false}`},
	{"console.md N11 a deleted flag keeps them for when it is back", "bob", "pins 1", ``, `{"count":1}`},
	{"console.md N11 off or in the archive it may be pinned", "bob", "archive 1", ``, `{"archived":true}`},
	{"console.md N11 off or in the archive it may be pinned", "bob", "pin 1", `{"distinct_id":"wes","value":false}`, `{"id":2}`},
	{"console.md N11 what was and what is", "ann", "log FeatureFlag 1", ``, `{"activity":"pinned","detail":{"changes":[{"field":"pins","action":"changed","before":[{"value":"red"}],"after":[{"value":false},{"value":"red"}]}]}}`},
}
