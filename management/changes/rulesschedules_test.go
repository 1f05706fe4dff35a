package changes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestScheduledChanges(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": scheduleFieldRows, "payloads": scheduledPayloadRows, "status": switchRows, "conditions": addedConditionRows, "variants": scheduledVariantRows, "steps": rolloutStepRows,
		"recurring": recurringRows, "months": monthRows, "time zones": zoneRows, "missed": missedRows, "failures": failureRows, "changed": rescheduleRows,
		"lists": scheduleListRows, "who": scheduleWhoRows,
	})
}

var scheduleFieldRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3 defaults", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `{"id":1,"team_id":1,"record_id":"1","model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},
			"scheduled_at":"2026-02-01T00:00:00Z","executed_at":null,"failure_reason":null,"is_recurring":false,"recurrence_interval":null,"end_date":null,"last_executed_at":null,
			"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:02Z","updated_at":"2026-01-02T12:00:02Z"}`},
		{"§5.1.3", "bob", "getschedule 1", ``, `{"id":1,"scheduled_at":"2026-02-01T00:00:00Z"}`},
		{"§5.1.3 nothing is done before its time", "bob", "due", ``, `0`},
	},
	flagtest.Each("§5.1.3 what a change needs", "bob", "schedule",
		[2]string{`{}`, `400 required record_id This field is required.`},
		[2]string{`{"record_id":1}`, `400 required model_name This field is required.`},
		[2]string{`{"record_id":1,"model_name":"FeatureFlag"}`, `400 required payload This field is required.`},
		[2]string{`{"record_id":1,"model_name":"FeatureFlag","payload":` + flagtest.Off + `}`, `400 required scheduled_at This field is required.`},
		[2]string{flagtest.Later("2026-02-01", flagtest.Off), `400 invalid_input scheduled_at Datetime has wrong format.`},
		[2]string{flagtest.Later("soon", flagtest.Off), `400 invalid_input scheduled_at Datetime has wrong format.`},
		[2]string{`{"record_id":1,"model_name":"Survey","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_choice model_name "Survey" is not a valid choice.`},
		[2]string{`{"record_id":"one","model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_input record_id A valid integer is required.`},
		[2]string{`{"record_id":"1","model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `{"record_id":"1"}`},
		[2]string{`{"record_id":9,"model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_input record_id Feature flag not found`},
	),
	flagtest.Each("§5.1.3 recurring ones", "bob", "schedule",
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true`), `400 required recurrence_interval`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":null`), `400 required recurrence_interval`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"hourly"`), `400 invalid_choice recurrence_interval "hourly" is not a valid choice.`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":"often"`), `400 invalid_input is_recurring Must be a valid boolean.`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-02-01T00:00:00Z"`), `400 invalid_input end_date End date must be after the scheduled start date.`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-31T23:59:59Z"`), `400 invalid_input end_date End date must be after the scheduled start date.`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-02-01T00:00:01Z"`), `{"end_date":"2026-02-01T00:00:01Z","is_recurring":true,"recurrence_interval":"daily"}`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"yearly","end_date":null`), `{"end_date":null,"recurrence_interval":"yearly"}`},
	),
	[]ruletest.Row{
		{"§5.1.3 another project's flag", "dan", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `400 invalid_input record_id Feature flag not found`},
		{"§5.1.3 a deleted flag", "bob", "create", `{"key":"gone"}`, `{"id":2}`},
		{"§5.1.3 a deleted flag", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 a deleted flag", "bob", "schedule", `{"record_id":2,"model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_input record_id Feature flag not found`},
	},
)

var scheduledPayloadRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.3 operations: a bad one is told at once", "bob", "schedule",
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `[]`), `400 not_a_dict payload Expected a dictionary of items but got type "list".`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"delete","value":true}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":7,"value":true}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_status"}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_status","value":"off"}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_status","value":null}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[]}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":{}}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":50}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"rollout_percentage":50}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"condition":0}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"condition":-1,"rollout_percentage":50}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"condition":0.5,"rollout_percentage":50}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"condition":0,"rollout_percentage":101}}`), `400 invalid_input filters`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_rollout","value":{"condition":0,"rollout_percentage":"half"}}`), `400 invalid_input filters`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_variants","value":{}}`), `400 invalid_input payload`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_variants","value":{"variants":{}}}`), `400 invalid_input payload`},
	),
	flagtest.Each("§5.1.2 what it leads to is checked at once, too", "bob", "schedule",
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[],"rollout_percentage":101}]}}`), `400 invalid_input filters`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[{"key":"x","type":"event","value":"y"}]}]}}`), flagtest.OnlyPersons},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[{"key":"id","type":"cohort","value":9}]}]}}`), `400 cohort_does_not_exist filters Cohort with id 9 does not exist`},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"a","rollout_percentage":50}]}}`), flagtest.Sum},
		[2]string{flagtest.Later("2026-02-01T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"a","rollout_percentage":100}],"payloads":{"b":"1"}}}`), `400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
	),
	[]ruletest.Row{
		{"§5.1.3 trying it changes nothing", "bob", "get 1", ``, `{"version":1,"active":true}`},
		{"§5.1.3 nothing of refusals stays", "bob", "schedules", ``, `{"count":0,"results":[]}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "create", `{"key":"top"}`, `{"id":2}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "change 2", flagtest.Needs("1"), `{"id":2}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `400 invalid_input - Cannot disable this feature flag because other flags depend on it: top (ID: 2). Please update or disable the dependent flags first.`},
	},
)

var switchRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-02T13:00:00Z", flagtest.Off), `{"id":1}`},
	{"§5.1.3", "cyd", "schedule", flagtest.Later("2026-01-02T14:00:00Z", flagtest.On), `{"id":2}`},
	{"§5.1.3 before its time", "bob", "wait 59m50s", ``, `null`},
	{"§5.1.3 before its time", "bob", "due", ``, `0`},
	{"§5.1.3 a few seconds later", "bob", "wait 10s", ``, `null`},
	{"§5.1.3 a few seconds later", "bob", "due", ``, `1`},
	{"§5.1.3 done", "bob", "get 1", ``, `{"active":false,"version":2,"last_modified_by":{"first_name":"bob"}}`},
	{"§5.1.3 executed_at", "bob", "getschedule 1", ``, `{"executed_at":"2026-01-02T13:00:07Z","last_executed_at":"2026-01-02T13:00:07Z","failure_reason":null}`},
	{"§5.1.3 once", "bob", "due", ``, `0`},
	{"§5.11 in the name of who has scheduled it", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"bob"},"detail":{"changes":[{"field":"active","before":true,"after":false}]}}`},
	{"§5.1.3 the other", "bob", "wait 1h", ``, `null`},
	{"§5.1.3 the other", "bob", "due", ``, `1`},
	{"§5.1.3 the other", "bob", "get 1", ``, `{"active":true,"version":3,"last_modified_by":{"first_name":"cyd"}}`},
	{"§5.1.3 one whose time has passed is done at once", "bob", "schedule", flagtest.Later("2025-01-01T00:00:00Z", flagtest.Off), `{"id":3}`},
	{"§5.1.3 one whose time has passed is done at once", "bob", "due", ``, `1`},
}

var addedConditionRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}],"payloads":{"true":"1"}}}`, `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[],"rollout_percentage":10},{"properties":[],"rollout_percentage":20}]}}`), `{"id":1}`},
	{"§5.1.3", "bob", "wait 12h", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `1`},
	{"§5.1.3 beside those that there are", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"key":"plan"}]},{"rollout_percentage":10},{"rollout_percentage":20}],"payloads":{"true":"1"}},"version":2}`},
	{"§5.1.3 those of then, not of now", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[],"rollout_percentage":30}]}}`), `{"id":2}`},
	{"§5.1.3 those of then, not of now", "bob", "change 1", `{"filters":{"groups":[]}}`, `{"version":3}`},
	{"§5.1.3 those of then, not of now", "bob", "wait 24h", ``, `null`},
	{"§5.1.3 those of then, not of now", "bob", "due", ``, `1`},
	{"§5.1.3 those of then, not of now", "bob", "get 1", ``, `{"filters":{"groups":[{"rollout_percentage":30}]},"version":4}`},
}

var scheduledVariantRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[],"rollout_percentage":40}],` + flagtest.AB + `,"payloads":{"a":"1"}}}`, `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"a","rollout_percentage":10},{"key":"b","rollout_percentage":90}]}}`), `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}],"payloads":{"b":"{\"x\":2}"}}}`), `{"id":2}`},
	{"§5.1.3", "bob", "wait 12h", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `1`},
	{"§5.1.3 the rest stays", "bob", "get 1", ``, `{"filters":{"groups":[{"rollout_percentage":40}],"multivariate":{"variants":[{"key":"a","rollout_percentage":10},{"key":"b","rollout_percentage":90}]},"payloads":{"a":"1"}}}`},
	{"§5.1.3", "bob", "wait 24h", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `1`},
	{"§5.1.3 payloads beside them", "bob", "get 1", ``, `{"filters":{"multivariate":{"variants":[{"rollout_percentage":0},{"rollout_percentage":100}]},"payloads":{"a":"(absent)","b":"{\"x\":2}"}}}`},
}

var recurringRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3 daily, three times", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-05T12:00:00Z"`), `{"id":1}`},
	{"§5.1.3 the first", "bob", "wait 12h", ``, `null`},
	{"§5.1.3 the first", "bob", "due", ``, `1`},
	{"§5.1.3 it is put off by a day", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-01-04T00:00:00Z","executed_at":null,"last_executed_at":"2026-01-03T00:00:04Z"}`},
	{"§5.1.3 not twice", "bob", "due", ``, `0`},
	{"§5.1.3 the second", "bob", "change 1", `{"active":true}`, `{"active":true}`},
	{"§5.1.3 the second", "bob", "wait 24h", ``, `null`},
	{"§5.1.3 the second", "bob", "due", ``, `1`},
	{"§5.1.3 the second", "bob", "get 1", ``, `{"active":false}`},
	{"§5.1.3 the last before the end", "bob", "wait 24h", ``, `null`},
	{"§5.1.3 the last before the end", "bob", "due", ``, `1`},
	{"§5.1.3 then it is over", "bob", "getschedule 1", ``, `{"executed_at":"(like) ^2026-01-05T00:00","scheduled_at":"2026-01-05T00:00:00Z"}`},
	{"§5.1.3 then it is over", "bob", "wait 48h", ``, `null`},
	{"§5.1.3 then it is over", "bob", "due", ``, `0`},
}

var monthRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	repeated("weekly", 1, "2026-01-05T09:00:00Z", "2026-01-12T09:00:00Z"),
	repeated("monthly", 2, "2026-01-15T09:00:00Z", "2026-02-15T09:00:00Z"),
	repeated("yearly", 3, "2026-02-01T09:00:00Z", "2027-02-01T09:00:00Z"),
	// Decision 44: a day that a month lacks is replaced by its last day, and the next time is not
	// computed from that day.
	repeated("monthly", 4, "2026-10-31T09:00:00Z", "2026-11-30T09:00:00Z", "2026-12-31T09:00:00Z", "2027-01-31T09:00:00Z", "2027-02-28T09:00:00Z", "2027-03-31T09:00:00Z"),
	repeated("yearly", 5, "2028-02-29T09:00:00Z", "2029-02-28T09:00:00Z", "2030-02-28T09:00:00Z", "2031-02-28T09:00:00Z", "2032-02-29T09:00:00Z"),
)

// repeated returns a recurring change with the times of its executions, each after the one before.
func repeated(interval string, id int, first string, times ...string) []ruletest.Row {
	list := []ruletest.Row{{"§5.1.3", "bob", "schedule", flagtest.Later(first, flagtest.Off, `"is_recurring":true,"recurrence_interval":"`+interval+`"`), fmt.Sprintf(`{"id":%d}`, id)}}
	for _, next := range times {
		list = append(list,
			ruletest.Row{"§5.1.3", "bob", "until " + first, ``, `null`},
			ruletest.Row{"§5.1.3", "bob", "due", ``, `1`},
			ruletest.Row{"§5.1.3 " + interval, "bob", fmt.Sprint("getschedule ", id), ``, `{"scheduled_at":"` + next + `","executed_at":null}`},
			ruletest.Row{"the time that it has, sent back, does not move the first", "bob", fmt.Sprint("changeschedule ", id), `{"scheduled_at":"` + next + `"}`, `{"scheduled_at":"` + next + `"}`},
		)
		first = next
	}
	return append(list, ruletest.Row{"§5.1.3", "bob", fmt.Sprint("dropschedule ", id), ``, `null`})
}

