package rollouts_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The definition of a rollout, and the changes that each status allows: experiments.md §4.2.
func TestRollouts_Definition(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"steps": rolloutStepsRows, "numbers": rolloutNumberRows, "guards": guardRows, "metrics": guardMetricRows, "windows": guardWindowRows,
		"names": guardNameRows, "notify": notifyRows, "draft": draftRows, "running": runningEditRows, "paused": pausedEditRows, "ended": endedEditRows,
	})
}

// aDraft are a flag and a draft of a rollout of it.
var aDraft = []ruletest.Row{
	{"§4.2", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.2", "bob", "rollout", guardedRollout(1), `{"id":1,"status":"draft","state_version":0}`},
}

// listOfSteps returns the member steps with n steps of 1 %, 2 % and so on.
func listOfSteps(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = step(float64(i + 1))
	}
	return `"steps":[` + strings.Join(list, ",") + `]`
}

// listOf returns a member with n equal elements.
func listOf(name, element string, n int) string {
	return `"` + name + `":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]`
}

// percents returns the body with steps of these percentages.
func percents(list ...string) string {
	return `{"steps":[{"dwell_seconds":3900,"percent":` + strings.Join(list, `},{"dwell_seconds":3900,"percent":`) + `}]}`
}

var rolloutStepsRows = flagtest.Rows(aDraft, flagtest.Each("§4.2 steps", "bob", "changerollout 1",
	[2]string{`{` + listOfSteps(20) + `}`, `{"status":"draft"}`},
	[2]string{`{` + listOfSteps(21) + `}`, `400 invalid_input steps A rollout has 1 to 20 steps, not 21.`},
	[2]string{`{"steps":null}`, `400 null steps`},
	[2]string{`{"steps":[1]}`, `400 invalid_input steps Give a list of objects`},
	[2]string{percents(`0.01`, `33.33`, `100`), `{"steps":[{"percent":0.01},{"percent":33.33},{"percent":100}]}`},
	[2]string{percents(`0`), `400 invalid_input steps.0.percent Give a percentage above 0 and at most 100.`},
	[2]string{percents(`-1`), `400 invalid_input steps.0.percent Give a percentage above 0 and at most 100.`},
	[2]string{percents(`50`, `100.01`), `400 invalid_input steps.1.percent Give a percentage above 0 and at most 100.`},
	[2]string{percents(`33.333`), `400 invalid_input steps.0.percent A percentage has at most two decimals.`},
	[2]string{percents(`10`, `5`), `400 invalid_input steps.1.percent Each step must be higher than the previous one.`},
	[2]string{percents(`10`, `10.01`), `{"steps":[{"percent":10},{"percent":10.01}]}`},
	[2]string{percents(`"10"`), `400 invalid_input steps Give a list of objects`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":2592000}]}`, `{"steps":[{"dwell_seconds":2592000}]}`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":2592001}]}`, `400 invalid_input steps.0.dwell_seconds Give 60 to 2592000 seconds.`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":3900},{"percent":20}]}`, `400 invalid_input steps.1.dwell_seconds`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":3900.5}]}`, `400 invalid_input steps`},
	[2]string{`{"settle_seconds":0,"steps":[{"percent":10,"dwell_seconds":60}],"guardrails":[` + windowed(`60`, `"second"`) + `]}`, `{"steps":[{"dwell_seconds":60}]}`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":59}]}`, `400 invalid_input steps.0.dwell_seconds`},
	[2]string{`{"steps":[{"percent":10,"dwell_seconds":60,"approve":"yes"}]}`, `400 invalid_input steps`},
))

// windowed returns a guardrail with a conversion window.
func windowed(window, unit string) string {
	return strings.Replace(errorGuard, `"kind":"ExperimentMetric"`, `"kind":"ExperimentMetric","conversion_window":`+window+`,"conversion_window_unit":`+unit, 1)
}

