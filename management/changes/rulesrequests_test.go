package changes_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// More rules of change requests: spec/console.md §2.4, N12, and J12.
func TestChangeRequests(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"log": requestLogRows, "editors": requestEditorRows, "votes change": voteChangeRows, "needed": requestNeededRows, "unprotected": requestUnprotectedRows, "fields": requestFieldRows,
		"conflicts": requestMoreConflictRows, "bounds": requestLengthRows, "closed": requestClosedRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			w.Run(t, requestCalls(t, w), rows)
		})
	}
}

func requestCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	calls := flagtest.RoomCalls(t, w)
	for name, call := range flagtest.ApprovalCalls(t, w) {
		calls[name] = call
	}
	calls["limit"] = func(_ flagtest.Scope, path, _ string) (any, error) { // the access of cyd to flag 1
		body := fmt.Sprintf(`{"access_level":%q,"organization_member":%q}`, path, w.Scope(t, "cyd").Memberships[0].ID)
		return w.SetControl(t.Context(), w.Scope(t, "ann"), "feature_flag", "1", ruletest.Body(t, body))
	}
	return calls
}

var requestLogRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "bob", "request", `{"flag":1,"note":"why","patch":{"name":"x"}}`, `{"id":1}`},
	{"J12 edited", "gus", "editrequest 1", `{"note":"because"}`, `{"revision":2,"note":"because","updated_at":"2026-01-02T12:00:03Z","created_at":"2026-01-02T12:00:02Z"}`},
	{"J12 edited", "ann", "log FeatureFlag 1", ``, `{"activity":"change_edited","user":{"email":"gus@example.com"},"detail":{"name":"a","change_request":1,"change_note":"because","changes":[]}}`},
	{"J12 rejected", "cyd", "reject 1", `{"revision":2}`, `{"state":"rejected","updated_at":"2026-01-02T12:00:05Z"}`},
	{"J12 rejected", "ann", "log FeatureFlag 1", ``, `{"activity":"change_rejected","user":{"email":"cyd@example.com"},"detail":{"change_request":1}}`},
	{"J12 opened again", "bob", "editrequest 1", `{"title":"please"}`, `{"state":"open","revision":3}`},
	{"J12 withdrawn", "gus", "withdraw 1", ``, `{"state":"withdrawn","revision":3}`},
	{"J12 withdrawn", "ann", "log FeatureFlag 1", ``, `{"activity":"change_withdrawn","user":{"email":"gus@example.com"},"detail":{"change_request":1}}`},
	{"N12 no version of the flag", "bob", "get 1", ``, `{"version":1}`},
	{"N12 applied by somebody else: written as the author", "bob", "request", `{"flag":1,"patch":{"name":"x"}}`, `{"id":2}`},
	{"N12 applied by somebody else: written as the author", "cyd", "approve 2", `{"revision":1}`, `{"state":"approved"}`},
	{"N12 applied by somebody else: written as the author", "gus", "applyrequest 2", ``, `{"state":"applied","votes":[{"user":"cyd@example.com"}]}`},
	{"N12 also when no approval was needed", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"email":"bob@example.com"},"detail":{"approved_by":["cyd@example.com"],"change_request":2}}`},
}

// N12: author and editors cannot approve any later revision.
var requestEditorRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":1}`, `{"needed":1}`},
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"editors":[]}`},
	{"N12", "bob", "editrequest 1", `{"title":"mine"}`, `{"revision":2,"editors":[]}`}, // the author is no editor
	{"N12", "gus", "editrequest 1", `{"title":"ours"}`, `{"revision":3,"editors":["gus@example.com"]}`},
	{"N12 once", "gus", "editrequest 1", `{"title":"all of ours"}`, `{"revision":4,"editors":["gus@example.com"]}`},
	{"N12", "cyd", "editrequest 1", `{"patch":` + flagtest.ShareOf(20) + `}`, `{"revision":5,"editors":["gus@example.com","cyd@example.com"]}`},
	{"N12 the author of what others have made of it", "bob", "approve 1", `{"revision":5}`, `403 own_change -`},
	{"N12 an editor of an earlier revision", "gus", "approve 1", `{"revision":5}`, `403 own_change -`},
	{"N12 before the revision", "gus", "approve 1", `{"revision":1}`, `403 own_change -`},
	{"N12 somebody else", "ann", "approve 1", `{"revision":5}`, `{"state":"approved"}`},
	{"N12 a rejection by the author is no approval", "bob", "reject 1", `{"revision":5}`, `{"state":"rejected"}`},
	{"N12 a refused edit makes nobody an editor", "bob", "editrequest 1", `{"title":"again"}`, `{"revision":6,"state":"open"}`},
	{"N12 a refused edit makes nobody an editor", "ann", "editrequest 1", `{"patch":{}}`, `400 invalid_input patch The patch is empty.`},
	{"N12 a refused edit makes nobody an editor", "ann", "approve 1", `{"revision":6}`, `{"state":"approved","editors":["gus@example.com","cyd@example.com"]}`},
}

var voteChangeRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":2}`, `{"needed":2}`},
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"id":1}`},
	{"N12", "cyd", "approve 1", `{"revision":1}`, `{"votes":[{"user":"cyd@example.com","vote":"approve"}]}`},
	{"N12 oldest first", "gus", "approve 1", `{"revision":1}`, `{"votes":[{"user":"cyd@example.com"},{"user":"gus@example.com"}],"state":"approved"}`},
	{"N12 a vote is replaced", "cyd", "reject 1", `{"revision":1}`, `{"state":"rejected","votes":[{"user":"gus@example.com","vote":"approve"},{"user":"cyd@example.com","vote":"reject"}]}`},
	{"N12 enough approvals do not help then", "bob", "applyrequest 1", ``, `409 conflict - The change request is rejected.`},
	{"N12 rejected before any approval", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(40)), `{"id":2}`},
	{"N12 rejected before any approval", "cyd", "reject 2", `{}`, `400 required revision This field is required.`},
	{"N12 rejected before any approval", "cyd", "reject 2", `{"revision":"x"}`, `400 invalid_input revision A valid integer is required.`},
	{"N12 rejected before any approval", "cyd", "reject 2", `{"revision":1}`, `{"state":"rejected"}`},
	{"N12 twice", "gus", "reject 2", `{"revision":1}`, `409 conflict - The change request is rejected.`},
}

// N12: as many approvals as the project needs when the request is read or applied.
var requestNeededRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":5}`, `{"needed":5}`},
	{"N12", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"needed":5,"state":"open"}`},
	{"N12", "cyd", "approve 1", `{"revision":1}`, `{"state":"open"}`},
	{"N12", "gus", "approve 1", `{"revision":1}`, `{"state":"open"}`},
	{"N12", "bob", "applyrequest 1", ``, `403 approval_required - The change request has 2 of the 5 approvals that it needs.`},
	{"N12 a refusal changes nothing", "bob", "get 1", ``, `{"version":1}`},
	{"N12 fewer", "ann", "approvals", `{"needed":2}`, `{"needed":2}`},
	{"N12 fewer", "bob", "getrequest 1", ``, `{"needed":2,"state":"approved"}`},
	{"N12 one more", "ann", "approvals", `{"needed":3}`, `{"needed":3}`},
	{"N12 one more", "bob", "requests", `{"States":["approved"]}`, `{"count":0,"ids":[]}`},
	{"N12 one more", "bob", "applyrequest 1", ``, `403 approval_required -`},
	{"N12 none", "ann", "approvals", `{"needed":0}`, `{"needed":0}`},
	{"N12 none", "bob", "applyrequest 1", ``, `{"state":"applied","needed":0}`},
}

var requestUnprotectedRows = []ruletest.Row{
	flagtest.AFlag,
	{"N12", "ann", "approvals", `{"needed":2,"tags":["prod"]}`, `{"tags":["prod"]}`},
	{"N12 a flag without the tag needs none", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(30)), `{"id":1}`},
	{"N12 a flag without the tag needs none", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 a request that adds the tag", "bob", "request", flagtest.RequestBody(`{"tags":["prod"]}`), `{"id":2}`},
	{"N12 a request that adds the tag", "bob", "applyrequest 2", ``, `{"state":"applied"}`},
	{"N12 and from then on", "bob", "request", flagtest.RequestBody(flagtest.ShareOf(40)), `{"id":3}`},
	{"N12 and from then on", "bob", "applyrequest 3", ``, `403 approval_required - The change request has 0 of the 2`},
	{"N12 what changes nothing that somebody gets: of a request all of it waits", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":4}`},
	{"N12 but it needs no request", "bob", "change 1", `{"name":"x"}`, `{"name":"x"}`},
	{"N12 switching off needs no request", "bob", "change 1", `{"active":false}`, `{"active":false}`},
}

