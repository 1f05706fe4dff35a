package rollouts_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The decisions of an evaluation and their effects: experiments.md §4.7, §4.8, §4.10.
func TestRollouts_Decisions(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"dwell": dwellRows, "guardrail": guardrailRows, "guardrail after a change": guardrailChangedRows, "sentence": sentenceRows, "settling": settleRows, "signal": signalRows, "all reasons": allReasonRows,
		"sample ratio": sampleRatioRows, "sample ratio ignored": sampleRatioIgnoredRows, "assignments": assignmentRows, "errors": metricErrorRows, "inactive": inactiveRows, "exposures": exposureRows, "regressions": regressionRows, "lag": lagRows,
		"approval": approveStepRows, "last below 100": lastStepRows, "at once": atOnceRows, "gone": deletedFlagRows, "interruption": interruptedRows,
		"tolerance": toleranceRows, "kinds": guardKindRows, "evaluations": evaluationRows, "evaluations of an hour": hourlyEvaluationRows, "state version": stateVersionRows,
	})
}

// §4.7, rows 8 and 12: the next step begins when the dwell is over, not a second before.
var dwellRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 8", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 8", "-", "until 2026-01-02T13:05:00Z", ``, `null`},
	{"§4.7 row 8", "bob", "evaluate 1", ``, `{"status":"running","step":0,"last_evaluation":{"decision":"wait","reasons":[],"step":0,"percent":10,"evaluated_at":"2026-01-02T13:05:01Z"},"state_version":1}`},
	{"§4.7 row 12", "bob", "evaluate 1", ``, `{"status":"running","step":1,"step_started_at":"2026-01-02T13:05:02Z","next_at":"2026-01-02T14:10:02Z","last_evaluation":{"decision":"advance","step":0},"state_version":2}`},
	{"§4.8", "bob", "get 1", ``, `{"version":3,"last_modified_by":{"first_name":"bob"},"filters":{"groups":[{"rollout_percentage":50}]}}`},
	{"§4.8", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com","is_system":true},"detail":{"trigger":{"job_type":"guarded_rollout","job_id":"1","payload":{"step":1,"percent":50,"action":"advance","reason":"(like) 1000 and 9000 exposures"}}}}`},
	{"§4.7 row 8, of the next step", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.7 row 8, of the next step", "bob", "evaluate 1", ``, `{"step":1,"last_evaluation":{"decision":"wait","step":1,"percent":50}}`},
	{"§4.7 row 8, of the next step", "-", "until 2026-01-02T14:10:00Z", ``, `null`},
	{"§4.7 row 8, of the next step", "bob", "evaluate 1", ``, `{"step":1}`},
	{"§4.7 row 12, the last at 100 %: completed at once", "bob", "evaluate 1", ``, `{"status":"completed","step":2,"next_at":null,"ended_at":"2026-01-02T14:10:02Z","reasons":[],"state_version":3}`},
	{"§4.8", "bob", "get 1", ``, `{"version":4,"filters":{"groups":[{"rollout_percentage":100}]}}`},
	{"§4.11 each of them, and the end", "-", "mails", ``, `["The rollout of f has started","The rollout of f advanced to the next step","The rollout of f advanced to the next step","The rollout of f is complete"]`},
})

// §4.7, row 2: immediately, before the dwell is over and while the rollout settles.
var guardrailRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 2", "-", "found 1000 9000 500 450", ``, `null`},
	{"§4.7 row 2", "bob", "evaluate 1", ``, `{"status":"rolled_back","reasons":["guardrail"],"step":0,"next_at":null,"ended_at":"2026-01-02T12:00:04Z","last_evaluation":{"decision":"rollback","guardrails":[{"name":"error","treatment_mean":0.5,"control_mean":0.05,"harm":0.45,"regression":true}]},"state_version":2}`},
	{"§4.8", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":5}]}}`},
	{"§4.8", "ann", "log FeatureFlag 1", ``, `{"user":{"email":"bob@example.com","is_system":true},"detail":{"trigger":{"payload":{"step":0,"percent":5,"action":"rollback"}}}}`},
	{"§4.7 it is not evaluated again", "bob", "wait 2h", ``, `null`},
	{"§4.7 it is not evaluated again", "bob", "evaluate 1", ``, `{"status":"rolled_back","state_version":2}`},
	{"§4.7 it is not evaluated again", "-", "queries", ``, `1`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f was rolled back"]`},
})