var rolloutNumberRows = flagtest.Rows(aDraft, flagtest.Each("§4.2 numbers at their bounds", "bob", "changerollout 1",
	[2]string{`{"alpha":0.001}`, `{"alpha":0.001}`},
	[2]string{`{"alpha":0.0009}`, `400 invalid_input alpha Give a number between 0.001 and 0.2.`},
	[2]string{`{"alpha":0.2}`, `{"alpha":0.2}`},
	[2]string{`{"alpha":0.2001}`, `400 invalid_input alpha`},
	[2]string{`{"alpha":"0.05"}`, `400 invalid_input alpha`},
	[2]string{`{"alpha":null}`, `400 invalid_input alpha`},
	[2]string{`{"minimum_exposures":50}`, `{"minimum_exposures":50}`},
	[2]string{`{"minimum_exposures":49}`, `400 min_value minimum_exposures`},
	[2]string{`{"minimum_exposures":1000000}`, `{"minimum_exposures":1000000}`},
	[2]string{`{"minimum_exposures":1000001}`, `400 max_value minimum_exposures`},
	[2]string{`{"settle_seconds":0}`, `{"settle_seconds":0}`},
	[2]string{`{"settle_seconds":-1}`, `400 min_value settle_seconds`},
	[2]string{`{"exposure_lookback_days":0}`, `{"exposure_lookback_days":0}`},
	[2]string{`{"exposure_lookback_days":90}`, `{"exposure_lookback_days":90}`},
	[2]string{`{"exposure_lookback_days":91}`, `400 max_value exposure_lookback_days`},
	[2]string{`{"exposure_lookback_days":-1}`, `400 min_value exposure_lookback_days`},
	[2]string{`{"on_rollback":"zero"}`, `{"on_rollback":"zero"}`},
	[2]string{`{"on_rollback":"first"}`, `400 invalid_choice on_rollback "first" is not a valid choice. Valid choices: previous, zero.`},
	[2]string{`{"on_hold_limit":"rollback"}`, `{"on_hold_limit":"rollback"}`},
	[2]string{`{"on_hold_limit":"end"}`, `400 invalid_choice on_hold_limit`},
	[2]string{`{"sample_ratio":"ignore"}`, `{"sample_ratio":"ignore"}`},
	[2]string{`{"sample_ratio":"rollback"}`, `400 invalid_choice sample_ratio`},
	[2]string{`{"feature_flag":0}`, `400 min_value feature_flag`},
	[2]string{`{"status":"completed","step":2,"state_version":9,"percent_before":1,"reasons":["x"]}`, `{"status":"draft","step":null,"percent_before":null,"reasons":[]}`}, // read-only
	[2]string{`{"name":` + flagtest.Text(400) + `,"description":` + flagtest.Text(4000) + `}`, `{"name":` + flagtest.Text(400) + `}`},
	[2]string{`{"name":` + flagtest.Text(401) + `}`, `400 max_length name`},
	[2]string{`{"description":` + flagtest.Text(4001) + `}`, `400 max_length description`},
))

var guardRows = flagtest.Rows(aDraft, flagtest.Each("§4.2 guardrails and signals", "bob", "changerollout 1",
	[2]string{`{` + listOf("guardrails", errorGuard, 10) + `,` + listOf("signals", buyGuard, 10) + `}`, `{"status":"draft"}`},
	[2]string{`{` + listOf("guardrails", errorGuard, 11) + `}`, `400 max_length guardrails At most 10.`},
	[2]string{`{` + listOf("signals", buyGuard, 11) + `}`, `400 max_length signals At most 10.`},
	[2]string{`{"guardrails":[],"signals":[` + buyGuard + `]}`, `{"guardrails":[],"signals":[{"name":"buy","goal":"increase"}]}`},
	[2]string{`{"guardrails":[],"signals":[]}`, `400 required guardrails A rollout needs a guardrail or a signal.`},
	[2]string{`{"guardrails":[7]}`, `400 invalid_input guardrails Give a list of objects`},
	[2]string{`{"guardrails":{}}`, `400 not_a_list guardrails`},
	[2]string{`{"guardrails":[` + errorGuard + `],"signals":[` + buyGuard + `,{"metric":` + errorMetric + `}]}`, `400 invalid_choice signals.1.goal`},
	[2]string{`{"guardrails":[{"goal":"decrease","tolerance":0.99,"metric":` + errorMetric + `}]}`, `{"guardrails":[{"tolerance":0.99}]}`},
	[2]string{`{"guardrails":[{"goal":"decrease","tolerance":-0.1,"metric":` + errorMetric + `}]}`, `400 invalid_input guardrails.0.tolerance`},
	[2]string{`{"guardrails":[{"goal":"decrease","tolerance":"none","metric":` + errorMetric + `}]}`, `400 invalid_input guardrails`},
	// The lists together have at most 64 KiB.
	[2]string{`{"guardrails":[{"goal":"decrease","about":` + flagtest.Text(64<<10) + `,"metric":` + errorMetric + `}]}`, `400 max_length guardrails The metrics of a rollout may have at most 65536 bytes.`},
	[2]string{`{"signals":[{"goal":"decrease","about":` + flagtest.Text(64<<10) + `,"metric":` + errorMetric + `}]}`, `400 max_length guardrails`},
))

