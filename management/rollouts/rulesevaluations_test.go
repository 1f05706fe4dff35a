package rollouts_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// §4.5: harm is g·(m_T − f·m_C) with f = 1 + g·tolerance. With a tolerance of 0.5 and a control
// mean of 0.5, f·m_C is 0.75 for decrease and 0.25 for increase.
var toleranceRows = flagtest.Rows(
	aRollout(`"guardrails":[{"goal":"decrease","tolerance":0.5,"metric":`+errorMetric+`},{"goal":"increase","tolerance":0.5,"metric":`+errorMetric+`}]`),
	[]ruletest.Row{
		{"§4.5 as bad as is tolerated", "-", "found 1000 9000 750 4500 250 4500", ``, `null`},
		{"§4.5 as bad as is tolerated", "bob", "evaluate 1", ``, `{"status":"running","last_evaluation":{"guardrails":[{"harm":0,"regression":false},{"harm":0,"regression":false}]}}`},
		{"§4.5 better", "-", "found 1000 9000 500 4500 500 4500", ``, `null`},
		{"§4.5 better", "bob", "evaluate 1", ``, `{"status":"running","last_evaluation":{"guardrails":[{"harm":-0.25},{"harm":-0.25}]}}`},
		{"§4.5 worse", "-", "found 1000 9000 500 4500 125 4500", ``, `null`},
		{"§4.5 worse", "bob", "evaluate 1", ``, `{"status":"rolled_back","last_evaluation":{"guardrails":[{"harm":-0.25,"regression":false},{"harm":0.125,"regression":true}]}}`},
	},
)

// §4.5: α' = alpha / (K·M), with the two steps below 100 % and the number of guardrails, or of
// signals. A ratio is Σ of numerators over Σ of denominators.
var guardKindRows = flagtest.Rows(
	aRollout(`"alpha":0.1,"guardrails":[`+errorGuard+`,{"goal":"decrease","metric":{"kind":"ExperimentMetric","metric_type":"ratio","numerator":{"kind":"EventsNode","event":"error"},"denominator":{"kind":"EventsNode","event":"visit"}}}],"signals":[`+buyGuard+`]`),
	[]ruletest.Row{
		{"§4.5", "-", "found 1000 9000 50 450 0 0 50 450", ``, `null`},
		{"§4.5", "-", "evidence", `{"Metrics":[{"Treatment":{"N":1000,"Sum":50,"Squares":50},"Control":{"N":9000,"Sum":450,"Squares":450}},
			{"Treatment":{"N":1000,"Sum":200,"Squares":200,"Below":400,"BelowSquares":400,"Product":200},"Control":{"N":9000,"Sum":1800,"Squares":1800,"Below":3600,"BelowSquares":3600,"Product":1800}},
			{"Treatment":{"N":1000,"Sum":50,"Squares":50},"Control":{"N":9000,"Sum":450,"Squares":450}}]}`, `null`},
		{"§4.5", "bob", "evaluate 1", ``, `{"last_evaluation":{"guardrails":[{"name":"error","alpha":0.025,"treatment_mean":0.05,"control_mean":0.05},{"name":"error","alpha":0.025,"treatment_mean":0.5,"control_mean":0.5}],"signals":[{"name":"buy","alpha":0.05}]}}`},
	},
)

// §4.9: one entry for each change of the decision, newest first.
var evaluationRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.9 none yet", "bob", "evaluations 1", ``, `{"count":0,"results":[]}`},
	{"§4.9", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.9 the same", "bob", "evaluate 1", ``, `{"last_evaluation":{"evaluated_at":"2026-01-02T12:00:05Z"}}`},
	{"§4.9", "bob", "evaluations 1", ``, `{"count":1,"results":[{"decision":"wait","step":0,"evaluated_at":"2026-01-02T12:00:04Z"}]}`},
	{"§4.9 a hold", "-", "until 2026-01-02T13:05:01Z", ``, `null`},
	{"§4.9 a hold", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.9 the same", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.9 another reason", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.9 another reason", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.9 its end", "bob", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.9 its end", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.9 its end", "bob", "evaluate 1", ``, `{"step":1}`},
	{"§4.9 the next step", "bob", "evaluate 1", ``, `{"step":1}`},
	{"§4.9 newest first", "bob", "evaluations 1", ``, `{"count":5,"results":[{"decision":"wait","step":1,"percent":50},{"decision":"advance","step":0},{"decision":"hold","reasons":["flag_inactive","too_few_exposures"]},
		{"decision":"hold","reasons":["too_few_exposures"],"evaluated_at":"2026-01-02T13:05:02Z"},{"decision":"wait","step":0}]}`},
	{"§3 a page", "bob", "evaluations 1", `{"Limit":1,"Offset":1}`, `{"count":5,"results":[{"decision":"advance"}]}`},
	{"§4.9 kept after the end", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.9 kept after the end", "bob", "evaluations 1", `{"Limit":1}`, `{"count":5,"results":[{"decision":"wait"}]}`},
})

