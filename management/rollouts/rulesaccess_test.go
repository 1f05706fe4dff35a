package rollouts_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

var rolloutListRows = []ruletest.Row{
	{"§4.9", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.9", "bob", "create", plainFlag("g", 5), `{"id":2}`},
	{"§4.9", "dan", "create", plainFlag("theirs", 5), `{"id":3}`},
	{"§4.9 none yet", "bob", "rollouts", ``, `{"count":0,"ids":[]}`},
	{"§4.9", "bob", "rollout", guardedRollout(1, started), `{"id":1}`},
	{"§4.9", "bob", "rollout", guardedRollout(2), `{"id":2}`},
	{"§4.9", "dan", "rollout", guardedRollout(3, started), `{"id":3}`},
	{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.9", "bob", "rollout", guardedRollout(1, started), `{"id":4}`},
	{"§4.9 newest first", "bob", "rollouts", ``, `{"count":3,"ids":[4,2,1]}`},
	{"§4.9 feature_flag", "bob", "rollouts", `{"Flag":1}`, `{"count":2,"ids":[4,1]}`},
	{"§4.9 feature_flag", "bob", "rollouts", `{"Flag":2}`, `{"count":1,"ids":[2]}`},
	{"§4.9 feature_flag of another project", "bob", "rollouts", `{"Flag":3}`, `{"count":0,"ids":[]}`},
	{"§4.9 status", "bob", "rollouts", `{"Status":"running"}`, `{"count":1,"ids":[4]}`},
	{"§4.9 status", "bob", "rollouts", `{"Status":"draft"}`, `{"count":1,"ids":[2]}`},
	{"§4.9 status and flag", "bob", "rollouts", `{"Status":"rolled_back","Flag":1}`, `{"count":1,"ids":[1]}`},
	{"§4.9 status and flag", "bob", "rollouts", `{"Status":"draft","Flag":1}`, `{"count":0,"ids":[]}`},
	{"§3 a page", "bob", "rollouts", `{"Limit":1,"Offset":1}`, `{"count":3,"ids":[2]}`},
	{"§4.9 another project's", "dan", "rollouts", ``, `{"count":1,"ids":[3]}`},
	{"§1.5 another project's", "dan", "getrollout 1", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "changerollout 2", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "droprollout 2", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "call 4 pause", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "evaluations 4", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "dryrun", `{"id":4}`, `404 not_found - Not found.`},
}

var rolloutDeletedRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.9 a draft", "bob", "create", plainFlag("g", 5), `{"id":2}`},
		{"§4.9 a draft", "bob", "rollout", guardedRollout(2), `{"id":2}`},
		{"§4.9 a draft", "bob", "droprollout 2", ``, `null`},
		{"§4.9 a draft", "bob", "getrollout 2", ``, `404 not_found - Not found.`},
		{"§4.9 running", "bob", "droprollout 1", ``, `409 conflict - This rollout is running: abort it first.`},
		{"§4.9 holding", "-", "found 0 0 0 0", ``, `null`},
		{"§4.9 holding", "-", "until 2026-01-02T13:05:01Z", ``, `null`},
		{"§4.9 holding", "bob", "evaluate 1", ``, `{"status":"holding"}`},
		{"§4.9 holding", "bob", "droprollout 1", ``, `409 conflict - This rollout is holding: abort it first.`},
		{"§4.9 paused", "bob", "call 1 pause", ``, `{"status":"paused"}`},
		{"§4.9 paused", "bob", "droprollout 1", ``, `409 conflict - This rollout is paused: abort it first.`},
		{"§4.9 ended", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
		{"§4.9 ended", "bob", "droprollout 1", ``, `null`},
		{"§4.9 ended", "bob", "evaluations 1", ``, `404 not_found - Not found.`},
		{"§4.9 the flag stays", "bob", "get 1", ``, percentOf("5")},
	},
)

// §4.9: evaluations are deleted with their rollout.
func TestRollouts_EvaluationsOfDeleted(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond)
	calls := rolloutCalls(t, l)
	l.Run(t, calls, flagtest.Rows(aRollout(), []ruletest.Row{
		{"§4.9", "bob", "evaluate 1", ``, `{"status":"running"}`},
		{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	}))
	if n := storedRecords(t, l.World, "guarded_rollout_evaluation", "1"); n != 1 {
		t.Errorf("%d evaluations are stored, want 1", n)
	}
	if n := storedRecords(t, l.World, "guarded_rollout_task", ""); n != 0 {
		t.Errorf("a rollout that has ended has %d tasks", n)
	}
	l.Run(t, calls, []ruletest.Row{{"§4.9", "bob", "droprollout 1", ``, `null`}})
	if n := storedRecords(t, l.World, "guarded_rollout_evaluation", "1"); n != 0 {
		t.Errorf("%d evaluations of a deleted rollout are stored", n)
	}
}

// storedRecords counts the records of a kind with a parent.
func storedRecords(t *testing.T, w *ruletest.World, kind, parent string) (count int) {
	t.Helper()
	err := w.Store.Read(t.Context(), func(tx rooms.Tx) (err error) {
		_, count, err = tx.List(management.Query{Kind: kind, Parent: parent})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// management.md §1.8: the access to a rollout is that to its flag.
var rolloutAccessRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§1.8", "bob", "create", plainFlag("g", 5), `{"id":2}`},
		{"§1.8", "cyd", "rollout", guardedRollout(2), `{"id":2}`},
		{"§1.8 viewer", "-", "limit cyd 1 viewer", ``, `{"access_level":"viewer"}`},
		{"§1.8 viewer", "cyd", "getrollout 1", ``, `{"user_access_level":"viewer"}`},
		{"§1.8 viewer", "cyd", "evaluations 1", ``, `{"count":0}`},
		{"§1.8 viewer", "cyd", "rollouts", ``, `{"count":2,"ids":[2,1]}`},
		{"§1.8 viewer", "cyd", "call 1 pause", ``, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "call 1 rollback", ``, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "changerollout 1", `{"name":"x"}`, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "droprollout 1", ``, flagtest.MayNotEdit},
		{"§1.8 of the flag that it gets", "cyd", "changerollout 2", `{"feature_flag":1}`, flagtest.MayNotEdit},
		{"§4.10 a dry run changes nothing", "cyd", "dryrun", guardedRollout(1, `"started_at":"2026-01-02T10:00:00Z"`), `{"decision":"hold"}`},
		{"§4.10 a dry run changes nothing", "cyd", "dryrun", `{"id":1}`, `{"decision":"wait"}`},
		{"§1.8 none", "-", "limit cyd 1 none", ``, `{"access_level":"none"}`},
		{"§1.8 none", "cyd", "getrollout 1", ``, flagtest.MayNotView},
		{"§1.8 none", "cyd", "evaluations 1", ``, flagtest.MayNotView},
		{"§1.8 none", "cyd", "rollouts", ``, `{"count":1,"ids":[2]}`},
		{"§1.8 none", "cyd", "rollouts", `{"Flag":1}`, `{"count":0,"ids":[]}`},
		{"§1.8 none", "cyd", "call 1 pause", ``, flagtest.MayNotEdit},
		{"§1.8 none", "cyd", "dryrun", `{"id":1}`, flagtest.MayNotView},
		{"§1.8 none", "cyd", "dryrun", guardedRollout(1, `"started_at":"2026-01-02T10:00:00Z"`), flagtest.MayNotView},
		{"§1.8 a refusal changes nothing", "bob", "getrollout 1", ``, `{"status":"running","state_version":1}`},
	},
)

// console.md N12 and §4.8: the start needs the approval; steps and every rollback then pass.
var rolloutApprovalRows = []ruletest.Row{
	{"N12", "bob", "create", plainFlag("a", 5), `{"id":1}`},
	{"N12", "bob", "rollout", guardedRollout(1), `{"id":1}`},
	{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12 the start", "bob", "call 1 start", ``, flagtest.NeedsOne},
	{"N12 the start", "ann", "call 1 start", ``, flagtest.NeedsOne},
	{"N12 a refusal changes nothing", "bob", "getrollout 1", ``, `{"status":"draft","started_at":null,"percent_before":null,"state_version":0}`},
	{"N12 a refusal changes nothing", "bob", "get 1", ``, `{"version":1}`},
	{"N12 a draft changes nothing that somebody gets", "bob", "changerollout 1", `{"name":"x"}`, `{"name":"x"}`},
	{"N12 a draft changes nothing that somebody gets", "bob", "droprollout 1", ``, `null`},
	{"N12 the start of a new one", "bob", "rollout", guardedRollout(1, started), flagtest.NeedsOne},
	{"N12 the start of a new one", "bob", "rollouts", ``, `{"count":0,"ids":[]}`},
	{"N12 begun without", "ann", "approvals", `{"needed":0}`, `{"needed":0}`},
	{"N12 begun without", "bob", "rollout", guardedRollout(1, started), `{"id":2,"status":"running"}`},
	{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12 its steps pass", "-", "found 1000 9000 50 450", ``, `null`},
	{"N12 its steps pass", "bob", "wait 65m", ``, `null`},
	{"N12 its steps pass", "bob", "evaluate 2", ``, `{"status":"running","step":1}`},
	{"N12 its steps pass", "bob", "get 1", ``, percentOf("50")},
	{"N12 no approver is named", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","detail":{"type":null,"approved_by":"(absent)","trigger":{"job_type":"guarded_rollout"}}}`},
	{"N12 every rollback passes", "-", "found 1000 1000 500 50", ``, `null`},
	{"N12 every rollback passes", "bob", "evaluate 2", ``, `{"status":"rolled_back"}`},
	{"N12 every rollback passes", "bob", "get 1", ``, percentOf("5")},
	{"N12 not the hand of a user", "bob", "change 1", flagtest.ShareOf(50), flagtest.NeedsOne},
}

var rolloutTagRows = []ruletest.Row{
	{"N12", "bob", "create", plainFlag("a", 5), `{"id":1}`},
	{"N12", "ann", "approvals", `{"needed":1,"tags":["prod"]}`, `{"tags":["prod"]}`},
	{"N12 only flags that have one of them", "bob", "rollout", guardedRollout(1, started), `{"id":1,"status":"running"}`},
	{"N12 only flags that have one of them", "bob", "change 1", `{"tags":["prod"]}`, `{"tags":["prod"]}`},
	{"N12 a rollback by hand passes", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"N12 the next needs it", "bob", "rollout", guardedRollout(1, started), flagtest.NeedsOne},
	{"N12 switched off is no start", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"N12 switched off is no start", "bob", "rollout", guardedRollout(1, started), flagtest.NeedsOne},
}
