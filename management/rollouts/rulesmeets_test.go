package rollouts_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Rollouts and the other ways to change a flag: experiments.md §4.12, "restore of an old version,
// apply, a schedule on the same field", and management.md §5.1.3 on conflicts of versions.
func TestRollouts_OtherChanges(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"restore": meetsRestoreRows, "apply": meetsApplyRows, "schedule": meetsScheduleRows, "schedule of another field": meetsStatusRows, "change request": meetsRequestRows, "a request waits": requestWaitsRows,
		"variants": meetsVariantRows, "archive": meetsArchiveRows, "conflicts": stepConflictRows, "two rollouts": afterwardsRows,
	})
}

// held is the state of a rollout after a change of a share that it writes.
const held = `{"status":"holding","step":0,"reasons":["flag_changed"]}`

var meetsRestoreRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.12", "cyd", "restore 1", `{"version":1}`, `{"version":3}`},
	{"§4.12", "bob", "evaluate 1", ``, held},
	{"§4.12 until a person decides", "bob", "wait 24h", ``, `null`},
	{"§4.12 until a person decides", "bob", "evaluate 1", ``, `{"status":"holding","step":0}`},
	{"§4.12 it never overwrites", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":5}]}}`},
	{"§4.9 the person decides", "bob", "call 1 pause", ``, `{"status":"paused"}`},
	{"§4.9 the person decides", "bob", "call 1 resume", `{"accept_flag":true}`, `{"status":"running","step":0}`},
	{"§4.9 the person decides", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
	{"§4.12 the version that a step made comes back too", "cyd", "restore 1", `{"version":2}`, `{"version":4,"filters":{"groups":[{"rollout_percentage":10}]}}`},
	{"§4.12 and is a change again", "bob", "evaluate 1", ``, held},
})

var meetsApplyRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.12", "cyd", "apply", `{"flags":[{"key":"f","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":80}]}}]}`, `{"changes":[{"name":"f","action":"update"}]}`},
	{"§4.12", "bob", "evaluate 1", ``, held},
	{"§4.12", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":80}]}}`},
	{"§4.12 the share that it wrote", "cyd", "apply", `{"flags":[{"key":"f","active":true,"name":"about","filters":{"groups":[{"properties":[],"rollout_percentage":10}]}}]}`, `{"changes":[{"name":"f","action":"update"}]}`},
	{"§4.12 the share that it wrote", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
})

var meetsScheduleRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.12", "cyd", "schedule", flagtest.Later("2026-01-02T12:30:00Z", flagtest.Steps(0, 30)), `{"id":1}`},
	{"§4.12 not before its time", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.12", "-", "until 2026-01-02T12:30:00Z", ``, `null`},
	{"§4.12", "bob", "due", ``, `1`},
	{"§4.12", "bob", "getschedule 1", ``, `{"failure_reason":null}`},
	{"§4.12", "bob", "evaluate 1", ``, held},
	{"§4.12", "bob", "get 1", ``, `{"version":3,"last_modified_by":{"first_name":"cyd"},"filters":{"groups":[{"rollout_percentage":30}]}}`},
})

// A schedule after a step of the rollout finds its condition: only the share has changed.
var meetsStatusRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.12", "cyd", "schedule", flagtest.Later("2026-01-02T12:30:00Z", flagtest.Off), `{"id":1}`},
	{"§4.12", "cyd", "schedule", flagtest.Later("2026-01-02T12:40:00Z", flagtest.Steps(0, 70)), `{"id":2}`},
	{"§4.9", "bob", "call 1 advance", ``, `{"step":1}`},
	{"§4.12 another field", "-", "until 2026-01-02T12:30:00Z", ``, `null`},
	{"§4.12 another field", "bob", "due", ``, `1`},
	{"§4.12 another field", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_inactive"]}`},
	{"§4.12 another field", "bob", "get 1", ``, `{"version":4,"active":false,"filters":{"groups":[{"rollout_percentage":50}]}}`},
	{"console.md N24", "-", "until 2026-01-02T12:40:00Z", ``, `null`},
	{"console.md N24", "bob", "due", ``, `1`},
	{"console.md N24", "bob", "getschedule 2", ``, `{"failure_reason":null}`},
	{"§4.12 and its own", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed","flag_inactive"]}`},
	{"§4.12 and its own", "bob", "get 1", ``, percentOf("70")},
})

// console.md N12: a change of the flag in a field of the patch since base_version is a conflict, also
// one by a step.
var meetsRequestRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(70)), `{"id":1,"base_version":2}`},
	{"N12", "bob", "request", flagtest.RequestBody(`{"name":"about"}`), `{"id":2,"base_version":2}`},
	{"N12", "cyd", "approve 1", `{"revision":1}`, `{"state":"approved"}`},
	{"N12 a step", "bob", "call 1 advance", ``, `{"step":1}`},
	{"N12 a step", "bob", "applyrequest 1", ``, `409 conflict - The field filters of the feature flag has changed since version 2, on which the request is based.`},
	{"N12 another field", "bob", "applyrequest 2", ``, `{"state":"applied"}`},
	{"N12 another field", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
	{"N12 a rebase is an edit", "bob", "editrequest 1", `{"base_version":4}`, `{"revision":2,"state":"open","votes":[]}`},
	{"N12 a rebase is an edit", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"§4.12", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.12", "bob", "get 1", ``, `{"version":5,"filters":{"groups":[{"rollout_percentage":70}]}}`},
})

