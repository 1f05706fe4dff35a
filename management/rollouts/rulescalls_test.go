package rollouts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The actions of users on rollouts: experiments.md §4.9.
func TestRollouts_Calls(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"bodies": callBodyRows, "pause": pauseRows, "changed flags": acceptRows, "advance": advanceRows, "restore": abortRows, "by hand": reasonRows,
		"lists": rolloutListRows, "deleted": rolloutDeletedRows, "access": rolloutAccessRows, "approvals": rolloutApprovalRows, "approvals of tags": rolloutTagRows,
	})
}

// callsIn are the actions that each status allows. A rollout that has ended allows no action.
var callsIn = map[string]string{
	"draft": "start", "running": "pause advance rollback abort", "holding": "pause advance rollback abort", "paused": "resume rollback abort",
	"completed": "", "rolled_back": "", "aborted": "", "failed": "",
}

// §4.9: in the wrong state the answer is 400 with the state in detail, without any change.
func TestRollouts_CallsOfStates(t *testing.T) {
	for status, allowed := range callsIn {
		t.Run(status, func(t *testing.T) {
			for _, action := range []string{"start", "pause", "resume", "advance", "rollback", "abort"} {
				more := ""
				if status == "draft" {
					more = `, "start": false`
				}
				l := newRolloutWorld(t, more)
				l.enter(status)
				before, version := l.rollout(), l.version()
				_, err := l.Rollouts.Call(t.Context(), l.Scope(t, "bob"), "1", action, ruletest.Body(t, ""))
				isAllowed := strings.Contains(allowed, action)
				switch {
				case isAllowed && err != nil:
					t.Errorf("%s: %v", action, err)
				case isAllowed && l.rollout().StateVersion != before.StateVersion+1:
					t.Errorf("%s: state_version %d after %d", action, l.rollout().StateVersion, before.StateVersion)
				case !isAllowed && (err == nil || err.Error() != fmt.Sprintf("This rollout is %s.", status)):
					t.Errorf("%s: %v", action, err)
				case !isAllowed && (l.rollout().StateVersion != before.StateVersion || l.rollout().Status != before.Status || l.version() != version):
					t.Errorf("%s: the rollout is %s now, the flag has version %d", action, l.rollout().Status, l.version())
				}
			}
		})
	}
}

// enter brings a rollout, which is a draft or running, into a status.
func (l *rolloutWorld) enter(status string) {
	l.t.Helper()
	switch status {
	case "holding":
		l.advance(70 * time.Minute) // without exposures
	case "paused":
		l.call("pause", `{}`)
	case "completed":
		l.call("advance", `{}`)
		l.call("advance", `{}`)
	case "rolled_back":
		l.call("rollback", `{}`)
	case "aborted":
		l.call("abort", `{}`)
	case "failed":
		l.change(`{"deleted":true}`)
		l.advance(2 * time.Minute)
	}
	if r := l.rollout(); string(r.Status) != status {
		l.t.Fatalf("the rollout is %s, want %s", r.Status, status)
	}
}

// change changes the flag.
func (l *rolloutWorld) change(body string) {
	l.t.Helper()
	if _, err := l.FeatureFlags.Update(l.t.Context(), l.Scope(l.t, "bob"), 1, ruletest.Body(l.t, body), false); err != nil {
		l.t.Fatal(err)
	}
}

var callBodyRows = flagtest.Rows(
	aRollout(),
	flagtest.Each("§4.9 bodies", "bob", "call 1 pause",
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`{"state_version":"x"}`, `400 invalid_input state_version A valid integer is required.`},
		[2]string{`{"state_version":0}`, `409 conflict - The rollout has changed in the meantime: it is now running, with state_version 1.`},
		[2]string{`{"state_version":2}`, `409 conflict - The rollout has changed`},
		[2]string{`{"reason":7.5,"state_version":9}`, `409 conflict -`}, // a number is a text
		[2]string{`{"reason":{}}`, `400 invalid_input reason`},
		[2]string{`{"reason":` + flagtest.Text(401) + `}`, `400 max_length reason`},
		[2]string{`{"reason":` + flagtest.Text(400) + `,"state_version":1}`, `{"status":"paused","state_version":2}`},
	),
	flagtest.Each("§4.9 another version before another state", "bob", "call 1 pause",
		[2]string{`{"state_version":1}`, `409 conflict - The rollout has changed in the meantime: it is now paused, with state_version 2.`},
		[2]string{`{"state_version":2}`, `400 invalid_input - This rollout is paused.`},
		[2]string{`{"state_version":null}`, `400 invalid_input - This rollout is paused.`},
	),
	flagtest.Each("§4.9 bodies", "bob", "call 1 resume", [2]string{`{"accept_flag":"maybe"}`, `400 invalid_input accept_flag Must be a valid boolean.`}),
	flagtest.Each("§4.9 bodies", "bob", "call 1 abort", [2]string{`{"restore":"maybe"}`, `400 invalid_input restore Must be a valid boolean.`}),
	flagtest.Each("§4.9 no such rollout", "bob", "call 9 pause", [2]string{``, `404 not_found - Not found.`}),
	flagtest.Each("§4.9 no number", "bob", "call x pause", [2]string{``, `404 not_found - Not found.`}),
)

