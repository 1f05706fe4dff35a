package organizations_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// If any call of the store fails, the request fails with that error and changes no data: repeating
// it has the same result as without the failure.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"account": currentRows, "addresses": addressRows, "deleted users": deleteMeRows, "keys": keyRows, "rolled keys": rollRows, "log of keys": keyLogRows,
		"domains": changeDomainRows, "verification": verifyRows, "claims": claimRows,
		"replaced invitations": replaceRows, "combined invitations": combineRows, "cancelled invitations": uninviteRows, "bulk": bulkRows[:12],
		"new accounts": signUpRows, "accounts that join": joinRows, "siblings": siblingRows, "access by invitation": acceptAccessRows, "enforced sign-on": ssoRows,
		"levels": levelRows, "leaving": leavingRows, "lists of members": memberListRows, "roles": roleRows, "members of roles": placeRows, "default role": defaultRoleRows,
		"organizations": organizationRows, "new organizations": newOrganizationRows, "closed organizations": closeRows, "quotas": quotaRows, "places": enterRows,
		"projects": projectRows, "new projects": newProjectRows, "keys of projects": projectLevelRows, "lists of projects": projectListRows, "moved projects": moveRows, "deleted projects": deleteProjectRows,
		"sign-in": signInRows, "links": linkRows, "links at the start": ownerLinkRows, "new tokens": newTokenRows, "proofs": proofRows, "sessions of keys": endedKeyRows,
		"lists of sessions": sessionListRows, "whoami": whoamiRows, "invited": invitedSessionRows,
		"programs": consentRows, "refused programs": denyRows, "unclaimed keys": unclaimedKeyRows, "users of programs": programUserRows,
		"passkeys": addPasskeyRows[:10], "sign-in with passkeys": passkeySignInRows, "lists of passkeys": passkeyListRows,
		"providers": firstUseRows, "other accounts": otherAccountRows, "provisioned": provisionRows, "provisioned by invitation": provisionInviteRows,
	} {
		t.Run(name, func(t *testing.T) {
			runFaulty(t, func(w *world) ruletest.Calls { return w.calls(t) }, rows)
		})
	}
	t.Run("names", func(t *testing.T) {
		runFaulty(t, func(w *world) ruletest.Calls { return w.nameCalls(t) }, rows(nameRows, forgetRows))
	})
}

// runFaulty runs rows in a new world with a failing store.
func runFaulty(t *testing.T, calls func(w *world) ruletest.Calls, rows []ruletest.Row) {
	t.Helper()
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	w := newWorldOn(t, faulty, false)
	browser, table := &authenticators{}, calls(w)
	w.Organizations.Authenticators = browser
	for _, name := range []string{"newoptions", "loginoptions"} {
		call := table[name]
		// A repeated request gets the challenge with the same number.
		table[name] = func(scope callScope, path, b string) (any, error) {
			before := browser.challenges
			out, err := call(scope, path, b)
			if err != nil {
				browser.challenges = before
			}
			return out, err
		}
	}
	w.RunFaulty(t, table, rows, memstore.ErrDisk, failing(faulty))
}

// failing returns the function that RunFaulty needs.
func failing(faulty *memstore.Faulty) func(after int) bool {
	return func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	}
}

