package organizations_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// site is the web site of the passkeys in tests.
var site = organizations.Site{Host: "flags.example.com", Origin: testURL}

// authenticators implements organizations.Authenticators without cryptography. An answer is a JSON
// object with the challenge, the id of the passkey, and the counter of the authenticator, which must
// be greater than the stored one.
type authenticators struct{ challenges int }

type passkeyAnswer struct {
	Challenge, ID string
	Counter       int
}

func (a *authenticators) challenge(owner organizations.PasskeyOwner) (*organizations.Challenge, error) {
	a.challenges++
	text := fmt.Sprint("challenge-", a.challenges)
	options := storage.Encode(map[string]any{"challenge": text, "user": owner.Email, "excluded": len(owner.Credentials)})
	return &organizations.Challenge{Text: text, Options: options, State: storage.Encode(text)}, nil
}

func (a *authenticators) BeginRegistration(_ organizations.Site, owner organizations.PasskeyOwner) (*organizations.Challenge, error) {
	return a.challenge(owner)
}

func (a *authenticators) BeginLogin(organizations.Site) (*organizations.Challenge, error) {
	return a.challenge(organizations.PasskeyOwner{})
}

func (*authenticators) ReadAnswer(answer json.RawMessage) (challenge, id string, err error) {
	var x passkeyAnswer
	if json.Unmarshal(answer, &x) != nil {
		return "", "", organizations.ErrPasskey
	}
	return x.Challenge, x.ID, nil
}

func (*authenticators) FinishRegistration(at organizations.Site, _ organizations.PasskeyOwner, state, answer json.RawMessage) (string, json.RawMessage, error) {
	x, err := checkAnswer(at, state, answer, 0)
	return x.ID, storage.Encode(x), err
}

func (*authenticators) FinishLogin(at organizations.Site, owner organizations.PasskeyOwner, state, answer json.RawMessage) (json.RawMessage, error) {
	var stored passkeyAnswer
	if err := json.Unmarshal(owner.Credentials[0], &stored); err != nil {
		return nil, err
	}
	x, err := checkAnswer(at, state, answer, stored.Counter)
	return storage.Encode(x), err
}

// checkAnswer accepts the answer to the challenge of state with a counter above a value.
func checkAnswer(at organizations.Site, state, answer json.RawMessage, above int) (x passkeyAnswer, err error) {
	if at != site {
		return x, fmt.Errorf("the site is %+v", at)
	}
	var challenge string
	if json.Unmarshal(state, &challenge) != nil || json.Unmarshal(answer, &x) != nil || x.Challenge != challenge || x.Counter <= above {
		err = organizations.ErrPasskey
	}
	return x, err
}

// each and rows are short names for the tables of this package.
var each, rows = ruletest.Each, slices.Concat[[]ruletest.Row]

// repeat returns n copies of some rows.
func repeat(n int, list ...ruletest.Row) (out []ruletest.Row) {
	for range n {
		out = append(out, list...)
	}
	return out
}

// newSignInWorld is newWorld with authenticators for passkeys.
func newSignInWorld(t *testing.T, mails bool) *world {
	w := newWorld(t, memstore.ExternalData{}, mails)
	w.Organizations.Authenticators = &authenticators{}
	return w
}

// runSignInTables runs each table in a newSignInWorld of its own.
func runSignInTables(t *testing.T, mails bool, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newSignInWorld(t, mails)
			w.Run(t, w.calls(t), rows)
		})
	}
}

// sessionScope returns the scope of the session of a token, or the scope of the row if the token is
// empty.
func (w *world) sessionScope(t *testing.T, scope callScope, token string) (callScope, error) {
	if token == "" {
		return scope, nil
	}
	c, err := w.Organizations.Sessions.Caller(t.Context(), token, true)
	if err == nil && c == nil {
		err = &management.Error{Kind: management.Unauthenticated, Code: "not_authenticated", Message: "There is no session."}
	}
	if err != nil {
		return nil, err
	}
	return c.GlobalScope(), nil
}

// sessionCall wraps a call so that its path starts with the token of a session; without a token the
// caller is the row's user.
func (w *world) sessionCall(t *testing.T, call func(scope callScope, path, b string) (any, error)) func(callScope, string, string) (any, error) {
	return func(scope callScope, path, b string) (any, error) {
		token, rest, _ := strings.Cut(path, " ")
		scope, err := w.sessionScope(t, scope, token)
		if err != nil {
			return nil, err
		}
		return call(scope, rest, b)
	}
}

// showCaller returns the response of calls that look up a session: null without one.
func showCaller(c *management.Caller, err error) (any, error) {
	if err != nil || c == nil {
		return nil, err
	}
	return map[string]any{"email": c.User.Email, "method": c.Session.Method, "scopes": c.Key.Scopes, "projects": c.Key.Projects, "seen": c.Session.Seen, "proven": c.Session.ProvenAt, "agent": c.Session.Agent, "key": c.Key.ID}, nil
}