// §4.9: while a rollout is paused, its guardrails are not watched, and then the dwell and the test
// begin anew.
var pauseRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.9", "-", "found 1000 9000 500 450", ``, `null`},
		{"§4.9", "cyd", "call 1 pause", `{"reason":"lunch"}`, `{"status":"paused","next_at":null,"step":0,"reasons":[],"step_started_at":"2026-01-02T12:00:02Z"}`},
		{"§4.9 who and why", "ann", "log FeatureFlag 1", ``, `{"activity":"rollout_paused","user":{"email":"cyd@example.com"},"detail":{"name":"f","change_note":"lunch","changes":[],"trigger":{"job_type":"guarded_rollout","job_id":"1"}}}`},
		{"§4.9 at its share", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"rollout_percentage":10}]}}`},
		{"§4.9 not watched", "bob", "wait 48h", ``, `null`},
		{"§4.9 not watched", "bob", "evaluate 1", ``, `{"status":"paused","last_evaluation":null}`},
		{"§4.9 not watched", "-", "queries", ``, `0`},
		{"§4.9 anew", "-", "until 2026-01-05T08:59:59Z", ``, `null`},
		{"§4.9 anew", "bob", "call 1 resume", ``, `{"status":"running","step":0,"step_started_at":"2026-01-05T09:00:00Z","next_at":"2026-01-05T10:05:00Z","started_at":"2026-01-02T12:00:02Z","state_version":3}`},
		{"§4.9 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"rollout_resumed","user":{"email":"bob@example.com"}}`},
		{"§4.8 no version", "bob", "get 1", ``, `{"version":2}`},
		{"§4.4 the test of the new beginning", "-", "found 1000 9000 50 450", ``, `null`},
		{"§4.4 the test of the new beginning", "bob", "evaluate 1", ``, `{"status":"running"}`},
		{"§4.4 the test of the new beginning", "-", "asked", ``, `{"settled_at":"2026-01-05T09:05:00Z","since":"2025-12-19T12:00:02Z"}`},
	},
)

var acceptRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.9", "bob", "call 1 pause", ``, `{"status":"paused"}`},
		{"§4.9", "cyd", "change 1", percentOf("40"), `{"version":3}`},
		{"§4.9 not unasked", "bob", "call 1 resume", ``, `409 conflict - The flag now gives the treatment 40 %, but the rollout set 10 %: send accept_flag, or abort the rollout.`},
		{"§4.9 not unasked", "bob", "call 1 resume", `{"accept_flag":false}`, `409 conflict -`},
		{"§4.9 not unasked", "bob", "getrollout 1", ``, `{"status":"paused","state_version":2}`},
		{"§4.9 only if it still fits", "cyd", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":40}]}}`, `{"version":4}`},
		{"§4.9 only if it still fits", "bob", "call 1 resume", `{"accept_flag":true}`, `400 not_comparable condition`},
		{"§4.9 as it is", "cyd", "change 1", percentOf("40"), `{"version":5}`},
		{"§4.9 as it is", "bob", "call 1 resume", `{"accept_flag":true}`, `{"status":"running","step":0,"percent_before":5}`},
		{"§4.9 as it is", "bob", "get 1", ``, `{"version":5}`},
		{"§4.7 it is no change elsewhere any more", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
		{"§4.8 the next step is that of the plan", "bob", "call 1 advance", ``, `{"step":1}`},
		{"§4.8 the next step is that of the plan", "bob", "get 1", ``, percentOf("50")},
		{"§4.8 the share of before", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
		{"§4.8 the share of before", "bob", "get 1", ``, percentOf("5")},
	},
)

// §4.9: advance is refused with 409 on rows 1 and 2 of §4.7 and allowed in all other cases.
var advanceRows = flagtest.Rows(
	aRollout(`"steps":[`+step(10)+`,{"percent":50,"dwell_seconds":3900,"approve":true},`+step(60)+`]`),
	[]ruletest.Row{
		{"§4.9 on all else", "bob", "call 1 advance", `{"reason":"sure","state_version":1}`, `{"status":"running","step":1,"step_started_at":"2026-01-02T12:00:03Z","next_at":"2026-01-02T13:05:03Z","state_version":2}`},
		{"§4.8 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com","is_system":true},"detail":{"change_note":"sure","trigger":{"job_type":"guarded_rollout","job_id":"1","payload":{"step":1,"percent":50,"action":"advance","reason":"sure"}}}}`},
		{"§4.7 row 1: changed elsewhere", "cyd", "change 1", percentOf("51"), `{"version":4}`},
		{"§4.7 row 1: changed elsewhere", "bob", "call 1 advance", ``, `409 conflict - The flag was changed: it now gives the treatment 51 %, but the rollout set 50 %.`},
		{"§4.7 row 1: no rollout can use it", "cyd", "change 1", `{"active":false,"archived":true,"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}}`, `{"version":5}`},
		{"§4.7 row 1: no rollout can use it", "bob", "call 1 advance", ``, `409 conflict - The flag is archived.`},
		{"§4.7 row 1: deleted", "cyd", "change 1", `{"archived":false,"deleted":true}`, `{"version":6}`},
		{"§4.7 row 1: deleted", "bob", "call 1 advance", ``, `409 conflict - The project has no feature flag 1.`},
		{"§4.9 a refusal changes nothing", "bob", "getrollout 1", ``, `{"status":"running","step":1,"state_version":2}`},
		{"§4.7", "cyd", "change 1", `{"deleted":false}`, `{"deleted":false}`},
		{"§4.7 row 7 is on all else", "bob", "call 1 advance", ``, `{"step":2}`},
		{"§4.9 the last", "bob", "call 1 advance", ``, `400 invalid_input - This is the last step.`},
	},
)

var abortRows = []ruletest.Row{
	{"§4.9", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.9 a draft is deleted, not aborted", "bob", "rollout", guardedRollout(1), `{"id":1}`},
	{"§4.9 a draft is deleted, not aborted", "bob", "call 1 abort", ``, `400 invalid_input - This rollout is draft.`},
	{"§4.9", "bob", "call 1 start", ``, `{"status":"running"}`},
	{"§4.9 restore is true", "bob", "call 1 abort", `{"reason":"enough"}`, `{"status":"aborted","next_at":null,"ended_at":"2026-01-02T12:00:05Z","step":0,"reasons":[]}`},
	{"§4.9 restore is true", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":5}]}}`},
	{"§4.8 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","detail":{"change_note":"enough","trigger":{"payload":{"step":0,"percent":5,"action":"abort","reason":"enough"}}}}`},
	{"§4.9 null is the default", "bob", "rollout", guardedRollout(1, started), `{"id":2}`},
	{"§4.9 null is the default", "bob", "call 2 abort", `{"restore":null}`, `{"status":"aborted"}`},
	{"§4.9 null is the default", "bob", "get 1", ``, percentOf("5")},
	{"§4.9 leaves the share", "bob", "rollout", guardedRollout(1, started), `{"id":3}`},
	{"§4.11", "-", "mails", ``, `["The rollout of f has started","The rollout of f was aborted","The rollout of f has started","The rollout of f was aborted","The rollout of f has started"]`},
	{"§4.9 leaves the share", "cyd", "call 3 abort", `{"restore":false,"reason":"enough"}`, `{"status":"aborted","ended_at":"2026-01-02T12:00:13Z","next_at":null}`},
	{"§4.9 leaves the share", "bob", "get 1", ``, percentOf("10")},
	{"§4.9 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"rollout_aborted","user":{"email":"cyd@example.com"},"detail":{"change_note":"enough"}}`},
	{"§4.11 abort", "-", "mails", ``, `["The rollout of f was aborted"]`},
	{"§4.7 it is not evaluated", "bob", "evaluate 3", ``, `{"status":"aborted","last_evaluation":null}`},
	{"§4.9 of a deleted flag", "bob", "rollout", guardedRollout(1, started, `"steps":[`+step(20)+`]`), `{"id":4}`},
	{"§4.9 of a deleted flag", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.9 of a deleted flag", "-", "mails", ``, `["The rollout of f has started"]`},
	{"§4.9 of a deleted flag", "bob", "call 4 abort", ``, `400 does_not_exist feature_flag`},
	{"§4.9 of a deleted flag", "bob", "call 4 abort", `{"restore":false}`, `{"status":"aborted"}`},
	{"§4.11 also then", "-", "mails", ``, `["The rollout of f was aborted"]`},
}

var reasonRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.8 start", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com","is_system":true},"detail":{"name":"f","changes":[{"field":"filters"}],"trigger":{"job_type":"guarded_rollout","job_id":"1","payload":{"step":0,"percent":10,"action":"start","reason":""}}}}`},
		{"§4.8 before the dwell is over, without approval or minimum", "cyd", "call 1 rollback", `{"reason":"a bad feeling"}`, `{"status":"rolled_back","reasons":[],"ended_at":"2026-01-02T12:00:04Z","next_at":null,"step":0}`},
		{"§4.8 rollback", "ann", "log FeatureFlag 1", ``, `{"detail":{"change_note":"a bad feeling","trigger":{"payload":{"step":0,"percent":5,"action":"rollback","reason":"a bad feeling"}}}}`},
		{"console.md N22", "bob", "versions 1", `{"Limit":3}`, `{"results":[{"version":3,"change_note":"a bad feeling"},{"version":2,"change_note":""},{"version":1}]}`},
	},
)