// The requests that queue mails are atomic as well.
func TestFaults_Mails(t *testing.T) {
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	w := newWorldOn(t, faulty, true)
	calls := w.calls(t)
	w.RunFaulty(t, calls, []ruletest.Row{
		{"§4.5", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`},
		{"§4.5", "bob", "bulk", people(2), people(2)},
		{"§4.5", "bob", "invite => in", `{"target_email":"b@example.com","send_email":false}`, `{"level":1}`},
		{"§4.5", "-", "accept <in> <in.accept_url>", `{"first_name":"B"}`, `{"first_name":"B"}`},
		{"§1.9", "bob", "changeme", `{"email":"new@example.com"}`, `{"pending_email":"new@example.com"}`},
		{"console §5.2", "-", "maillink cyd@example.com", ``, `null`},
	}, memstore.ErrDisk, failing(faulty))
	// Three invitations, five mails about the new member, a confirmation and a link.
	if n, _, err := w.Organizations.Mails.Backlog(t.Context()); n != 10 || err != nil {
		t.Errorf("%d mails, %v, want 10", n, err)
	}
	w.Run(t, calls, []ruletest.Row{{"§4.5", "-", "deliver => mail", ``, `{"failed":"","next":null}`}})
	if len(w.mails) != 10 {
		t.Errorf("%d mails were sent, want 10", len(w.mails))
	}
}

// A failure of the store while mails are sent is reported, and no mail is lost.
func TestFaults_Delivery(t *testing.T) {
	for after := range 14 {
		faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
		w := newWorldOn(t, faulty, true)
		calls := w.calls(t)
		w.Run(t, calls, []ruletest.Row{{"§4.5", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`}})
		faulty.After = after
		next, err := w.Organizations.Mails.Deliver(t.Context())
		failed := faulty.Failed
		faulty.After, faulty.Failed = -1, false
		if failed != errors.Is(err, memstore.ErrDisk) || failed && !next.After(w.Clock) {
			t.Fatalf("after %d calls the store has failed: %v, but Deliver returns %v, %v", after, failed, next, err)
		}
		if !failed {
			return // each call has failed in an earlier iteration
		}
		// A mail that was sent may be repeated, since its success is not recorded.
		sent := w.mails
		w.Run(t, calls, []ruletest.Row{{"", "-", "wait 2m", ``, `null`}, {"decision 22", "-", "deliver", ``, `{"failed":"","next":null}`}})
		if sent = append(sent, w.mails...); len(sent) != 1 && len(sent) != 2 {
			t.Fatalf("after %d calls: %d mails", after, len(sent))
		}
		last := sent[len(sent)-1]
		_, secret, _ := strings.Cut(last.Text, "?secret=")
		secret, _, _ = strings.Cut(secret, "\n")
		if _, err := w.Organizations.Invites.Form(t.Context(), last.ID, secret); err != nil || sent[0].ID != last.ID {
			t.Errorf("after %d calls: the link of the last mail: %v", after, err)
		}
	}
	t.Error("Deliver uses more than 14 calls of the store")
}

// If the store fails while a server starts, the next start has the full result.
func TestFaults_Start(t *testing.T) {
	var displayed []string
	adoption := organizations.Adoption{Email: "o@example.com", Key: func() (string, func(string) error, error) {
		return "", func(key string) error { displayed = append(displayed, key); return nil }, nil
	}}
	for after := 0; ; after++ {
		faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
		r, err := rooms.Open(rooms.Config{Store: faulty})
		if err != nil {
			t.Fatal(err)
		}
		err = faulty.Write(t.Context(), func(tx rooms.Tx) error {
			return errors.Join(
				tx.PutOrganization(organization(ours, "Ours")), tx.PutOrganization(organization(theirs, "Theirs")), tx.PutProject(&management.ProjectRecord{ID: 1, Organization: ours, APIKey: "phc_1"}),
				tx.PutKey(&management.KeyRecord{Hash: management.HashKey("phx_file"), Scopes: []string{"*"}, Projects: []int64{7, 1}, Origin: "demo.json"}),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		displayed, faulty.After, faulty.Failed = nil, after, false
		err = r.Organizations.Adopt(t.Context(), adoption)
		if failed := faulty.Failed; failed != errors.Is(err, memstore.ErrDisk) || failed && len(displayed) > 0 {
			t.Fatalf("after %d calls the store has failed: %v, but Adopt returns %v and shows %d keys", after, failed, err, len(displayed))
		}
		if err == nil {
			break
		}
		faulty.After = -1
		if err := r.Organizations.Adopt(t.Context(), adoption); err != nil || len(displayed) != 1 {
			t.Fatalf("the next start after call %d: %v, %d keys", after, err, len(displayed))
		}
		if c, err := r.Authenticate(t.Context(), "phx_file", "test"); err != nil || c.User.Email != "o@example.com" {
			t.Errorf("the key of the file: %+v, %v", c, err)
		}
	}
}