func (w *world) sessionCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Sessions
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		// signin's path is the token of the browser's former session.
		"signin": func(_ callScope, path, b string) (any, error) {
			token, c, err := o.Begin(ctx, organizations.SignIn{Body: body(b), Address: "192.0.2.1", Agent: "Firefox", Token: path, Site: site})
			if err != nil {
				return nil, err
			}
			return map[string]any{"token": token, "email": c.User.Email, "method": c.Session.Method, "id": c.Session.ID}, nil
		},
		"sso": func(_ callScope, _, b string) (any, error) {
			var identity organizations.Identity
			ruletest.Read(t, b, &identity)
			token, _, err := o.Begin(ctx, organizations.SignIn{Identity: &identity})
			return map[string]any{"token": token}, err
		},
		"session": func(_ callScope, path, _ string) (any, error) { return showCaller(o.Caller(ctx, path, true)) },
		"peek":    func(_ callScope, path, _ string) (any, error) { return showCaller(o.Caller(ctx, path, false)) },
		"whoami":  w.sessionCall(t, func(scope callScope, _, _ string) (any, error) { return o.Whoami(ctx, scope.Caller) }),
		"prove": w.sessionCall(t, func(scope callScope, _, b string) (any, error) {
			token, _, err := o.Prove(ctx, scope.Caller, body(b), site)
			return map[string]any{"token": token}, err
		}),
		"signout": w.sessionCall(t, func(scope callScope, _, _ string) (any, error) { return nil, o.Delete(ctx, scope, "") }),
		"sessions": w.sessionCall(t, func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		}),
		"endsession": w.sessionCall(t, func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) }),
		"endothers":  w.sessionCall(t, func(scope callScope, _, _ string) (any, error) { return nil, o.EndOthers(ctx, scope) }),
		"ownerlink": func(_ callScope, path, b string) (any, error) {
			token, err := o.OwnerLink(ctx, path, "", b == "true")
			return map[string]any{"token": token}, err
		},
		"maillink":  func(_ callScope, path, _ string) (any, error) { return nil, o.MailLink(ctx, path, "") },
		"linkemail": func(_ callScope, _, b string) (any, error) { return o.LinkEmail(ctx, body(b)) },
		"changemyself": w.sessionCall(t, func(scope callScope, _, b string) (any, error) {
			return w.Organizations.Account.Update(ctx, scope, "", body(b), false)
		}),
		// levelby changes the level of a member of Organization.
		"levelby": w.sessionCall(t, func(scope callScope, path, b string) (any, error) {
			scope, err := w.Organization(ctx, scope.Caller, ours)
			if err != nil {
				return nil, err
			}
			return w.Organizations.Members.Update(ctx, scope, path, body(b), false)
		}),
		"signinvited": func(_ callScope, path, key string) (any, error) {
			token, _, err := o.Begin(ctx, organizations.SignIn{Joined: path, Key: key})
			return map[string]any{"token": token}, err
		},
	}
}

func (w *world) programCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Programs
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		// begin's path is the address of the program.
		"begin": func(_ callScope, path, b string) (any, error) {
			codes, err := o.Begin(ctx, body(b), cmp.Or(path, "192.0.2.1"))
			if err != nil {
				return nil, err
			}
			return map[string]any{"device": codes.Device, "code": codes.User}, nil
		},
		// fixedprogram stores a program with the code BCDF-GHJK.
		"fixedprogram": func(callScope, string, string) (any, error) {
			until := w.Clock.Add(10 * time.Minute)
			w.putRecords(t, management.Record{
				Kind: "program_sign_in", ID: "fixed", Sort: storage.SortTime(until), Unique: management.HashKey("BCDF-GHJK"), Data: []byte(`{"id":"fixed","client":"fixed"}`),
			})
			return nil, nil
		},
		"poll": func(_ callScope, path, _ string) (any, error) {
			return o.Poll(ctx, management.Body{Members: map[string]json.RawMessage{"device_code": storage.Encode(path)}})
		},
		"pollbody": func(_ callScope, _, b string) (any, error) { return o.Poll(ctx, body(b)) },
		"inspect":  w.sessionCall(t, func(scope callScope, _, b string) (any, error) { return o.Inspect(ctx, scope, body(b)) }),
		"deny":     w.sessionCall(t, func(scope callScope, _, b string) (any, error) { return nil, o.Deny(ctx, scope, body(b)) }),
		"authorize": w.sessionCall(t, func(scope callScope, _, b string) (any, error) {
			return o.Authorize(ctx, scope, body(b))
		}),
	}
}

func (w *world) passkeyCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Passkeys
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	// at returns the site of a path: that of the tests, or one without passkeys.
	at := func(path string) organizations.Site {
		if path == "elsewhere" {
			return organizations.Site{}
		}
		return site
	}
	return ruletest.Calls{
		"loginoptions": func(_ callScope, path, _ string) (any, error) { return o.Options(ctx, nil, at(path)) },
		"newoptions":   func(scope callScope, path, _ string) (any, error) { return o.Options(ctx, scope, at(path)) },
		"newpasskey":   func(scope callScope, path, b string) (any, error) { return o.Create(ctx, scope, at(path), body(b)) },
		"passkeys": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"renamepasskey": func(scope callScope, path, b string) (any, error) { return o.Update(ctx, scope, path, body(b), false) },
		"droppasskey":   func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) },
	}
}

// putRecords stores records, for limits that are expensive to reach by requests.
func (w *world) putRecords(t *testing.T, records ...management.Record) {
	t.Helper()
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for i := range records {
			if err := tx.Put(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