// ofMetric returns the body with one guardrail; its metric has further members.
func ofMetric(members string) string {
	return `{"guardrails":[{"goal":"decrease","metric":{"kind":"ExperimentMetric","source":{"kind":"EventsNode","event":"error"},` + members + `}}]}`
}

var guardMetricRows = flagtest.Rows(aDraft, flagtest.Each("§4.2 a mean, a funnel or a ratio, without breakdown and outlier bounds", "bob", "changerollout 1",
	[2]string{ofMetric(`"metric_type":"mean"`), `{"guardrails":[{"metric":{"metric_type":"mean","conversion_window":3600,"conversion_window_unit":"second"}}]}`},
	[2]string{ofMetric(`"metric_type":"funnel","series":[{"kind":"EventsNode","event":"buy"}]`), `{"guardrails":[{"metric":{"metric_type":"funnel"}}]}`},
	[2]string{ofMetric(`"metric_type":"funnel","series":[]`), `400 invalid_input guardrails.0.metric a funnel needs at least one step in series`},
	[2]string{ofMetric(`"metric_type":"ratio","numerator":{"kind":"EventsNode","event":"buy"},"denominator":{"kind":"EventsNode","event":"visit"}`), `{"guardrails":[{"metric":{"metric_type":"ratio"}}]}`},
	[2]string{ofMetric(`"metric_type":"median"`), `400 invalid_choice guardrails.0.metric`},
	[2]string{ofMetric(`"metric_type":"mean","kind":"ExperimentTrendsQuery"`), `400 invalid_input guardrails.0.metric metric kind must be 'ExperimentMetric'`},
	[2]string{ofMetric(`"metric_type":"mean","breakdownFilter":{"breakdowns":[{"property":"$browser"}]}`), `400 invalid_input guardrails.0.metric.breakdownFilter`},
	[2]string{ofMetric(`"metric_type":"mean","breakdownFilter":{}`), `{"status":"draft"}`},
	[2]string{ofMetric(`"metric_type":"mean","lower_bound_percentile":0.01`), `400 invalid_input guardrails.0.metric.lower_bound_percentile`},
	[2]string{ofMetric(`"metric_type":"mean","upper_bound_percentile":0.99`), `400 invalid_input guardrails.0.metric.upper_bound_percentile`},
	[2]string{ofMetric(`"metric_type":"ratio","numerator_outlier_handling":{"upper_bound_percentile":0.99}`), `400 invalid_input guardrails.0.metric.numerator_outlier_handling`},
	[2]string{ofMetric(`"metric_type":"ratio","denominator_outlier_handling":{"upper_bound_percentile":0.99}`), `400 invalid_input guardrails.0.metric.denominator_outlier_handling`},
	[2]string{`{"guardrails":[` + errorGuard + `],"signals":[{"goal":"decrease","metric":{"kind":"ExperimentMetric","metric_type":"retention"}}]}`, `400 invalid_choice signals.0.metric.metric_type "retention" is not a valid choice. Valid choices: mean, funnel, ratio.`},
))

