package changes_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The source of the expected values in these tables is spec/console.md §2.4, N12.
func TestApprovals(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"setting": approvalSettingRows, "gate": approvalGateRows, "every door": approvalEntryRows, "off": approvalOffRows, "tags": approvalTagRows,
		"requests": requestRows, "conflicts": requestConflictRows, "votes": requestVoteRows, "bodies": requestBodyRows, "lists": requestListRows, "bound": requestBoundRows(),
	} {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			calls := flagtest.RoomCalls(t, w)
			for name, call := range flagtest.ApprovalCalls(t, w) {
				calls[name] = call
			}
			w.Run(t, calls, rows)
		})
	}
}

var approvalSettingRows = flagtest.Rows(
	flagtest.Each("N12 0 to 5, tags, switch_off_free", "ann", "approvals",
		[2]string{`{}`, `{"needed":0,"tags":[],"switch_off_free":true}`},
		[2]string{`{"needed":5,"tags":[" Prod ","prod"],"switch_off_free":false}`, `{"needed":5,"tags":["prod"],"switch_off_free":false}`},
		[2]string{`{"needed":6}`, `400 max_value flag_approvals__needed`},
		[2]string{`{"needed":-1}`, `400 min_value flag_approvals__needed`},
		[2]string{`{"needed":"many"}`, `400 invalid_input flag_approvals__needed A valid integer is required.`},
		[2]string{`{"need":1}`, `400 invalid_input flag_approvals "need" is not a known member: use needed, tags or switch_off_free.`},
		[2]string{`[]`, `400 not_a_dict flag_approvals`},
		[2]string{`null`, `400 null flag_approvals`},
	),
	[]ruletest.Row{
		{"C8 who could change alone may not say that others need not look", "bob", "approvals", `{"needed":0}`, `403 permission_denied - You don't have sufficient permissions in the project.`},
		{"N12 a refusal changes nothing", "gus", "approvals", `{"needed":1}`, `{"needed":1,"tags":[],"switch_off_free":true}`},
		{"J12 the log says who has changed it", "ann", "log Project 1", ``, `{"activity":"updated","user":{"email":"gus@example.com"},"detail":{"changes":[{"field":"flag_approvals"}]}}`},
	},
)

var approvalGateRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag, {"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`}},
	flagtest.Each("N12 what can change what somebody gets", "bob", "change 1",
		[2]string{flagtest.ShareOf(50), flagtest.NeedsOne}, [2]string{`{"archived":true,"active":false}`, flagtest.NeedsOne}, [2]string{`{"deleted":true}`, flagtest.NeedsOne}, [2]string{`{"key":"b"}`, flagtest.NeedsOne},
		[2]string{`{"evaluation_runtime":"server"}`, flagtest.NeedsOne}, [2]string{`{"evaluation_contexts":["x"]}`, flagtest.NeedsOne}, [2]string{`{"bucketing_identifier":"device_id"}`, flagtest.NeedsOne},
		[2]string{`{"bucketing_hash":"murmur3"}`, flagtest.NeedsOne}, [2]string{`{"ensure_experience_continuity":true}`, flagtest.NeedsOne}, [2]string{`{"is_remote_configuration":true}`, flagtest.NeedsOne},
		[2]string{`{"active":false,"key":"b"}`, flagtest.NeedsOne},
	),
	[]ruletest.Row{
		{"N12 for all", "ann", "change 1", flagtest.ShareOf(50), flagtest.NeedsOne},
		{"N12 a refusal changes nothing", "bob", "get 1", ``, `{"version":1,"key":"a","active":true,"archived":false}`},
		{"N12 nothing that somebody gets", "bob", "change 1", `{"name":"about","tags":["x"],"filters":{"groups":[{"properties":[],"rollout_percentage":null}]}}`, `{"version":2,"name":"about"}`},
		{"N12 switching off", "bob", "change 1", `{"active":false}`, `{"version":3,"active":false}`},
		{"N12 the activity says so", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com"},"detail":{"type":"without approval","changes":[{"field":"active"}],"approved_by":"(absent)"}}`},
		{"N12 and on again", "bob", "change 1", `{"active":true}`, flagtest.NeedsOne},
		{"N12 a new flag changes nothing that somebody gets", "bob", "create", `{"key":"new"}`, `{"key":"new","active":true}`},
		{"N12 switching off is not free everywhere", "ann", "approvals", `{"needed":2,"switch_off_free":false}`, `{"switch_off_free":false}`},
		{"N12 switching off is not free everywhere", "bob", "change 2", `{"active":false}`, `403 approval_required - This change to the feature flag "new" requires 2 approvals: send it as the patch of POST /change_requests/.`},
	},
)

var approvalEntryRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"N12", "bob", "change 1", flagtest.ShareOf(50), `{"version":2}`},
		{"N12", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":2,"active":false}}`},
		{"N12", "bob", "feature", `{"name":"F","stage":"draft"}`, `{"feature_flag":{"id":3,"key":"f"}}`},
		{"N12 scheduled before", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.On), `{"id":1}`},
		{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
		{"N12 off is free", "bob", "change 1", `{"active":false}`, `{"version":3}`},
		{"N12 restore", "bob", "restore 1", `{"version":2}`, flagtest.NeedsOne},
		{"N12 restore", "bob", "restore 1", `{"version":1}`, flagtest.NeedsOne},
		{"N12 a switch of its own", "bob", "enable 1", ``, flagtest.NeedsOne},
		{"N12 the archive", "bob", "archive 1", ``, flagtest.NeedsOne},
		{"N12 bulk", "bob", "bulk", `{"ids":[1],"patch":{"active":true}}`, `{"results":[{"id":1,"ok":false,"error":"(like) ^This change to the feature flag .a. requires an approval"}]}`},
		{"N12 bulk", "bob", "bulk", `{"ids":[1],"patch":{"deleted":true}}`, `{"results":[{"ok":false}]}`},
		{"N12 bulk tags", "bob", "bulk", `{"ids":[1],"patch":{"add_tags":["x"]}}`, `{"results":[{"ok":true}]}`},
		{"N12 apply", "bob", "apply", `{"flags":[{"key":"a","filters":{"groups":[{"properties":[]}]}}]}`, `403 approval_required - flag "a": This change to the feature flag "a" requires`},
		{"N12 a plan writes nothing", "bob", "plan", `{"flags":[{"key":"a","filters":{"groups":[{"properties":[]}]}}]}`, `{"changes":[{"name":"a","action":"update"}]}`},
		{"N12 apply may make", "bob", "apply", `{"flags":[{"key":"fresh","filters":{"groups":[]}}]}`, `{"changes":[{"name":"fresh","action":"create"}]}`},
		{"N12 apply, pruning", "bob", "applyprune", `{"flags":[]}`, `403 approval_required -`},
		{"N12 scheduled changes", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", flagtest.On), flagtest.NeedsOne},
		{"N12 scheduled changes", "bob", "changeschedule 1", `{"scheduled_at":"2026-01-03T01:00:00Z"}`, flagtest.NeedsOne},
		{"N12 one that was scheduled before fails at its time", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
		{"N12 one that was scheduled before fails at its time", "-", "due", ``, `1`},
		{"N12 one that was scheduled before fails at its time", "bob", "getschedule 1", ``, `{"failure_reason":"(like) requires an approval"}`},
		{"N12 one that was scheduled before fails at its time", "bob", "get 1", ``, `{"active":false}`},
		{"N12 an experiment's launch", "bob", "launch 1", ``, `403 approval_required - This change to the feature flag "e" requires`},
		{"N12 an experiment's launch", "bob", "getexperiment 1", ``, `{"status":"draft","start_date":null}`},
		{"N12 early access", "bob", "changefeature <F>", `{"stage":"beta"}`, `403 approval_required - This change to the feature flag "f" requires`},
		{"N12 early access, words alone", "bob", "changefeature <F>", `{"description":"more"}`, `{"description":"more","stage":"draft"}`},
		{"N12 a survey's own flags are no flags that are shown", "bob", "survey", `{"name":"S","type":"popover","questions":[{"type":"open","question":"?"}],"linked_flag_id":1}`, `{"name":"S"}`},
		{"N12 a survey's own flags are no flags that are shown", "bob", "changesurvey <S>", `{"start_date":"2026-01-03T00:00:00Z"}`, `{"internal_targeting_flag":{"active":true}}`},
		{"N12 switched on by a request, an experiment is launched", "bob", "request", `{"flag":2,"patch":{"active":true}}`, `{"id":1}`},
		{"N12 switched on by a request, an experiment is launched", "cyd", "approve 1", `{"revision":1}`, `{"state":"approved"}`},
		{"N12 switched on by a request, an experiment is launched", "cyd", "applyrequest 1", ``, `{"state":"applied"}`},
		{"N12 switched on by a request, an experiment is launched", "bob", "launch 1", ``, `{"status":"running"}`},
	},
)

var approvalOffRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12 a scheduled switching off is free too", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off), `{"id":1}`},
	{"N12 a scheduled switching off is free too", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"N12 a scheduled switching off is free too", "-", "due", ``, `1`},
	{"N12 a scheduled switching off is free too", "bob", "get 1", ``, `{"active":false}`},
	{"N12 and says so", "ann", "log FeatureFlag 1", ``, `{"detail":{"type":"without approval"}}`},
	{"N12 needed 0 is off", "ann", "approvals", `{"needed":0}`, `{"needed":0}`},
	{"N12 needed 0 is off", "bob", "change 1", flagtest.ShareOf(50), `{"version":3}`},
	{"N12 nothing to say then", "ann", "log FeatureFlag 1", ``, `{"detail":{"type":null,"approved_by":"(absent)","change_request":"(absent)"}}`},
}

var approvalTagRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":1,"tags":["prod","money"]}`, `{"tags":["prod","money"]}`},
	{"N12 only flags that have one of them", "bob", "change 1", flagtest.ShareOf(50), `{"version":2}`},
	{"N12 a tag protects", "bob", "change 1", `{"tags":["x","prod"],"filters":{"groups":[{"properties":[],"rollout_percentage":60}]}}`, `{"version":3}`},
	{"N12 only flags that have one of them", "bob", "change 1", flagtest.ShareOf(70), flagtest.NeedsOne},
	{"N12 no way around: the tag goes", "bob", "change 1", `{"tags":["x"]}`, flagtest.NeedsOne},
	{"N12 no way around: the tag goes", "bob", "change 1", `{"tags":[],"filters":{"groups":[{"properties":[],"rollout_percentage":70}]}}`, flagtest.NeedsOne},
	{"N12 no way around: the tag goes", "bob", "tags", `{"ids":[1],"action":"set","tags":[]}`, `{"updated":[],"skipped":[{"id":1,"reason":"(like) requires an approval"}]}`},
	{"N12 no way around: the tag goes", "bob", "bulk", `{"ids":[1],"patch":{"remove_tags":["prod"]}}`, `{"results":[{"ok":false}]}`},
	{"N12 another one that protects", "bob", "change 1", `{"tags":["money"]}`, `{"tags":["money"]}`},
	{"N12 an approval takes it", "bob", "request", flagtest.RequestBody(`{"tags":[]}`), `{"id":1,"needed":1}`},
	{"N12 an approval takes it", "cyd", "approve 1", `{"revision":1}`, `{"state":"approved"}`},
	{"N12 an approval takes it", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 only flags that have one of them", "bob", "change 1", flagtest.ShareOf(70), `{"tags":[]}`},
}

var requestRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12 a request", "bob", "request", `{"flag":1,"title":"Half","note":"slowly","patch":` + flagtest.ShareOf(50) + `}`, `{"id":1,"flag":1,"flag_key":"a","base_version":1,"title":"Half","note":"slowly","patch":` + flagtest.ShareOf(50) + `,
		"author":"bob@example.com","editors":[],"state":"open","revision":1,"votes":[],"needed":1,"created_at":"(like) ^2026-01-02T12:00:0"}`},
	{"N12 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"change_requested","user":{"email":"bob@example.com"},"detail":{"name":"a","change_request":1,"change_note":"slowly"}}`},
	{"N12 it changes nothing yet", "bob", "get 1", ``, `{"version":1}`},
	{"N12 not without enough approvals", "gus", "applyrequest 1", ``, `403 approval_required - The change request has 0 of the 1 approvals that it needs.`},
	{"N12 the author cannot approve", "bob", "approve 1", `{"revision":1}`, `403 own_change - The author of a change request cannot approve it:`},
	{"N12 they name the revision", "cyd", "approve 1", `{}`, `400 required revision This field is required.`},
	{"N12 another revision", "cyd", "approve 1", `{"revision":2}`, `409 revision_changed revision`},
	{"N12 enough approvals", "cyd", "approve 1", `{"revision":1}`, `{"state":"approved","votes":[{"user":"cyd@example.com","vote":"approve","revision":1,"at":"(like) ^2026-01-02T12:00:"}]}`},
	{"N12 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"change_approved","user":{"email":"cyd@example.com"},"detail":{"change_request":1}}`},
	{"N12 an edit voids every vote", "gus", "editrequest 1", `{"patch":` + flagtest.ShareOf(40) + `}`, `{"revision":2,"votes":[],"state":"open","editors":["gus@example.com"],"author":"bob@example.com"}`},
	{"N12 and its approvals", "bob", "applyrequest 1", ``, `403 approval_required -`},
	{"N12 editors cannot approve", "gus", "approve 1", `{"revision":2}`, `403 own_change -`},
	{"N12 what was seen before", "cyd", "approve 1", `{"revision":1}`, `409 revision_changed revision`},
	{"N12 also words are an edit", "gus", "editrequest 1", `{"title":"Less than half"}`, `{"revision":3,"editors":["gus@example.com"],"base_version":1}`},
	{"N12", "cyd", "approve 1", `{"revision":3}`, `{"state":"approved"}`},
	{"N12 anybody with the right applies", "gus", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 written as the author", "ann", "get 1", ``, `{"version":2,"last_modified_by":{"first_name":"bob"},"filters":{"groups":[{"rollout_percentage":40}]}}`},
	{"N12 with the approvers named", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com"},"detail":{"approved_by":["cyd@example.com"],"change_request":1,"change_note":"slowly","type":null}}`},
	{"N12 once", "gus", "applyrequest 1", ``, `409 conflict - The change request is applied.`},
	{"N12 closed", "cyd", "approve 1", `{"revision":3}`, `409 conflict - The change request is applied.`},
	{"N12 closed", "cyd", "reject 1", `{"revision":3}`, `409 conflict - The change request is applied.`},
	{"N12 closed", "bob", "editrequest 1", `{"title":"x"}`, `409 conflict - The change request is applied.`},
	{"N12 closed", "bob", "withdraw 1", ``, `409 conflict - The change request is applied.`},
	{"N12", "bob", "getrequest 2", ``, `404 not_found -`},
	{"N12 another project's", "dan", "getrequest 1", ``, `404 not_found -`},
}

var requestConflictRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"base_version":1}`},
	{"N12", "cyd", "approve 1", `{"revision":1}`, `{"state":"approved"}`},
	{"N12 another field", "bob", "change 1", `{"name":"about"}`, `{"version":2}`},
	{"N12 a field of the patch", "bob", "change 1", flagtest.ShareOf(20), `{"version":3}`},
	{"N12 a field of the patch", "bob", "applyrequest 1", ``, `409 conflict - The field filters of the feature flag has changed since version 1, on which the request is based.`},
	{"N12 a rebase is an edit", "bob", "editrequest 1", `{"base_version":9}`, `400 invalid_input base_version The feature flag has versions 1 to 3.`},
	{"N12 a rebase is an edit", "bob", "editrequest 1", `{"base_version":0}`, `400 invalid_input base_version`},
	{"N12 a rebase is an edit", "bob", "editrequest 1", `{"base_version":3}`, `{"revision":2,"base_version":3,"votes":[]}`},
	{"N12", "cyd", "approve 1", `{"revision":2}`, `{"state":"approved"}`},
	{"N12 another field", "bob", "change 1", `{"name":"more"}`, `{"version":4}`},
	{"N12 another field", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 another field", "bob", "get 1", ``, `{"version":5,"name":"more","filters":{"groups":[{"rollout_percentage":30}]}}`},
	{"N12 a new patch is made for the present version", "bob", "request", `{"flag":1,"base_version":2,"patch":{"name":"x"}}`, `{"id":2,"base_version":2}`},
	{"N12 a new patch is made for the present version", "bob", "editrequest 2", `{"patch":{"name":"y"}}`, `{"base_version":5}`},
	{"N12 one that was done meanwhile is no conflict", "bob", "change 1", `{"name":"y"}`, `{"version":6}`},
	{"N12 one that was done meanwhile is no conflict", "bob", "applyrequest 2", ``, `{"state":"applied"}`},
	{"N12 a flag that could not be saved", "bob", "request", flagtest.RequestBody(`{"key":"b"}`), `{"id":3}`},
	{"N12 a flag that could not be saved", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"N12 a flag that could not be saved", "bob", "applyrequest 3", ``, `400 unique key There is already a feature flag with this key.`},
	{"N12 a flag that could not be saved", "bob", "getrequest 3", ``, `{"state":"open"}`},
}

var requestVoteRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":2}`, `{"needed":2}`},
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"state":"open","needed":2}`},
	{"N12 one of two", "cyd", "approve 1", `{"revision":1}`, `{"state":"open"}`},
	{"N12 one of two, twice", "cyd", "approve 1", `{"revision":1}`, `{"state":"open","votes":[{"user":"cyd@example.com"}]}`},
	{"N12 one of two", "bob", "applyrequest 1", ``, `403 approval_required - The change request has 1 of the 2`},
	{"N12 two of two", "gus", "approve 1", `{"revision":1}`, `{"state":"approved","votes":[{"user":"cyd@example.com"},{"user":"gus@example.com"}]}`},
	{"N12 as many as are needed now", "ann", "approvals", `{"needed":3}`, `{"needed":3}`},
	{"N12 as many as are needed now", "bob", "getrequest 1", ``, `{"state":"open"}`},
	{"N12 as many as are needed now", "bob", "applyrequest 1", ``, `403 approval_required - The change request has 2 of the 3`},
	{"N12 rejected once", "ann", "reject 1", `{"revision":2}`, `409 revision_changed revision`},
	{"N12 rejected once", "ann", "reject 1", `{"revision":1}`, `{"state":"rejected","votes":[{"vote":"approve"},{"vote":"approve"},{"user":"ann@example.com","vote":"reject"}]}`},
	{"N12 rejected once is closed", "cyd", "approve 1", `{"revision":1}`, `409 conflict - The change request is rejected.`},
	{"N12 rejected once is closed", "bob", "applyrequest 1", ``, `409 conflict - The change request is rejected.`},
	{"N12 until it is edited", "bob", "editrequest 1", `{"title":"please"}`, `{"state":"open","revision":2,"votes":[],"editors":[]}`},
	{"N12 who has written it withdraws it", "cyd", "withdraw 1", ``, `403 permission_denied - Only the author of a change request or an administrator can withdraw it.`},
	{"N12 who has written it withdraws it", "bob", "withdraw 1", ``, `{"state":"withdrawn"}`},
	{"N12 for good", "bob", "editrequest 1", `{"title":"again"}`, `409 conflict - The change request is withdrawn.`},
	{"N12 or an administrator", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"id":2}`},
	{"N12 or an administrator", "gus", "withdraw 2", ``, `{"state":"withdrawn"}`},
}

var requestBodyRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("N12 a change that could not be made is told at once", "bob", "request",
		[2]string{`{}`, `400 required flag This field is required.`},
		[2]string{`{"flag":1}`, `400 required patch This field is required.`},
		[2]string{`{"flag":9,"patch":{"name":"x"}}`, `400 does_not_exist flag There is no feature flag with the id 9.`},
		[2]string{flagtest.RequestBody(`[]`), `400 not_a_dict patch`},
		[2]string{flagtest.RequestBody(`{}`), `400 invalid_input patch The patch is empty.`},
		[2]string{flagtest.RequestBody(`{"id":2}`), `400 invalid_input patch__id A change request cannot change this field.`},
		[2]string{flagtest.RequestBody(`{"version":1}`), `400 invalid_input patch__version A change request cannot change this field.`},
		[2]string{flagtest.RequestBody(`{"active":"maybe"}`), `400 invalid_input patch__active Must be a valid boolean.`},
		[2]string{flagtest.RequestBody(`{"key":"a b"}`), `400 invalid_key patch__key`},
		[2]string{flagtest.RequestBody(flagtest.ShareOf(120)), `400 invalid_input patch__filters`},
		[2]string{`{"flag":1,"patch":{"name":"x"},"base_version":2}`, `400 invalid_input base_version`},
		[2]string{`{"flag":1,"patch":{"name":"x"},"title":` + flagtest.Text(201) + `}`, `400 max_length title`},
		[2]string{`{"flag":1,"patch":{"name":"x"},"note":` + flagtest.Text(501) + `}`, `400 max_length note`},
	),
	[]ruletest.Row{
		{"N12 another project's flag", "dan", "request", flagtest.RequestBody(`{"name":"x"}`), `400 does_not_exist flag`},
		{"N12 the flag stays another one's", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":1}`},
		{"N12 the flag stays another one's", "bob", "editrequest 1", `{"flag":2,"title":"x"}`, `{"flag":1}`},
		{"N12 a deleted one comes back by a request", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"N12 a deleted one comes back by a request", "bob", "request", flagtest.RequestBody(`{"deleted":false}`), `{"id":2}`},
		{"N12 a deleted one comes back by a request", "bob", "applyrequest 2", ``, `{"state":"applied"}`},
		{"N12 a deleted one comes back by a request", "bob", "get 1", ``, `{"deleted":false}`},
		{"N12 of a flag that is gone for good", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"N12 of a flag that is gone for good", "bob", "create", `{"key":"a"}`, `{"id":2}`},
		{"N12 of a flag that is gone for good", "bob", "getrequest 1", ``, `{"flag":1,"flag_key":""}`},
		{"N12 of a flag that is gone for good", "bob", "applyrequest 1", ``, `409 conflict - The feature flag of the change request no longer exists.`},
		{"N12 of a flag that is gone for good", "bob", "withdraw 1", ``, `{"state":"withdrawn"}`},
	},
)

var requestListRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"N12", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":1}`},
	{"N12", "bob", "request", `{"flag":2,"patch":{"name":"x"}}`, `{"id":2}`},
	{"N12", "bob", "request", flagtest.RequestBody(`{"name":"y"}`), `{"id":3}`},
	{"N12", "cyd", "approve 3", `{"revision":1}`, `{"state":"approved"}`},
	{"N12", "cyd", "reject 1", `{"revision":1}`, `{"state":"rejected"}`},
	{"N12 newest first, all states", "bob", "requests", ``, `{"count":3,"ids":[3,2,1]}`},
	{"N12 those of ?state=", "bob", "requests", `{"States":["open"]}`, `{"count":1,"ids":[2]}`},
	{"N12 those of ?state=", "bob", "requests", `{"States":["approved"]}`, `{"count":1,"ids":[3]}`},
	{"N12 those of ?state=", "bob", "requests", `{"States":["rejected","withdrawn"]}`, `{"count":1,"ids":[1]}`},
	{"N12 those of ?state=", "bob", "requests", `{"States":["applied"]}`, `{"count":0,"ids":[]}`},
	{"N12 those of ?state=", "bob", "requests", `{"States":["done"]}`, `400 invalid_input state "done" is not one of open, approved, applied, rejected, withdrawn.`},
	{"N12 of a flag", "bob", "requests", `{"Flag":1}`, `{"count":2,"ids":[3,1]}`},
	{"N12 pages", "bob", "requests", `{"Limit":1,"Offset":1}`, `{"count":3,"ids":[2]}`},
	{"N12 another project's", "dan", "requests", ``, `{"count":0,"ids":[]}`},
}

// requestBoundRows prove that at most 500 requests may be open; closed requests do not count, until
// an edit opens them.
func requestBoundRows() []ruletest.Row {
	out := []ruletest.Row{
		flagtest.AFlag,
		{"N12", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":1}`},
		{"N12", "cyd", "reject 1", `{"revision":1}`, `{"state":"rejected"}`},
	}
	for i := range 500 {
		out = append(out, ruletest.Row{"N12", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), fmt.Sprintf(`{"id":%d}`, i+2)})
	}
	const tooMany = `400 invalid_input - A project may have at most 500 open change requests.`
	return append(out,
		ruletest.Row{"N12 a bound", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), tooMany},
		ruletest.Row{"N12 a bound", "bob", "editrequest 1", `{"title":"again"}`, tooMany},
		ruletest.Row{"N12 an open one", "bob", "editrequest 2", `{"title":"again"}`, `{"revision":2}`},
		ruletest.Row{"N12 a bound", "bob", "withdraw 7", ``, `{"state":"withdrawn"}`},
		ruletest.Row{"N12 a bound", "bob", "editrequest 1", `{"title":"again"}`, `{"state":"open","revision":2}`},
		ruletest.Row{"N12 a bound", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), tooMany},
		ruletest.Row{"N12 a bound", "bob", "withdraw 8", ``, `{"state":"withdrawn"}`},
		ruletest.Row{"N12 a bound", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"state":"open"}`},
	)
}