// N12: a patch is the body of a PATCH of the flag, without the fields of the editing.
var requestFieldRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("N12 fields of the editing", "bob", "request",
		[2]string{flagtest.RequestBody(`{"original_flag":{}}`), `400 invalid_input patch__original_flag A change request cannot change this field.`},
		[2]string{flagtest.RequestBody(`{"change_note":"x"}`), `400 invalid_input patch__change_note`},
		[2]string{flagtest.RequestBody(`{"creation_context":"surveys"}`), `400 invalid_input patch__creation_context`},
		[2]string{flagtest.RequestBody(`{"_create_in_folder":"x"}`), `400 invalid_input patch___create_in_folder`},
		[2]string{flagtest.RequestBody(`{"_should_create_usage_dashboard":true}`), `400 invalid_input patch___should_create_usage_dashboard`},
		[2]string{flagtest.RequestBody(`{"version":1,"team_id":2,"name":"x","id":3,"key":"y"}`), `400 invalid_input patch__id`}, // the first by its name
		[2]string{flagtest.RequestBody(`{"created_by":null}`), `400 invalid_input patch__created_by`},
		[2]string{flagtest.RequestBody(`{"activ":true}`), `400 invalid_input patch__activ`},
		[2]string{flagtest.RequestBody(`{"deleted":"maybe"}`), `400 invalid_input patch__deleted Must be a valid boolean.`},
		[2]string{flagtest.RequestBody(`{"has_encrypted_payloads":true}`), `400 invalid_input patch__has_encrypted_payloads`},
		[2]string{flagtest.RequestBody(`{"tags":["a"],"evaluation_tags":["b"]}`), `400 invalid_input patch Evaluation tags must be a subset of tags.`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"N12 nothing of refusals stays", "bob", "requests", ``, `{"count":0,"ids":[]}`},
		{"N12 several fields", "bob", "request", flagtest.RequestBody(`{"name":"n","tags":["Prod "],"active":false,"evaluation_runtime":"server"}`), `{"id":1}`},
		{"N12 several fields", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
		{"N12 several fields", "bob", "get 1", ``, `{"version":2,"name":"n","tags":["prod"],"active":false,"evaluation_runtime":"server"}`},
		{"N12 an edit is checked, too", "bob", "request", flagtest.RequestBody(`{"name":"m"}`), `{"id":2}`},
		{"N12 an edit is checked, too", "bob", "editrequest 2", `{"patch":{"version":2}}`, `400 invalid_input patch__version`},
		{"N12 an edit is checked, too", "bob", "editrequest 2", `{"title":` + flagtest.Text(201) + `}`, `400 max_length title`},
		{"N12 also that of the words alone", "bob", "change 1", `{"key":"b"}`, `{"key":"b"}`},
		{"N12 also that of the words alone", "bob", "request", flagtest.RequestBody(`{"key":"c"}`), `{"id":3}`},
		{"N12 also that of the words alone", "bob", "create", `{"key":"c"}`, `{"id":2}`},
		{"N12 also that of the words alone", "bob", "editrequest 3", `{"title":"x"}`, `400 unique patch__key There is already a feature flag with this key.`},
		{"N12 a refusal changes nothing", "bob", "getrequest 3", ``, `{"revision":1,"title":"Half"}`},
		{"N12 applied twice at once", "bob", "applyrequest 1", ``, `409 conflict - The change request is applied.`},
	},
)