// §4.9: and one an hour. The first is of 12:00:03.
var hourlyEvaluationRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.9", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.9", "-", "until 2026-01-02T13:00:01Z", ``, `null`},
	{"§4.9 a second too early", "bob", "evaluate 1", ``, `{"last_evaluation":{"evaluated_at":"2026-01-02T13:00:02Z"}}`},
	{"§4.9 an hour", "bob", "evaluate 1", ``, `{"last_evaluation":{"evaluated_at":"2026-01-02T13:00:03Z"}}`},
	{"§4.9 the hour begins anew", "bob", "evaluate 1", ``, `{"last_evaluation":{"evaluated_at":"2026-01-02T13:00:04Z"}}`},
	{"§4.9", "bob", "evaluations 1", ``, `{"count":2,"results":[{"evaluated_at":"2026-01-02T13:00:03Z"},{"evaluated_at":"2026-01-02T12:00:03Z"}]}`},
})

// §4.2: state_version counts each change of the record; an evaluation without a new decision does not count.
var stateVersionRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.2 a decision as before", "bob", "evaluate 1", ``, `{"state_version":1,"updated_at":"2026-01-02T12:00:02Z"}`},
	{"§4.2 words", "bob", "changerollout 1", `{"name":"x"}`, `{"state_version":2,"updated_at":"2026-01-02T12:00:04Z"}`},
	{"§4.2 a change of the flag is none", "bob", "change 1", `{"active":false}`, `{"version":3}`},
	{"§4.2 a hold", "bob", "evaluate 1", ``, `{"status":"holding","state_version":3,"updated_at":"2026-01-02T12:00:06Z"}`},
	{"§4.2 the same hold", "bob", "evaluate 1", ``, `{"status":"holding","state_version":3,"updated_at":"2026-01-02T12:00:06Z"}`},
	{"§4.2 another reason", "bob", "wait 2h", ``, `null`},
	{"§4.2 another reason", "bob", "evaluate 1", ``, `{"reasons":["flag_inactive","too_few_exposures"],"state_version":4}`},
	{"§4.2 its end", "bob", "change 1", `{"active":true}`, `{"version":4}`},
	{"§4.2 its end", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.2 its end and a step", "bob", "evaluate 1", ``, `{"step":1,"reasons":[],"state_version":5}`},
	{"§4.2 an action", "bob", "call 1 pause", `{"state_version":5}`, `{"state_version":6}`},
	{"§4.2 an action", "bob", "call 1 resume", `{"state_version":6}`, `{"state_version":7}`},
})

// The mails of rollouts: experiments.md §4.11.
func TestRollouts_Notices(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"holds": holdNoticeRows, "new reasons": newReasonRows, "on and off": onAndOffRows, "limit": holdLimitRows, "limit and rollback": holdLimitRollbackRows, "limit and a changed flag": holdLimitChangedRows,
		"default": starterRows, "addresses": addresseeRows, "nobody": noAddresseeRows,
	})
}

