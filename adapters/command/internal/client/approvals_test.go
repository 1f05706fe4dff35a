package client

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const (
	requestList    = "/api/projects/1/change_requests/"
	requestHeading = "REQUEST FLAG TITLE BY APPROVALS STATE REVISION\n"
	requestAnswer  = `{"id":7,"flag":3,"flag_key":"banner","base_version":2,"patch":{"active":false,"filters":{"groups":[{"rollout_percentage":50}]}},"title":"Half","note":"","author":"ben@example.com",
		"editors":[],"state":"open","revision":2,"votes":[{"user":"ann@example.com","vote":"approve","at":"T"}],"needed":2}`
	requestLine = requestHeading + "7 banner Half ben@example.com 1 of 2 open 2"
)

// The list of change requests: those that are open by default, of all states, and of one flag
// (console.md N12).
func TestApprovals_List(t *testing.T) {
	t.Parallel()
	const open = "GET " + requestList + "?state=open%2Capproved&limit=500&offset=0"
	const find = "GET /api/projects/1/feature_flags/?search=banner&limit=500&offset=0"
	ofFlag := "GET " + requestList + "?flag=3&limit=500&offset=0"
	deleted := `{"id":6,"flag":4,"flag_key":"","title":"","author":null,"state":"withdrawn","revision":1,"votes":null,"needed":1}`
	runCommandRows(t, []cli.Command{Approvals}, map[string]commandRow{
		"open": {args: []string{"approvals", "list"}, answers: map[string]string{open: cannedPage(requestAnswer)}, sent: []string{open}, stdout: requestLine},
		"of a flag, all states": {
			args: []string{"approvals", "list", "--state", "all", "--flag", "banner"}, answers: map[string]string{find: cannedPage(`{"id":3,"key":"banner"}`), ofFlag: cannedPage(requestAnswer, deleted)},
			sent: []string{find, ofFlag}, stdout: requestLine + "\n6 4 - - 0 of 1 withdrawn 1",
		},
		"no such state": {
			args: []string{"approvals", "list", "--state", "done"}, answers: map[string]string{"GET " + requestList + "?state=done&limit=500&offset=0": `400 {"detail":"\"done\" is not one of open, …"}`},
			sent: []string{"GET " + requestList + "?state=done&limit=500&offset=0"}, code: 1, stderr: `400: "done" is not one of`,
		},
	})
}

// A request is shown with the values that it changes in the version on which it is based, or, if
// that version is no longer stored, with its values alone.
func TestApprovals_Show(t *testing.T) {
	t.Parallel()
	const get, version = "GET " + requestList + "7/", "GET /api/projects/1/feature_flags/3/versions/2/"
	head := "REQUEST 7\nFLAG banner\nTITLE Half\nNOTE -\nBY ben@example.com\nEDITED BY -\nSTATE open\nREVISION 2\nAPPROVALS 1 of 2\nVOTES ann@example.com: approve, T\n"
	runCommandRows(t, []cli.Command{Approvals}, map[string]commandRow{
		"a diff": {
			args: []string{"approvals", "show", "7"}, answers: map[string]string{get: requestAnswer, version: `{"id":3,"active":true,"filters":{"groups":[{"rollout_percentage":10}]}}`},
			sent: []string{get, version}, stdout: head + "CHANGES active: true → false\nfilters.groups[0].rollout_percentage: 10 → 50",
		},
		"a version that is no longer stored": {
			args: []string{"approvals", "show", "7"}, answers: map[string]string{get: requestAnswer}, sent: []string{get, version},
			stdout: head + `CHANGES active: (none) → false` + "\n" + `filters: (none) → {"groups":[{"rollout_percentage":50}]}`,
		},
		"a version that may not be read": {args: []string{"approvals", "show", "7"}, answers: map[string]string{get: requestAnswer, version: `403 {"detail":"no"}`}, sent: []string{get, version}, code: 1, stderr: "403: no"},
		"as JSON":                        {args: []string{"approvals", "show", "7", "--json"}, answers: map[string]string{get: `{"id":7}`}, sent: []string{get}, stdout: "{\n\"id\": 7\n}"},
		"no such request":                {args: []string{"approvals", "show", "8"}, sent: []string{"GET " + requestList + "8/"}, code: 1, stderr: "404: Not found."},
	})
}

// A vote names the revision that was reviewed. Without it, the command must be confirmed.
func TestApprovals_Actions(t *testing.T) {
	t.Parallel()
	const get = "GET " + requestList + "7/"
	row := func(path, body string, args ...string) commandRow {
		request := "POST " + requestList + path
		return commandRow{args: append([]string{"approvals"}, args...), answers: map[string]string{request: requestAnswer}, sent: []string{request + " " + body}, stdout: requestLine, stderr: "in project 1 (Shop)\n"}
	}
	unseen := func(vote string) commandRow {
		post := "POST " + requestList + "7/" + vote + "/"
		return commandRow{args: []string{"approvals", vote, "7", "--yes"}, answers: map[string]string{get: requestAnswer, post: requestAnswer}, sent: []string{get, post + ` {"revision":2}`}, stdout: requestLine, stderr: "in project 1 (Shop)\n"}
	}
	unasked := func(vote, question string) commandRow {
		return commandRow{args: []string{"approvals", vote, "7"}, answers: map[string]string{get: requestAnswer}, sent: []string{get}, code: 2, stderr: "approvals: " + question + " in project 1 (Shop)? There is no terminal to confirm this: add --yes"}
	}
	changed := row("7/approve/", `{"revision":1}`, "approve", "7", "--revision", "1")
	changed.answers = map[string]string{strings.TrimSuffix(changed.sent[0], ` {"revision":1}`): `409 {"detail":"The change request has been edited in the meantime: review it again."}`}
	changed.code, changed.stdout, changed.stderr = 1, "", "409: The change request has been edited in the meantime"
	runCommandRows(t, []cli.Command{Approvals}, map[string]commandRow{
		"approve":            row("7/approve/", `{"revision":2}`, "approve", "7", "--revision", "2"),
		"approve unseen":     unseen("approve"),
		"approve unasked":    unasked("approve", "Approve revision 2 of the change request 7"),
		"approve, changed":   changed,
		"reject":             row("7/reject/", `{"revision":2}`, "reject", "7", "--revision", "2"),
		"reject unseen":      unseen("reject"),
		"reject unasked":     unasked("reject", "Reject revision 2 of the change request 7"),
		"apply":              row("7/apply/", `{}`, "apply", "7"),
		"withdraw":           row("7/withdraw/", `{}`, "withdraw", "7", "--yes"),
		"withdraw unasked":   {args: []string{"approvals", "withdraw", "7"}, code: 2, stderr: "approvals: Withdraw the change request 7 in project 1 (Shop)? There is no terminal"},
		"an id with a slash": row("7%2F..%2F8/apply/", `{}`, "apply", "7/../8"),
	})
}