// §4.7: row 1 precedes row 2. The rollout never overwrites the change of a user.
var guardrailChangedRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 1", "-", "found 1000 9000 500 450", ``, `null`},
	{"§4.7 row 1", "cyd", "change 1", percentOf("20"), `{"version":3}`},
	{"§4.7 row 1", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"],"last_evaluation":{"decision":"hold","guardrails":[{"treatment_mean":null,"regression":false}]}}`},
	{"§4.7 row 1", "bob", "get 1", ``, percentOf("20")},
	{"§4.7 nothing is measured for a share that the flag has not", "-", "queries", ``, `0`},
	{"§4.7 what it wrote stands again", "cyd", "change 1", percentOf("10"), `{"version":4}`},
	{"§4.7 row 2", "bob", "evaluate 1", ``, `{"status":"rolled_back","reasons":["guardrail"]}`},
})

// §4.8 has this sentence. α' = 0.05/3 with three steps below 100 %, N* = 500/0.25; a variance of
// 70/300·230/299 and 45/900·855/899, the pooled one being smaller, result in σ 0.02552, and the bound
// 0.18333 − 3.2099·0.02552 = 0.10143 (§2.7).
var sentenceRows = flagtest.Rows([]ruletest.Row{
	{"§4.8", "bob", "create", plainFlag("f", 0), `{"id":1}`},
	{"§4.8", "bob", "rollout", guardedRollout(1, started, `"steps":[`+step(25)+`,`+step(50)+`,`+step(75)+`,`+step(100)+`],"guardrails":[{"name":"errors","goal":"decrease","metric":`+errorMetric+`}]`), `{"id":1}`},
	{"§4.8", "-", "found 300 900 70 45", ``, `null`},
	{"§4.8", "bob", "evaluate 1", ``, `{"status":"rolled_back"}`},
	{"§4.8", "ann", "log FeatureFlag 1", ``, `{"detail":{"change_note":"guardrail errors: treatment 0.233, control 0.05, at least 0.101 worse (n 300 and 900)",
		"trigger":{"payload":{"action":"rollback","reason":"guardrail errors: treatment 0.233, control 0.05, at least 0.101 worse (n 300 and 900)"}}}}`},
})

// §4.7: rows 3 to 6 are judged only after settling, which ends at 12:05:02.
var settleRows = flagtest.Rows(aRollout(`"signals":[`+buyGuard+`]`), []ruletest.Row{
	{"§4.7 settling", "-", "found 1000 1000 50 50 50 500", ``, `null`},
	{"§4.7 settling", "-", "evidence", `{"Integrity":{"checked":100,"disagree":100}}`, `null`},
	{"§4.7 settling", "-", "until 2026-01-02T12:05:00Z", ``, `null`},
	{"§4.7 settling", "bob", "evaluate 1", ``, `{"status":"running","reasons":[],"last_evaluation":{"decision":"wait","signals":[{"name":"buy","regression":true}],"srm":{"mismatch":true}}}`},
	{"§4.7 settled", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["signal","sample_ratio_mismatch","assignment_mismatch"],"last_evaluation":{"decision":"hold"}}`},
})

// §4.7, row 3: a signal is a reason to hold and never lowers the share; the hold ends by itself.
var signalRows = flagtest.Rows(aRollout(`"signals":[`+buyGuard+`]`), []ruletest.Row{
	{"§4.7 row 3", "-", "found 1000 9000 50 450 50 4500", ``, `null`},
	{"§4.7 row 3", "-", "until 2026-01-02T12:10:00Z", ``, `null`},
	{"§4.7 row 3", "bob", "evaluate 1", ``, `{"status":"holding","step":0,"reasons":["signal"],"next_at":"2026-01-02T13:05:02Z","state_version":2}`},
	{"§4.7 row 3", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"rollout_percentage":10}]}}`},
	{"§4.7 row 3, however long", "-", "until 2026-01-02T15:00:00Z", ``, `null`},
	{"§4.7 row 3, however long", "bob", "evaluate 1", ``, `{"status":"holding","step":0,"reasons":["signal"],"state_version":2}`},
	{"§4.7 it ends by itself", "-", "found 1000 9000 50 450 500 4500", ``, `null`},
	{"§4.7 it ends by itself, and the step is due", "bob", "evaluate 1", ``, `{"status":"running","step":1,"reasons":[],"next_at":"2026-01-02T16:05:03Z"}`},
	{"§4.7 of the next step", "-", "found 1000 1000 50 50 50 500", ``, `null`},
	{"§4.7 of the next step", "-", "until 2026-01-02T15:30:00Z", ``, `null`},
	{"§4.7 of the next step", "bob", "evaluate 1", ``, `{"status":"holding","step":1}`},
	{"§4.7 before the dwell is over", "-", "found 1000 1000 50 50 500 500", ``, `null`},
	{"§4.7 before the dwell is over", "bob", "evaluate 1", ``, `{"status":"running","step":1,"reasons":[],"next_at":"2026-01-02T16:05:03Z","last_evaluation":{"decision":"wait"}}`},
})