// A request for a flag may wait while the flag's rollout runs. After a rollback there is no conflict.
var requestWaitsRows = []ruletest.Row{
	{"N12", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(70)), `{"id":1,"base_version":1}`},
	{"§4.9", "bob", "rollout", guardedRollout(1, started), `{"id":1}`},
	{"N12", "bob", "applyrequest 1", ``, `409 conflict - The field filters of the feature flag has changed since version 1,`},
	{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"N12 as it was in version 1", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 as it was in version 1", "bob", "get 1", ``, `{"version":4,"filters":{"groups":[{"rollout_percentage":70}]}}`},
}

// §4.7, row 1: changed in the values that the rollout writes, the shares of both arms.
var meetsVariantRows = []ruletest.Row{
	{"§4.7", "bob", "create", variantFlag("f", "x 10", "control 80", "test 10"), `{"id":1}`},
	{"§4.7", "bob", "rollout", guardedRollout(1, started, `"treatment_variant":"test","control_variant":"control","steps":[`+step(50)+`,`+step(100)+`]`), `{"id":1}`},
	{"§4.7 names and payloads are others", "cyd", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":30}],"multivariate":{"variants":[{"key":"x","name":"X","rollout_percentage":10},{"key":"control","rollout_percentage":45},{"key":"test","rollout_percentage":45}]},"payloads":{"test":"1"}}}`, `{"version":3}`},
	{"§4.7 names and payloads are others", "bob", "evaluate 1", ``, `{"status":"running","reasons":[]}`},
	{"§4.7 the same part of less", "cyd", "change 1", variantFlag("f", "x 20", "control 40", "test 40"), `{"version":4}`},
	{"§4.7 the same part of less", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.7 another part of the same", "cyd", "change 1", variantFlag("f", "x 10", "control 50", "test 40"), `{"version":5}`},
	{"§4.7 another part of the same", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.7 one of them is gone", "cyd", "change 1", variantFlag("f", "x 10", "control 90"), `{"version":6}`},
	{"§4.7 one of them is gone", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.9 it cannot be turned back then", "bob", "call 1 rollback", ``, `400 does_not_exist treatment_variant The feature flag has no variant "test".`},
	{"§4.9 but aborted", "bob", "call 1 abort", `{"restore":false}`, `{"status":"aborted"}`},
	{"§4.9 but aborted", "bob", "get 1", ``, shares("10", "90")},
}

// §4.7, row 1: a flag that no rollout could use any more has changed, too.
var meetsArchiveRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§4.7", "-", "found 1000 9000 500 450", ``, `null`},
	{"§4.7", "cyd", "archive 1", ``, `{"archived":true,"active":false}`},
	{"§4.7", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed","flag_inactive"]}`},
	{"§4.7", "cyd", "change 1", `{"archived":false,"active":true,"ensure_experience_continuity":true}`, `{"archived":false}`},
	{"§4.7", "bob", "evaluate 1", ``, `{"status":"holding","reasons":["flag_changed"]}`},
	{"§4.7 it fits again", "cyd", "change 1", `{"ensure_experience_continuity":false}`, `{"active":true}`},
	{"§4.7 it fits again", "bob", "evaluate 1", ``, `{"status":"rolled_back"}`},
})

// management.md §5.1.3: a step is a version that somebody's editor does not know.
var stepConflictRows = flagtest.Rows(aRollout(), []ruletest.Row{
	{"§5.1.3", "bob", "call 1 advance", ``, `{"step":1}`},
	{"§5.1.3 the same field", "cyd", "change 1", `{"version":2,"original_flag":` + percentOf("10") + `,"filters":{"groups":[{"properties":[],"rollout_percentage":20}]}}`,
		`409 conflict - The feature flag was updated by bob@example.com since you started editing it. Please refresh and try again.`},
	{"§5.1.3 a refusal changes nothing", "cyd", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":50}]}}`},
	{"§5.1.3 another field", "cyd", "change 1", `{"version":2,"original_flag":{"name":"","filters":{"groups":[{"properties":[],"rollout_percentage":10}]}},"name":"about"}`, `{"version":4,"name":"about"}`},
	{"§5.1.3 sent as it was loaded: no change of the caller", "cyd", "change 1", `{"version":3,"original_flag":` + percentOf("50") + `,"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}}`, `{"version":5}`},
	{"§4.12", "bob", "evaluate 1", ``, `{"status":"running","step":1,"reasons":[]}`},
	{"§5.1.3 as the step has it", "cyd", "change 1", `{"version":2,"original_flag":` + percentOf("10") + `,"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}}`, `{"version":6}`},
	{"§5.1.3 no version, no check", "cyd", "change 1", `{"original_flag":` + percentOf("10") + `,"filters":{"groups":[{"properties":[],"rollout_percentage":20}]}}`, `{"version":7}`},
})

// A second rollout of a flag begins where the first has ended.
var afterwardsRows = flagtest.Rows(aRollout(`"steps":[`+step(10)+`,`+step(20)+`]`), []ruletest.Row{
	{"§4.7", "bob", "call 1 advance", ``, `{"step":1}`},
	{"§4.7", "-", "found 2000 8000 100 400", ``, `null`},
	{"§4.7", "bob", "wait 65m", ``, `null`},
	{"§4.7", "bob", "evaluate 1", ``, `{"status":"completed"}`},
	{"§4.2", "bob", "rollout", guardedRollout(1, started), `400 not_comparable steps.0.percent The treatment already has 20 %:`},
	{"§4.2", "bob", "rollout", guardedRollout(1, started, `"steps":[`+step(30)+`]`), `{"id":2,"percent_before":20}`},
	{"§4.8", "bob", "call 2 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.8", "bob", "get 1", ``, percentOf("20")},
	{"§4.9 the first stays as it was", "bob", "getrollout 1", ``, `{"status":"completed","step":1,"percent_before":5}`},
})