// N12: a field of the patch that differs from base_version is a conflict.
var requestMoreConflictRows = []ruletest.Row{
	{"N12", "bob", "create", `{"key":"a","name":"one","active":true}`, `{"version":1}`},
	{"N12 of two fields one has changed", "bob", "request", flagtest.RequestBody(`{"name":"three","active":false}`), `{"id":1}`},
	{"N12 of two fields one has changed", "cyd", "change 1", `{"name":"two"}`, `{"version":2}`},
	{"N12 of two fields one has changed", "bob", "applyrequest 1", ``, `409 conflict - The field name of the feature flag has changed since version 1,`},
	{"N12 nothing of it is written", "bob", "get 1", ``, `{"version":2,"name":"two","active":true}`},
	{"N12 it stays open", "bob", "getrequest 1", ``, `{"state":"open","base_version":1}`},
	{"N12 changed back", "cyd", "change 1", `{"name":"one"}`, `{"version":3}`},
	{"N12 changed back", "bob", "applyrequest 1", ``, `{"state":"applied"}`},
	{"N12 changed back", "bob", "get 1", ``, `{"version":4,"name":"three","active":false}`},
	{"N12 on an old version", "bob", "request", `{"flag":1,"base_version":1,"patch":{"active":true}}`, `{"id":2,"base_version":1}`},
	{"N12 on an old version", "bob", "applyrequest 2", ``, `409 conflict - The field active of the feature flag has changed since version 1,`},
	{"N12 on an old version", "bob", "request", `{"flag":1,"base_version":1,"patch":{"name":"four"}}`, `{"id":3,"base_version":1}`},
	{"N12 on an old version", "bob", "applyrequest 3", ``, `409 conflict - The field name of the feature flag has changed since version 1,`},
	{"N12 a rebase", "bob", "editrequest 3", `{"base_version":4}`, `{"base_version":4,"revision":2}`},
	{"N12 a rebase", "bob", "applyrequest 3", ``, `{"state":"applied"}`},
	{"N12 a rebase", "bob", "get 1", ``, `{"version":5,"name":"four"}`},
	{"N12 the version of a body is one of the flag", "bob", "request", `{"flag":1,"base_version":6,"patch":{"name":"x"}}`, `400 invalid_input base_version The feature flag has versions 1 to 5.`},
	{"N12 the version of a body is one of the flag", "bob", "request", `{"flag":1,"base_version":5,"patch":{"name":"x"}}`, `{"base_version":5}`},
}