// §4.7: all reasons that hold are listed, in the order of the rows; the first decides.
var allReasonRows = flagtest.Rows(aRollout(`"steps":[`+step(10)+`,{"percent":50,"dwell_seconds":3900,"approve":true}],"signals":[`+buyGuard+`,`+buyGuard+`]`), []ruletest.Row{
	{"§4.7", "-", "found 1000 1000 50 50 50 500 0 0", ``, `null`},
	{"§4.7", "-", "evidence", `{"Matured":{"treatment":0,"control":0},"Integrity":{"checked":100,"disagree":6},"Metrics":[
		{"Treatment":{"N":1000,"Sum":50,"Squares":50},"Control":{"N":1000,"Sum":50,"Squares":50}},
		{"Treatment":{"N":1000,"Sum":50,"Squares":50},"Control":{"N":1000,"Sum":500,"Squares":500}},{"Error":"No such property."}]}`, `null`},
	{"§4.7", "-", "lag 61s", ``, `null`},
	{"§4.7", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.7 before the dwell is over", "bob", "wait 30m", ``, `null`},
	{"§4.7 before the dwell is over", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["signal","sample_ratio_mismatch","assignment_mismatch","metric_error","flag_inactive"]}`},
	{"§4.7 after it", "bob", "wait 1h", ``, `null`},
	{"§4.7 after it", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["signal","sample_ratio_mismatch","assignment_mismatch","metric_error","flag_inactive","ingestion_lag","too_few_exposures","approval"],
		"last_evaluation":{"decision":"hold","signals":[{"error":null,"regression":true},{"error":"No such property.","treatment_mean":null,"bound":null,"regression":false}]}}`},
	{"§4.7 row 2 comes before them", "-", "evidence", `{"Metrics":[{"Treatment":{"N":1000,"Sum":500,"Squares":500},"Control":{"N":1000,"Sum":50,"Squares":50}},{},{}]}`, `null`},
	{"§4.7 row 2 comes before them", "bob", "evaluate 1", ``, `{"status":"rolled_back","reasons":["guardrail","sample_ratio_mismatch","assignment_mismatch","flag_inactive","ingestion_lag","too_few_exposures","approval"]}`},
})