// The steps of the draft last 3,900 seconds, of which 300 are the settling time: a window has at
// most 3,600 seconds. §1.2 has the lengths of the units.
var guardWindowRows = flagtest.Rows(aDraft,
	flagtest.Each("§4.2 not longer than the shortest dwell less the settling time", "bob", "changerollout 1",
		[2]string{`{"guardrails":[` + windowed(`3600`, `"second"`) + `]}`, `{"guardrails":[{"metric":{"conversion_window":3600}}]}`},
		[2]string{`{"guardrails":[` + windowed(`3601`, `"second"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 3601 s is longer than the shortest dwell time minus the settling time: 3600 s.`},
		[2]string{`{"guardrails":[` + windowed(`60`, `"minute"`) + `]}`, `{"status":"draft"}`},
		[2]string{`{"guardrails":[` + windowed(`61`, `"minute"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 3660 s`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"hour"`) + `]}`, `{"status":"draft"}`},
		[2]string{`{"guardrails":[` + windowed(`2`, `"hour"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 7200 s`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"day"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 86400 s`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"week"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 604800 s`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"month"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 2592000 s`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"year"`) + `]}`, `400 invalid_choice guardrails.0.metric.conversion_window_unit "year" is not a valid choice.`},
		[2]string{`{"guardrails":[` + windowed(`0`, `"hour"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window Give a whole number above 0.`},
		[2]string{`{"guardrails":[` + windowed(`0.5`, `"hour"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window Give a whole number above 0.`},
		[2]string{`{"guardrails":[` + windowed(`"1"`, `"hour"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window Give a whole number above 0.`},
		[2]string{`{"guardrails":[` + windowed(`null`, `"day"`) + `]}`, `{"guardrails":[{"metric":{"conversion_window":3600,"conversion_window_unit":"second"}}]}`}, // the default
		[2]string{`{"signals":[` + windowed(`3601`, `"second"`) + `]}`, `400 invalid_input signals.0.metric.conversion_window`},
		[2]string{`{"settle_seconds":301}`, `400 invalid_input guardrails.0.metric.conversion_window The window of 3600 s is longer than the shortest dwell time minus the settling time: 3599 s.`},
		[2]string{`{"steps":[{"percent":10,"dwell_seconds":9000},{"percent":20,"dwell_seconds":3899},{"percent":30,"dwell_seconds":9000}]}`, `400 invalid_input guardrails.0.metric.conversion_window`},
		[2]string{`{"steps":[{"percent":10,"dwell_seconds":2592000}],"settle_seconds":0,"guardrails":[` + windowed(`30`, `"day"`) + `]}`, `{"status":"draft"}`},
		[2]string{`{"guardrails":[` + windowed(`31`, `"day"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window`},
		[2]string{`{"guardrails":[` + windowed(`4`, `"week"`) + `]}`, `{"status":"draft"}`},
		[2]string{`{"guardrails":[` + windowed(`5`, `"week"`) + `]}`, `400 invalid_input guardrails.0.metric.conversion_window`},
		[2]string{`{"guardrails":[` + windowed(`1`, `"month"`) + `]}`, `{"status":"draft"}`},
	),
)

// §4.2: name is optional, in characters. The order of the default is the metric's own name, its
// event, and its number in the list.
var guardNameRows = flagtest.Rows(aDraft, flagtest.Each("§4.2 names", "bob", "changerollout 1",
	[2]string{`{"guardrails":[{"name":"mine","goal":"decrease","metric":` + errorMetric + `}]}`, `{"guardrails":[{"name":"mine"}]}`},
	[2]string{ofMetric(`"metric_type":"mean","name":"Errors of users"`), `{"guardrails":[{"name":"Errors of users"}]}`},
	[2]string{ofMetric(`"metric_type":"mean"`), `{"guardrails":[{"name":"error"}]}`},
	[2]string{ofMetric(`"metric_type":"ratio","source":null,"numerator":{"kind":"EventsNode","event":"buy"}`), `{"guardrails":[{"name":"buy"}]}`},
	[2]string{`{"guardrails":[` + errorGuard + `,{"goal":"increase","metric":{"kind":"ExperimentMetric","metric_type":"funnel","series":[{"kind":"EventsNode","event":"buy"}]}}]}`, `{"guardrails":[{"name":"error"},{"name":"metric 2"}]}`},
	[2]string{`{"guardrails":[{"name":"` + strings.Repeat("é", 400) + `","goal":"decrease","metric":` + errorMetric + `}]}`, `{"guardrails":[{"name":"` + strings.Repeat("é", 400) + `"}]}`},
	[2]string{`{"guardrails":[{"name":"` + strings.Repeat("é", 401) + `","goal":"decrease","metric":` + errorMetric + `}]}`, `400 max_length guardrails.0.name Ensure this field has no more than 400 characters.`},
))

var notifyRows = flagtest.Rows(aDraft, flagtest.Each("§4.11 members of the project, at most 20", "bob", "changerollout 1",
	[2]string{`{"notify":{` + listOf("emails", `"bob@example.com"`, 20) + `}}`, `{"status":"draft"}`},
	[2]string{`{"notify":{` + listOf("emails", `"bob@example.com"`, 21) + `}}`, `400 max_length notify.emails At most 20.`},
	[2]string{`{"notify":{"emails":["cyd@example.com","BOB@Example.com"]}}`, `{"notify":{"emails":["cyd@example.com","BOB@Example.com"]}}`},
	[2]string{`{"notify":{"emails":["bob@example.com","eve@example.com"]}}`, `400 does_not_exist notify.emails.1 No member of this project has the address eve@example.com.`}, // of the organization only
	[2]string{`{"notify":{"emails":["fay@example.com"]}}`, `400 does_not_exist notify.emails.0`},                                                                              // inactive
	[2]string{`{"notify":{"emails":["dan@example.com"]}}`, `400 does_not_exist notify.emails.0`},                                                                              // of another organization
	[2]string{`{"notify":{"emails":"bob@example.com"}}`, `400 invalid_input notify.emails Give a list of addresses.`},
	[2]string{`{"notify":{"emails":[7]}}`, `400 invalid_input notify.emails Give a list of addresses.`},
	[2]string{`{"notify":[]}`, `400 not_a_dict notify`},
	[2]string{`{"notify":{"webhook":{"url":"https://example.com"}}}`, `400 not_supported notify.webhook This server does not send webhooks.`}, // without a Poster
	[2]string{`{"notify":{"webhook":null}}`, `{"status":"draft"}`},
))

var draftRows = flagtest.Rows(
	aDraft,
	[]ruletest.Row{
		{"§4.2 all fields of a draft may change", "bob", "create", plainFlag("g", 0), `{"id":2}`},
		{"§4.2 the flag too", "bob", "changerollout 1", `{"feature_flag":2,"steps":[` + step(100) + `]}`, `{"feature_flag":2,"steps":[{"percent":100}],"state_version":1,"updated_at":"2026-01-02T12:00:04Z"}`},
		{"§4.2 and the other is free", "bob", "rollout", guardedRollout(1), `{"id":2}`},
		{"§4.2 one for each flag", "bob", "changerollout 2", `{"feature_flag":2}`, `409 conflict - The feature flag "g" has a rollout that has not ended: 1 (draft).`},
		{"§4.2 one for each flag", "bob", "rollouts", `{"Flag":2}`, `{"count":1,"ids":[1]}`},
		{"§2.5 PUT: all required fields", "bob", "putrollout 1", `{"feature_flag":2}`, `400 required steps This field is required.`},
		{"§4.9 start is for new ones", "bob", "changerollout 1", `{"start":true}`, `{"status":"draft"}`},
		{"§4.2 nothing of a refusal stays", "bob", "changerollout 1", `{"name":"x","alpha":1}`, `400 invalid_input alpha`},
		{"§4.2 nothing of a refusal stays", "bob", "getrollout 1", ``, `{"name":"","alpha":0.05,"state_version":2}`},
		{"§4.2 a flag that is not there", "bob", "changerollout 1", `{"feature_flag":9}`, `400 does_not_exist feature_flag The project has no feature flag 9.`},
		{"§4.2 another project's", "dan", "rollout", guardedRollout(1), `400 does_not_exist feature_flag The project has no feature flag 1.`},
	},
)

const onlyDrafts = `only a rollout that is a draft or paused can be changed.`

var runningEditRows = flagtest.Rows(
	aRollout(),
	flagtest.Each("§4.2 definition fields change only in draft and paused", "bob", "changerollout 1",
		[2]string{`{"alpha":0.1}`, `400 invalid_input - This rollout is running: ` + onlyDrafts},
		[2]string{`{"name":"x","sample_ratio":"ignore"}`, `400 invalid_input - This rollout is running: ` + onlyDrafts},
		[2]string{`{"name":"x","description":"y","notify":{"emails":["cyd@example.com"]}}`, `{"name":"x","description":"y","notify":{"emails":["cyd@example.com"]},"state_version":2,"status":"running","next_at":"2026-01-02T13:05:02Z"}`},
	),
	[]ruletest.Row{
		{"§4.7 holding", "-", "found 0 0 0 0", ``, `null`},
		{"§4.7 holding", "-", "until 2026-01-02T13:05:01Z", ``, `null`},
		{"§4.7 holding", "bob", "evaluate 1", ``, `{"status":"holding"}`},
		{"§4.2 holding is no pause", "bob", "changerollout 1", `{"minimum_exposures":50}`, `400 invalid_input - This rollout is holding: ` + onlyDrafts},
		{"§4.2 words", "bob", "changerollout 1", `{"name":"z"}`, `{"name":"z","status":"holding"}`},
	},
)

var pausedEditRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.9", "bob", "create", plainFlag("g", 0), `{"id":2}`},
		{"§4.9", "bob", "call 1 advance", ``, `{"step":1}`},
		{"§4.9", "bob", "call 1 pause", ``, `{"status":"paused"}`},
	},
	flagtest.Each("§4.2 of those already passed none", "bob", "changerollout 1",
		[2]string{`{"feature_flag":2}`, `400 invalid_input feature_flag This rollout has started:`},
		[2]string{`{"condition":1}`, `400 invalid_input condition This rollout has started:`},
		[2]string{`{"treatment_variant":"a"}`, `400 invalid_input treatment_variant This rollout has started:`},
		[2]string{`{"control_variant":"a"}`, `400 invalid_input control_variant This rollout has started:`},
		[2]string{percents(`11`, `50`, `100`), `400 invalid_input steps.0 This step is complete or in progress and cannot be changed.`},
		[2]string{percents(`10`, `51`, `100`), `400 invalid_input steps.1 This step is complete or in progress and cannot be changed.`},
		[2]string{percents(`10`), `400 invalid_input steps.1`},
		[2]string{`{"steps":[` + step(10) + `,{"percent":50,"dwell_seconds":4000}]}`, `400 invalid_input steps.1`},
		[2]string{`{"steps":[` + step(10) + `,{"percent":50,"dwell_seconds":3900,"approve":true}]}`, `400 invalid_input steps.1`},
		[2]string{percents(`10`, `50`, `75`, `80`), `{"steps":[{"percent":10},{"percent":50},{"percent":75},{"percent":80}],"status":"paused","step":1}`},
		[2]string{percents(`10`, `50`), `{"steps":[{"percent":10},{"percent":50}]}`},
		[2]string{`{"alpha":0.1,"minimum_exposures":200,"signals":[` + buyGuard + `]}`, `{"alpha":0.1,"minimum_exposures":200,"signals":[{"name":"buy"}]}`},
		[2]string{`{"feature_flag":1,"condition":0,"treatment_variant":null}`, `{"feature_flag":1}`}, // sent back as they are
	),
)

var endedEditRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
		{"§4.2 nothing changes in the end", "bob", "changerollout 1", `{"name":"x"}`, `400 invalid_input - This rollout is rolled_back: ` + onlyDrafts},
		{"§4.2 the flag is free again", "bob", "rollout", guardedRollout(1), `{"id":2,"status":"draft"}`},
	},
)