// zoneRows prove that times have a zone and are stored in UTC.
var zoneRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§2.2 forms of times", "bob", "schedule",
		[2]string{flagtest.Later("2026-03-29T01:30:00+01:00", flagtest.Off), `{"scheduled_at":"2026-03-29T00:30:00Z"}`},
		[2]string{flagtest.Later("2026-03-28T20:30:00-05:00", flagtest.Off), `{"scheduled_at":"2026-03-29T01:30:00Z"}`},
		[2]string{flagtest.Later("2026-03-29T01:30", flagtest.Off), `{"scheduled_at":"2026-03-29T01:30:00Z"}`},
		[2]string{flagtest.Later("2026-03-29 01:30:00", flagtest.Off), `{"scheduled_at":"2026-03-29T01:30:00Z"}`},
		[2]string{flagtest.Later("2026-03-29T01:30:00.123456Z", flagtest.Off), `{"scheduled_at":"2026-03-29T01:30:00.123456Z"}`},
	),
	[]ruletest.Row{
		{"§5.1.3 due in that moment", "bob", "until 2026-03-29T00:30:00Z", ``, `null`},
		{"§5.1.3 due in that moment", "bob", "due", ``, `1`},
		{"§5.1.3 the next three in theirs", "bob", "until 2026-03-29T01:30:00Z", ``, `null`},
		{"§5.1.3 the next three in theirs", "bob", "due", ``, `4`},
	},
)

var missedRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily"`), `{"id":1}`},
	{"§5.1.3 nobody looked for ten days", "bob", "until 2026-01-12T06:00:00Z", ``, `null`},
	{"§5.1.3 made once", "bob", "due", ``, `1`},
	{"§5.1.3 and put off to the next time", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-01-13T00:00:00Z","executed_at":null}`},
	{"§5.1.3 a month has other days", "bob", "schedule", flagtest.Later("2026-01-31T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"monthly"`), `{"id":2}`},
	{"§5.1.3 a month has other days", "bob", "dropschedule 1", ``, `null`},
	{"§5.1.3 a month has other days", "bob", "until 2026-03-05T00:00:00Z", ``, `null`},
	{"§5.1.3 a month has other days", "bob", "due", ``, `1`},
	{"§5.1.3 not on the 28th, from February's last day", "bob", "getschedule 2", ``, `{"scheduled_at":"2026-03-31T00:00:00Z"}`},
}

var failureRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off), `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:01Z", `{"operation":"add_release_condition","value":{"groups":[{"properties":[],"rollout_percentage":10}]}}`, `"is_recurring":true,"recurrence_interval":"daily"`), `{"id":2}`},
	{"§5.1.3 another flag needs it now", "bob", "create", `{"key":"top"}`, `{"id":2}`},
	{"§5.1.3 another flag needs it now", "bob", "change 2", flagtest.Needs("1"), `{"id":2}`},
	{"§5.1.3 another flag needs it now", "bob", "wait 12h", ``, `null`},
	{"§5.1.3 both were looked at", "bob", "due", ``, `2`},
	{"§5.1.3 failure_reason", "bob", "getschedule 1", ``, `{"executed_at":"(like) ^2026-01-03T00:00","failure_reason":"Cannot disable this feature flag because other flags depend on it: top (ID: 2). Please update or disable the dependent flags first."}`},
	{"§5.1.3 nothing was changed", "bob", "get 1", ``, `{"active":true,"filters":{"groups":[{"properties":[]},{"rollout_percentage":10}]}}`},
	{"§5.1.3 it is not tried again", "bob", "due", ``, `0`},
	{"§5.1.3 the flag is gone", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 the flag is gone", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 the flag is gone", "bob", "wait 24h", ``, `null`},
	{"§5.1.3 the flag is gone", "bob", "due", ``, `1`},
	{"§5.1.3 a recurring one ends with its failure", "bob", "getschedule 2", ``, `{"executed_at":"(like) ^2026-01-04T00:00","failure_reason":"(like) Feature flag not found$","last_executed_at":"(like) ^2026-01-03T00:00"}`},
}

var rescheduleRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `{"id":1}`},
		{"§5.1.3 its time", "cyd", "changeschedule 1", `{"scheduled_at":"2026-01-02T13:00:00Z"}`, `{"scheduled_at":"2026-01-02T13:00:00Z","created_by":{"first_name":"bob"},"updated_at":"2026-01-02T12:00:03Z","created_at":"2026-01-02T12:00:02Z"}`},
		{"§5.1.3 what it does", "bob", "changeschedule 1", `{"payload":{"operation":"update_status","value":true}}`, `{"payload":{"value":true},"scheduled_at":"2026-01-02T13:00:00Z"}`},
	},
	flagtest.Each("§5.1.3 the rules of a new one", "bob", "changeschedule 1",
		[2]string{`{"payload":{"operation":"odd"}}`, `400 invalid_input payload`},
		[2]string{`{"record_id":9}`, `400 invalid_input record_id Feature flag not found`},
		[2]string{`{"is_recurring":true}`, `400 required recurrence_interval`},
		[2]string{`{"end_date":"2026-01-01T00:00:00Z"}`, `400 invalid_input end_date End date must be after the scheduled start date.`},
		[2]string{`{"is_recurring":true,"recurrence_interval":"weekly"}`, `{"is_recurring":true,"recurrence_interval":"weekly"}`},
		[2]string{`{"is_recurring":false,"recurrence_interval":null}`, `{"is_recurring":false,"recurrence_interval":null}`},
		[2]string{`{"id":9,"executed_at":"2000-01-01T00:00:00Z","failure_reason":"x","created_by":null}`, `{"id":1,"executed_at":null,"failure_reason":null,"created_by":{"first_name":"bob"}}`},
	),
	[]ruletest.Row{
		{"§2.5 PUT: all required fields", "bob", "putschedule 1", `{"record_id":1}`, `400 required model_name This field is required.`},
		{"§2.5 PUT", "bob", "putschedule 1", flagtest.Later("2026-01-02T13:00:00Z", flagtest.Off), `{"payload":{"value":false}}`},
		{"§5.1.3", "bob", "wait 1h", ``, `null`},
		{"§5.1.3", "bob", "due", ``, `1`},
		{"§5.1.3 after that", "bob", "changeschedule 1", `{"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_input - Cannot modify a scheduled change that has already executed.`},
		{"§5.1.3 after that", "bob", "changeschedule 1", `{}`, `400 invalid_input - Cannot modify a scheduled change that has already executed.`},
		{"§5.1.3 it may be taken away", "bob", "dropschedule 1", ``, `null`},
		{"clients.md §1.3 then it is gone", "bob", "getschedule 1", ``, `404 not_found - Not found.`},
		{"clients.md §1.3 then it is gone", "bob", "dropschedule 1", ``, `404 not_found - Not found.`},
		{"§5.1.3 taken away before its time", "bob", "schedule", flagtest.Later("2026-01-02T14:00:00Z", flagtest.On), `{"id":2}`},
		{"§5.1.3 taken away before its time", "bob", "dropschedule 2", ``, `null`},
		{"§5.1.3 taken away before its time", "bob", "wait 2h", ``, `null`},
		{"§5.1.3 taken away before its time", "bob", "due", ``, `0`},
		{"§5.1.3 no number", "bob", "getschedule x", ``, `404 not_found - Not found.`},
	},
)

var scheduleListRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"§5.1.3", "dan", "create", `{"key":"theirs"}`, `{"id":3}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-03-01T00:00:00Z", flagtest.Off), `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `{"id":2}`},
	{"§5.1.3", "bob", "schedule", `{"record_id":2,"model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-01-15T00:00:00Z"}`, `{"id":3}`},
	{"§5.1.3", "dan", "schedule", `{"record_id":3,"model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-01-15T00:00:00Z"}`, `{"id":4}`},
	{"§5.1.3 the next ones first", "bob", "schedules", ``, `{"count":3,"results":[{"id":3},{"id":2},{"id":1}]}`},
	{"clients.md §2.2 record_id", "bob", "schedules 1", ``, `{"count":2,"results":[{"id":2},{"id":1}]}`},
	{"clients.md §2.2 record_id", "bob", "schedules 9", ``, `{"count":0,"results":[]}`},
	{"clients.md §2.2 model_name", "bob", "schedules", `{"Model":"FeatureFlag"}`, `{"count":3}`},
	{"clients.md §2.2 model_name", "bob", "schedules", `{"Model":"Survey"}`, `{"count":0,"results":[]}`},
	{"§3 a page", "bob", "schedules", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"id":2}]}`},
	{"§5.1.3 those that are done stay", "bob", "until 2026-01-20T00:00:00Z", ``, `null`},
	{"§5.1.3 those that are done stay, whoever's", "bob", "due", ``, `2`},
	{"§5.1.3 those that are done stay", "bob", "schedules", ``, `{"count":3,"results":[{"id":3,"executed_at":"(like) ^2026-01-20"},{"executed_at":null},{"executed_at":null}]}`},
}

var scheduleWhoRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `{"id":1}`},
	{"§1.8 another member", "cyd", "changeschedule 1", `{"end_date":null}`, `{"id":1}`},
	{"§1.5 of another project: not there", "dan", "getschedule 1", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "changeschedule 1", `{}`, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "dropschedule 1", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "schedules", ``, `{"count":0,"results":[]}`},
}

// The result of each change is reported, at most 50 at a time.
func TestScheduledChanges_JobDone(t *testing.T) {
	var reports []management.JobDone
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) {
		c.JobDone = func(d management.JobDone) { reports = append(reports, d) }
	})
	table := []ruletest.Row{flagtest.AFlag}
	for i := range 51 {
		table = append(table, ruletest.Row{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-02T12:00:00Z", flagtest.Off), fmt.Sprintf(`{"id":%d}`, i+1)})
	}
	w.Run(t, flagtest.RoomCalls(t, w), append(table,
		ruletest.Row{"the first is of a flag that was deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		ruletest.Row{"50 at a time", "bob", "due", ``, `50`},
		ruletest.Row{"and the rest", "bob", "due", ``, `1`}))
	want := management.JobDone{Job: management.JobScheduledChange, Project: ruletest.Project, ID: "1", Failure: "record_id: Feature flag not found"}
	if len(reports) != 51 {
		t.Fatalf("%d were told, want 51", len(reports))
	}
	if diff := cmp.Diff(want, reports[0]); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
}

// A change is executed even if all users have left its project; a deleted project has no changes.
func TestScheduledChanges_ProjectDeleted(t *testing.T) {
	w := flagtest.New(t)
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{flagtest.AFlag, {"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-02T12:30:00Z", flagtest.Off), `{"id":1}`}})
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(ruletest.Project)
		if err != nil {
			return err
		}
		p.Deleted = true
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Clock = w.Clock.Add(24 * 60 * 60 * 1e9)
	if n, err := w.Changes.Scheduled.RunDue(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were made, %v", n, err)
	}
	if n, err := w.Changes.Scheduled.RunDue(t.Context()); n != 0 || err != nil {
		t.Errorf("it is tried again: %d, %v", n, err)
	}
}

// The permission is checked when a change is executed, not when it is scheduled (clients.md §11.2,
// §11.3): flag 1 belongs to bob, and cyd has scheduled that it is switched off.
func TestScheduledChanges_AccessWhenDue(t *testing.T) {
	const mayNot, isOut = "You do not have editor access to this resource.", "The user who scheduled this change no longer has access to the project."
	control := func(kind, id, body string) func(*testing.T, *ruletest.World) {
		return func(t *testing.T, w *ruletest.World) {
			body := strings.ReplaceAll(body, "CYD", w.Scope(t, "cyd").Memberships[0].ID)
			if _, err := w.SetControl(t.Context(), w.Scope(t, "ann"), kind, id, ruletest.Body(t, body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		change  func(*testing.T, *ruletest.World)
		failure string // empty if the change is executed
	}{
		"nothing":                 {func(*testing.T, *ruletest.World) {}, `null`},
		"viewer of this flag":     {control("feature_flag", "1", `{"access_level":"viewer","organization_member":"CYD"}`), `"` + mayNot + `"`},
		"none of flags":           {control("", "", `{"access_level":"none","resource":"feature_flag"}`), `"` + mayNot + `"`},
		"an editor among viewers": {control("feature_flag", "1", `{"access_level":"editor","organization_member":"CYD"}`), `null`},
		"out of the project":      {control(management.KindProject, "1", `{"access_level":"none","organization_member":"CYD"}`), `"` + isOut + `"`},
		"out of the organization": {func(t *testing.T, w *ruletest.World) {
			if err := w.Organizations.Members.Delete(t.Context(), w.Scope(t, "ann"), ruletest.UUID("cyd")); err != nil {
				t.Fatal(err)
			}
		}, `"` + isOut + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			calls := flagtest.RoomCalls(t, w)
			w.Run(t, calls, []ruletest.Row{flagtest.AFlag, {"§5.1.3", "cyd", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off), `{"id":1}`}})
			c.change(t, w)
			w.Run(t, calls, []ruletest.Row{
				{"its time has come", "bob", "wait 13h", ``, `null`},
				{"it is looked at once", "bob", "due", ``, `1`},
				{"it is looked at once", "bob", "due", ``, `0`},
				{"clients.md §11.3", "bob", "getschedule 1", ``, `{"failure_reason":` + c.failure + `,"executed_at":"(like) ^2026-01-03"}`},
				{"clients.md §11.3", "bob", "get 1", ``, `{"active":` + fmt.Sprint(c.failure != `null`) + `}`},
			})
		})
	}
}