// §4.6: at 10 %, the arms of 1,000 and 1,000 entities are no chance.
var sampleRatioRows = flagtest.Rows(aRollout(), atDwell, []ruletest.Row{
	{"§4.6", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.7 row 4", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["sample_ratio_mismatch"],"last_evaluation":{"srm":{"mismatch":true}}}`},
	{"§4.7 row 4", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 4", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
})

var sampleRatioIgnoredRows = flagtest.Rows(aRollout(`"sample_ratio":"ignore"`), atDwell, []ruletest.Row{
	{"§4.2 ignore", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.2 ignore", "bob", "evaluate 1", ``, `{"status":"running","step":1,"last_evaluation":{"decision":"advance","srm":{"mismatch":true}}}`},
})

// §4.4, 4: above 5 %, with at least 100 of them.
var assignmentRows = flagtest.Rows(aRollout(`"steps":[`+step(10)+`,`+step(20)+`,`+step(30)+`]`), atDwell, []ruletest.Row{
	{"§4.4", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.4 above 5 %", "-", "evidence", `{"Integrity":{"checked":100,"disagree":6}}`, `null`},
	{"§4.7 row 5", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["assignment_mismatch"],"last_evaluation":{"integrity":{"checked":100,"disagree":6}}}`},
	{"§4.4 5 %", "-", "evidence", `{"Integrity":{"checked":100,"disagree":5}}`, `null`},
	{"§4.4 5 %", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
	{"§4.4 of too few", "-", "found 2000 8000 100 400", ``, `null`},
	{"§4.4 of too few", "-", "evidence", `{"Integrity":{"checked":99,"disagree":99}}`, `null`},
	{"§4.4 of too few", "bob", "wait 65m", ``, `null`},
	{"§4.4 of too few", "bob", "evaluate 1", ``, `{"status":"running","step":2}`},
})

var metricErrorRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 6", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 6", "-", "evidence", `{"Metrics":[{"Error":"The sum is not finite."}]}`, `null`},
	{"§4.7 row 6, settling", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
	{"§4.7 row 6", "bob", "wait 5m", ``, `null`},
	{"§4.7 row 6", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["metric_error"],"last_evaluation":{"guardrails":[{"name":"error","error":"The sum is not finite.","harm":null,"bound":null,"regression":false}]}}`},
})

var inactiveRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 7", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 7", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.7 row 7, also while it settles", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_inactive"]}`},
	{"§4.7 row 7", "bob", "wait 65m", ``, `null`},
	{"§4.7 row 7", "bob", "evaluate 1", ``, `{"status":"holding","step":0}`},
	{"§4.7 it ends", "cyd", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.7 it ends", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
})

// §4.7, row 10: matured entities of each arm.
var exposureRows = flagtest.Rows(aRollout(`"minimum_exposures":100,"steps":[`+step(10)+`,`+step(20)+`]`), atDwell, []ruletest.Row{
	{"§4.7 row 10", "-", "found 99 900 5 45", ``, `null`},
	{"§4.7 row 10", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["too_few_exposures"]}`},
	{"§4.7 row 10 matured", "-", "found 110 900 5 45", ``, `null`},
	{"§4.7 row 10 matured", "-", "evidence", `{"Matured":{"treatment":110,"control":99}}`, `null`},
	{"§4.7 row 10 matured", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["too_few_exposures"],"last_evaluation":{"exposures":{"treatment":110,"control":900,"multiple":0},"matured":{"treatment":110,"control":99}}}`},
	{"§4.7 row 10 as many", "-", "found 100 900 5 45", ``, `null`},
	{"§4.7 row 10 as many", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
})

// §4.5: a regression needs the minimum of both arms; the numbers are there below it too (§4.10).
var regressionRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.5 treatment", "-", "found 99 900 99 9", ``, `null`},
	{"§4.5 treatment", "bob", "evaluate 1", ``, `{"status":"running","last_evaluation":{"guardrails":[{"treatment_mean":1,"control_mean":0.01,"harm":0.99,"regression":false}]}}`},
	{"§4.5 control", "-", "found 900 99 900 0", ``, `null`},
	{"§4.5 control", "bob", "evaluate 1", ``, `{"status":"running","last_evaluation":{"guardrails":[{"treatment_mean":1,"control_mean":0,"harm":1,"regression":false}]}}`},
	{"§4.5 both", "-", "found 100 900 99 9", ``, `null`},
	{"§4.5 both", "bob", "evaluate 1", ``, `{"status":"rolled_back"}`},
})

// §4.7, row 9: it matters when the dwell is over only.
var lagRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 9", "-", "lag 2m", ``, `null`},
	{"§4.7 row 9", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 9", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
	{"§4.7 row 9", "-", "until 2026-01-02T13:05:01Z", ``, `null`},
	{"§4.7 row 9", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["ingestion_lag"],"step":0}`},
})