// §4.11: there is one mail for each new set of reasons of a hold, and one for its end.
var holdNoticeRows = flagtest.Rows(aRollout(), atDwell, []ruletest.Row{
	{"§4.11 start", "-", "mails", ``, `["The rollout of f has started"]`},
	{"§4.11 a hold", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 a hold", "-", "mail", ``, `{"To":"bob@example.com","Subject":"The rollout of f is on hold","Text":"(like) too_few_exposures[^,]"}`},
	{"§4.11 where", "-", "mail", ``, `{"Text":"(like) https://flags.example.com/project/1/flags/1\\b"}`},
	{"§4.11 once", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 once", "bob", "wait 3h", ``, `null`},
	{"§4.11 once", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 once", "-", "mails", ``, `[]`},
	{"§4.11 new reasons, an hour later", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 new reasons, an hour later", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 new reasons, an hour later", "-", "mail", ``, `{"Subject":"The rollout of f is on hold","Text":"(like) flag_inactive, too_few_exposures"}`},
	{"§4.11 the end of a hold", "cyd", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.11 the end of a hold", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.11 the end of a hold by a step", "bob", "evaluate 1", ``, `{"step":1}`},
	{"§4.11 the end of a hold by a step", "-", "mails", ``, `["The rollout of f advanced to the next step"]`},
	{"§4.11 a hold before the dwell is over", "bob", "wait 1h", ``, `null`},
	{"§4.11 a hold before the dwell is over", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.11 a hold before the dwell is over", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 a hold before the dwell is over", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 a hold before the dwell is over", "-", "mails", ``, `["The rollout of f is on hold"]`},
	{"§4.11 the end of a hold", "cyd", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.11 the end of a hold", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.11 the end of a hold", "-", "mails", ``, `["The rollout of f continues"]`},
})

// §4.11: one mail for each set of reasons, at most one an hour. A set that appears within the hour
// waits for its end.
var newReasonRows = flagtest.Rows(aRollout(), atDwell, []ruletest.Row{
	{"§4.11 13:05:02", "bob", "evaluate 1", ``, `{"reasons":["too_few_exposures"]}`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f is on hold"]`},
	{"§4.11", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 within the hour", "bob", "evaluate 1", ``, `{"reasons":["flag_inactive","too_few_exposures"]}`},
	{"§4.11 within the hour", "-", "until 2026-01-02T14:05:00Z", ``, `null`},
	{"§4.11 within the hour", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 within the hour", "-", "mails", ``, `[]`},
	{"§4.11 after it", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 after it", "-", "mail", ``, `{"Subject":"The rollout of f is on hold","Text":"(like) flag_inactive, too_few_exposures"}`},
	{"§4.11 once", "bob", "wait 2h", ``, `null`},
	{"§4.11 once", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 once", "-", "mails", ``, `[]`},
})

// §4.11: the limit of one mail an hour includes holds that end and begin.
var onAndOffRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.11", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 12:00:04", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11", "cyd", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.11", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f is on hold","The rollout of f continues"]`},
	{"§4.11 neither its beginning nor its end", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 neither its beginning nor its end", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 neither its beginning nor its end", "cyd", "change 1", `{"active":true}`, `{"active":true}`},
	{"§4.11 neither its beginning nor its end", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.11 neither its beginning nor its end", "-", "mails", ``, `[]`},
	{"§4.11 again", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.11 again", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 again", "-", "until 2026-01-02T13:00:01Z", ``, `null`},
	{"§4.11 again", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 again", "-", "mails", ``, `[]`},
	{"§4.11 an hour after the first", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.11 an hour after the first", "-", "mails", ``, `["The rollout of f is on hold"]`},
})

// §4.2: a hold longer than hold_limit_seconds has one more mail.
var holdLimitRows = flagtest.Rows(aRollout(`"hold_limit_seconds":7200`), atDwell, []ruletest.Row{
	{"§4.2 13:05:02", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.2", "-", "mails", ``, `["The rollout of f has started","The rollout of f is on hold"]`},
	{"§4.2 not yet", "-", "until 2026-01-02T15:05:00Z", ``, `null`},
	{"§4.2 not yet", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.2 not yet", "-", "mails", ``, `[]`},
	{"§4.2 longer", "bob", "evaluate 1", ``, `{"status":"holding","step":0}`},
	{"§4.2 longer", "-", "mails", ``, `["The rollout of f is on hold"]`},
	{"§4.2 once", "bob", "wait 5h", ``, `null`},
	{"§4.2 once", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.2 once", "-", "mails", ``, `[]`},
})

// §4.2: the limit counts from the beginning of the hold, whatever its reasons are.
var holdLimitRollbackRows = flagtest.Rows(aRollout(`"hold_limit_seconds":7200,"on_hold_limit":"rollback"`), atDwell, []ruletest.Row{
	{"§4.2 13:05:02", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.2 another reason", "bob", "wait 1h", ``, `null`},
	{"§4.2 another reason", "cyd", "change 1", `{"active":false}`, `{"active":false}`},
	{"§4.2 another reason", "bob", "evaluate 1", ``, `{"reasons":["flag_inactive","too_few_exposures"]}`},
	{"§4.2 not yet", "-", "until 2026-01-02T15:05:00Z", ``, `null`},
	{"§4.2 not yet", "bob", "evaluate 1", ``, `{"status":"holding"}`},
	{"§4.2 longer", "bob", "wait 1s", ``, `null`},
	{"§4.2 longer", "bob", "evaluate 1", ``, `{"status":"rolled_back","reasons":["flag_inactive","too_few_exposures"]}`},
	{"§4.2 longer", "bob", "get 1", ``, percentOf("5")},
	{"§4.8 the reason", "ann", "log FeatureFlag 1", ``, `{"detail":{"trigger":{"payload":{"action":"rollback","reason":"(like) too_few_exposures"}}}}`},
})

// §4.12: the change of a user is never overwritten, so such a hold has no limit.
var holdLimitChangedRows = flagtest.Rows(aRollout(`"hold_limit_seconds":7200,"on_hold_limit":"rollback"`), []ruletest.Row{
	{"§4.12", "cyd", "change 1", percentOf("30"), `{"version":3}`},
	{"§4.12", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.12", "bob", "wait 24h", ``, `null`},
	{"§4.12", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed","too_few_exposures"]}`},
	{"§4.12", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":30}]}}`},
})

// §4.11: the default is who started it, not who created it.
var starterRows = []ruletest.Row{
	{"§4.11", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.11", "bob", "rollout", guardedRollout(1), `{"id":1,"created_by":{"email":"bob@example.com"}}`},
	{"§4.11 a draft is no news", "-", "mails", ``, `[]`},
	{"§4.11", "cyd", "call 1 start", ``, `{"status":"running"}`},
	{"§4.11", "-", "mail", ``, `{"To":"cyd@example.com","Subject":"The rollout of f has started"}`},
	{"§4.11 also of what others do", "bob", "call 1 advance", ``, `{"step":1}`},
	{"§4.11 also of what others do", "-", "mail", ``, `{"To":"cyd@example.com","Subject":"The rollout of f advanced to the next step"}`},
	{"§4.11 a pause is no news", "bob", "call 1 pause", ``, `{"status":"paused"}`},
	{"§4.11 a pause is no news", "bob", "call 1 resume", ``, `{"status":"running"}`},
	{"§4.11 a pause is no news", "-", "mails", ``, `[]`},
}

var addresseeRows = flagtest.Rows(aRollout(`"notify":{"emails":["cyd@example.com","ANN@example.com","cyd@example.com"]}`), []ruletest.Row{
	{"§4.11 each of them once, and no one else", "-", "mails", ``, `["The rollout of f has started","The rollout of f has started"]`},
	{"§4.11 who", "-", "mail", ``, `{"To":"ann@example.com"}`},
	{"§4.11 changed while it is running", "bob", "changerollout 1", `{"notify":{"emails":["gus@example.com"]}}`, `{"status":"running"}`},
	{"§4.11 changed while it is running", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.11 changed while it is running", "-", "mail", ``, `{"To":"gus@example.com","Subject":"The rollout of f was rolled back"}`},
})

var noAddresseeRows = flagtest.Rows(aRollout(`"notify":{"emails":[]}`), []ruletest.Row{
	{"§4.11 an empty list", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.11 an empty list", "-", "mails", ``, `[]`},
})

// A server without mail runs rollouts all the same.
func TestRollouts_NoMailer(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond, func(c *rooms.Config) { c.Mailer = nil })
	l.Run(t, rolloutCalls(t, l), flagtest.Rows(aRollout(), atDwell, []ruletest.Row{
		{"§4.7", "bob", "evaluate 1", ``, `{"status":"holding"}`},
		{"§4.7", "-", "found 1000 9000 50 450", ``, `null`},
		{"§4.7", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
		{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	}))
}

// ROLLOUTS.md, §4.8: a rollout continues in the name of the user who started it, also after this user
// has left.
func TestRollouts_StarterLeft(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond)
	calls := rolloutCalls(t, l)
	l.Run(t, calls, []ruletest.Row{
		{"§4.8", "bob", "create", plainFlag("f", 5), `{"id":1}`},
		{"§4.8", "cyd", "rollout", guardedRollout(1, started), `{"id":1}`},
	})
	l.mails()
	if err := l.Organizations.Members.Delete(t.Context(), l.Scope(t, "cyd"), ruletest.UUID("cyd")); err != nil {
		t.Fatal(err)
	}
	l.Run(t, calls, []ruletest.Row{
		{"§4.8", "-", "found 1000 9000 50 450", ``, `null`},
		{"§4.8", "bob", "wait 65m", ``, `null`},
		{"§4.8", "bob", "evaluate 1", ``, `{"status":"running","step":1}`},
		{"§4.8 in the name", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":50}]}}`},
		{"§4.8 in the name", "ann", "log FeatureFlag 1", ``, `{"user":{"email":"cyd@example.com","is_system":true}}`},
		{"§4.11 who cannot see the project gets no mail", "-", "mails", ``, `[]`},
	})
}