var requestLengthRows = flagtest.Rows([]ruletest.Row{flagtest.AFlag}, flagtest.Each("console.md N12, N22", "bob", "request",
	[2]string{`{"flag":1,"patch":{"name":"x"},"title":` + flagtest.Text(200) + `,"note":` + flagtest.Text(500) + `}`, `{"title":` + flagtest.Text(200) + `,"note":` + flagtest.Text(500) + `}`},
	[2]string{`{"flag":1,"patch":{"name":"x"},"title":"","note":""}`, `{"title":"","note":""}`},
	[2]string{`{"flag":1,"patch":{"name":"x"},"title":null}`, `400 null title`},
	[2]string{`{"flag":"x","patch":{"name":"x"}}`, `400 invalid_input flag A valid integer is required.`},
	[2]string{`{"flag":1,"patch":{"name":"x"},"base_version":"x"}`, `400 invalid_input base_version A valid integer is required.`},
))

var requestClosedRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"N12", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":1}`},
		{"N12", "bob", "withdraw 1", ``, `{"state":"withdrawn"}`},
	},
	flagtest.Each("N12 withdrawn", "cyd", "approve 1", [2]string{`{"revision":1}`, `409 conflict - The change request is withdrawn.`}),
	flagtest.Each("N12 withdrawn", "cyd", "reject 1", [2]string{`{"revision":1}`, `409 conflict - The change request is withdrawn.`}),
	flagtest.Each("N12 withdrawn", "bob", "applyrequest 1", [2]string{``, `409 conflict - The change request is withdrawn.`}),
	flagtest.Each("N12 withdrawn", "bob", "withdraw 1", [2]string{``, `409 conflict - The change request is withdrawn.`}),
	[]ruletest.Row{
		{"N12 an editor withdraws too", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":2}`},
		{"N12 an editor withdraws too", "cyd", "withdraw 2", ``, `403 permission_denied -`},
		{"N12 an editor withdraws too", "cyd", "editrequest 2", `{"title":"y"}`, `{"editors":["cyd@example.com"]}`},
		{"N12 an editor withdraws too", "cyd", "withdraw 2", ``, `{"state":"withdrawn"}`},
		{"N12 rejected ones are closed", "bob", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":3}`},
		{"N12 rejected ones are closed", "cyd", "reject 3", `{"revision":1}`, `{"state":"rejected"}`},
		{"N12 rejected ones are closed", "bob", "withdraw 3", ``, `409 conflict - The change request is rejected.`},
	},
)

// management.md §1.8 and N12: who may not change a flag may not request a change, vote or apply. The
// author must still be allowed to make the change when it is applied.
func TestChangeRequests_Access(t *testing.T) {
	w := flagtest.New(t)
	w.Run(t, requestCalls(t, w), []ruletest.Row{
		flagtest.AFlag,
		{"§1.8", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"§1.8", "cyd", "request", flagtest.RequestBody(`{"name":"x"}`), `{"id":1,"author":"cyd@example.com"}`},
		{"§1.8", "cyd", "request", `{"flag":2,"patch":{"name":"x"}}`, `{"id":2}`},
		{"§1.8", "bob", "request", flagtest.RequestBody(`{"name":"y"}`), `{"id":3}`},
		{"§1.8 viewer", "-", "limit viewer", ``, `{"access_level":"viewer"}`},
		{"§1.8 viewer", "cyd", "getrequest 3", ``, `{"state":"open"}`},
		{"§1.8 viewer", "cyd", "approve 3", `{"revision":1}`, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "reject 3", `{"revision":1}`, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "applyrequest 3", ``, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "editrequest 3", `{"title":"x"}`, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "request", flagtest.RequestBody(`{"name":"z"}`), flagtest.MayNotEdit},
		{"§1.8 viewer: also that of one's own", "cyd", "withdraw 1", ``, flagtest.MayNotEdit},
		{"N12 the author may not change it any more", "bob", "applyrequest 1", ``, flagtest.MayNotEdit},
		{"N12 a refusal changes nothing", "bob", "getrequest 1", ``, `{"state":"open"}`},
		{"N12 a refusal changes nothing", "bob", "get 1", ``, `{"version":1}`},
		{"§1.8 none", "-", "limit none", ``, `{"access_level":"none"}`},
		{"§1.8 none", "cyd", "getrequest 3", ``, flagtest.MayNotView},
		{"§1.8 none", "cyd", "requests", ``, `{"count":1,"ids":[2]}`},
		{"§1.8 none", "cyd", "requests", `{"Flag":1}`, `{"count":0,"ids":[]}`},
		{"§1.8 none", "cyd", "requests", `{"States":["open"]}`, `{"count":1,"ids":[2]}`},
		{"§1.8 others see all", "bob", "requests", ``, `{"count":3,"ids":[3,2,1]}`},
		{"N12 another one's", "dan", "approve 3", `{"revision":1}`, `404 not_found - Not found.`},
		{"N12 another one's", "dan", "applyrequest 3", ``, `404 not_found - Not found.`},
		{"N12 another one's", "dan", "withdraw 3", ``, `404 not_found - Not found.`},
		{"N12 another one's", "dan", "editrequest 3", `{"title":"x"}`, `404 not_found - Not found.`},
	})
}

// N12: a vote or an apply is one transaction. After a fault of the store at any of its calls,
// the request, the flag and the log are as before.
func TestChangeRequests_Faults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"requests": requestRows[:19], "conflicts": requestConflictRows[:12]} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{After: -1}
			w := flagtest.FaultyWorld(t, faulty)
			w.RunFaulty(t, requestCalls(t, w), rows, memstore.ErrDisk, func(after int) bool {
				failed := faulty.Failed
				faulty.After, faulty.Failed = after, false
				return failed
			})
		})
	}
}