var approveStepRows = flagtest.Rows(aRollout(`"steps":[`+step(10)+`,{"percent":50,"dwell_seconds":3900,"approve":true},`+step(100)+`]`), atDwell, []ruletest.Row{
	{"§4.7 row 11", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 11", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["approval"],"step":0,"next_at":"2026-01-02T13:05:02Z"}`},
	{"§4.7 row 11", "bob", "wait 24h", ``, `null`},
	{"§4.7 row 11", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["approval"],"step":0}`},
	{"§4.2 only begun by advance", "cyd", "call 1 advance", ``, `{"status":"running","step":1,"reasons":[]}`},
	{"§4.7 of this step, not of the next", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.7 of this step, not of the next", "bob", "wait 65m", ``, `null`},
	{"§4.7 of this step, not of the next", "bob", "evaluate 1", ``, `{"status":"completed","step":2}`},
})

// §4.7, row 12: a last step below 100 % completes after its dwell, and the share stays.
var lastStepRows = flagtest.Rows(aRollout(`"steps":[`+step(10)+`]`), []ruletest.Row{
	{"§4.7 row 12", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.7 row 12", "-", "until 2026-01-02T13:05:00Z", ``, `null`},
	{"§4.7 row 12", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.7 row 12", "bob", "evaluate 1", ``, `{"status":"completed","step":0,"ended_at":"2026-01-02T13:05:02Z","next_at":null,"last_evaluation":{"decision":"complete"}}`},
	{"§4.7 row 12", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"rollout_percentage":10}]}}`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f is complete"]`},
})

// A rollout with one step of 100 % is a start and an end.
var atOnceRows = []ruletest.Row{
	{"§4.7", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.7", "bob", "rollout", guardedRollout(1, started, `"steps":[`+step(100)+`]`), `{"status":"completed","step":0,"started_at":"2026-01-02T12:00:02Z","ended_at":"2026-01-02T12:00:02Z","next_at":null}`},
	{"§4.7", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"rollout_percentage":100}]}}`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f is complete"]`},
	{"§4.7", "bob", "wait 2m", ``, `null`},
	{"§4.7", "bob", "evaluate 1", ``, `{"last_evaluation":null}`},
}

// §4.7, row 1: with a deleted flag, the rollout ends as failed.
var deletedFlagRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7 row 1", "-", "mails", ``, `["The rollout of f has started"]`},
	{"§4.7 row 1", "cyd", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.7 row 1", "bob", "evaluate 1", ``, `{"status":"failed","reasons":["flag_gone"],"step":0,"next_at":null,"ended_at":"2026-01-02T12:00:05Z","last_evaluation":{"decision":"fail","reasons":["flag_gone"]}}`},
	{"§4.11 failure", "-", "mails", ``, `["The rollout of f has failed"]`},
	{"§4.7 row 1", "-", "queries", ``, `0`},
	{"§4.7 a flag that comes back begins anew", "cyd", "change 1", `{"deleted":false}`, `{"deleted":false}`},
	{"§4.7 a flag that comes back begins anew", "bob", "wait 2m", ``, `null`},
	{"§4.7 a flag that comes back begins anew", "bob", "evaluate 1", ``, `{"status":"failed"}`},
	{"§4.7 a flag that comes back begins anew", "bob", "rollout", guardedRollout(1, started, `"steps":[`+step(20)+`]`), `{"status":"running","percent_before":10}`},
})

// §4.12: a server that was down for longer than all dwells begins one step, and the next dwell
// begins then.
var interruptedRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.12", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.12", "-", "until 2026-01-09T09:59:59Z", ``, `null`},
	{"§4.12", "bob", "evaluate 1", ``, `{"status":"running","step":1,"next_at":"2026-01-09T11:05:00Z"}`},
	{"§4.12", "bob", "evaluate 1", ``, `{"step":1}`},
	{"§4.8 versions", "bob", "get 1", ``, `{"version":3}`},
})
