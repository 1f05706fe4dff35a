package organizations_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

const testURL = "https://flags.example.com"

// world is a ruletest.World with a DNS and a mail server in memory.
type world struct {
	*ruletest.World
	dns     map[string][]string // TXT records by host
	dnsErr  error
	mails   []organizations.Mail
	refuses []error // results for the next mails, nil for success
	results []management.JobDone
}

// TXT implements organizations.Resolver.
func (w *world) TXT(_ context.Context, host string) ([]string, error) { return w.dns[host], w.dnsErr }

// Send implements organizations.Mailer.
func (w *world) Send(_ context.Context, m organizations.Mail) error {
	if len(w.refuses) > 0 {
		err := w.refuses[0]
		if w.refuses = w.refuses[1:]; err != nil {
			return err
		}
	}
	w.mails = append(w.mails, m)
	return nil
}

// newWorld returns a world with a DNS. If mails is true, it has a mail server too.
func newWorld(t *testing.T, outside memstore.ExternalData, mails bool) *world {
	return newWorldOn(t, memstore.New(outside), mails)
}

// newWorldOn is newWorld on a store.
func newWorldOn(t *testing.T, store rooms.Store, mails bool) *world {
	w := &world{dns: map[string][]string{}}
	w.World = ruletest.New(t, store, func(c *rooms.Config) {
		c.Resolver, c.JobDone = w, func(d management.JobDone) { w.results = append(w.results, d) }
		if mails {
			c.Mailer, c.SiteURL = w, testURL
		}
	})
	w.Keys["own"] = management.KeyRecord{ID: "own", Scopes: []string{"*"}} // an unrestricted personal key
	return w
}

// runAllTables runs each table in a world of its own.
func runAllTables(t *testing.T, mails bool, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, mails)
			w.Run(t, w.calls(t), rows)
		})
	}
}

type callScope = *management.Scope

// pageIn reads a page from JSON; by default it is the first page of DefaultPage items.
func pageIn(t *testing.T, text string) management.Page {
	p := management.Page{Limit: ruletest.DefaultPage}
	ruletest.Read(t, text, &p)
	return p
}

func (w *world) calls(t *testing.T) ruletest.Calls {
	calls := ruletest.Calls{}
	for _, group := range []ruletest.Calls{w.memberCalls(t), w.inviteCalls(t), w.domainCalls(t), w.roleCalls(t), w.projectCalls(t), w.accountCalls(t), w.organizationCalls(t), w.sessionCalls(t), w.programCalls(t), w.passkeyCalls(t)} {
		for name, call := range group {
			calls[name] = call
		}
	}
	return calls
}

func (w *world) memberCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Members
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"members": func(scope callScope, _, b string) (any, error) {
			q := organizations.MemberQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(o.List(ctx, scope, q))
		},
		"level":      func(scope callScope, path, b string) (any, error) { return o.Update(ctx, scope, path, body(b), false) },
		"leave":      func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) },
		"memberkeys": func(scope callScope, path, _ string) (any, error) { return o.Keys(ctx, scope, path) },
	}
}

func (w *world) inviteCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Invites
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	// A link is passed as its secret, with or without a caller.
	secret := func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		if secretParam := u.Query().Get("secret"); secretParam != "" {
			return secretParam
		}
		return link
	}
	caller := func(scope callScope) *management.Caller {
		if scope == nil {
			return nil
		}
		return scope.Caller
	}
	return ruletest.Calls{
		"invite": func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope, "https://here", body(b)) },
		"bulk": func(scope callScope, _, b string) (any, error) {
			return o.CreateBulk(ctx, scope, "https://here", body(b))
		},
		"invites": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"uninvite": func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) },
		"look": func(scope callScope, path, _ string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Inspect(ctx, caller(scope), id, secret(link))
		},
		"form": func(_ callScope, path, _ string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Form(ctx, id, secret(link))
		},
		"accept": func(scope callScope, path, b string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Accept(ctx, caller(scope), "https://here", id, secret(link), body(b))
		},
		"deliver": func(callScope, string, string) (any, error) { return w.deliver(t) },
		// refuse sets the mail server's result for the next mail.
		"refuse": func(_ callScope, path, _ string) (any, error) {
			err := errors.New(path)
			if path == "for good" {
				err = organizations.ErrMailRejected
			}
			w.refuses = append(w.refuses, err)
			return nil, nil
		},
	}
}

// deliver sends the due mails and returns the recipients, the link and text of the last mail, and
// when to deliver next.
func (w *world) deliver(t *testing.T) (any, error) {
	w.mails = nil
	next, failed := w.Organizations.Mails.Deliver(t.Context())
	out := map[string]any{"to": "", "next": management.NewStamp(next), "failed": ""}
	if failed != nil {
		out["failed"] = failed.Error()
	}
	var to []string
	for _, m := range w.mails {
		to = append(to, m.To)
		out["subject"], out["text"], out["html"], out["id"] = m.Subject, m.Text, m.HTML, m.ID
		for word := range strings.FieldsSeq(m.Text) {
			if strings.Contains(word, "?secret=") {
				out["link"] = word
			}
			if _, token, ok := strings.Cut(word, "/console/sign-in#"); ok {
				out["token"] = token
			}
		}
	}
	out["to"] = strings.Join(to, " ")
	return out, nil
}

func (w *world) domainCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Domains
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"domain": func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope, body(b)) },
		"domains": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"getdomain":    func(scope callScope, path, _ string) (any, error) { return o.Get(ctx, scope, path) },
		"changedomain": func(scope callScope, path, b string) (any, error) { return o.Update(ctx, scope, path, body(b), false) },
		"putdomain":    func(scope callScope, path, b string) (any, error) { return o.Update(ctx, scope, path, body(b), true) },
		"dropdomain":   func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) },
		"verify":       func(scope callScope, path, _ string) (any, error) { return o.Verify(ctx, scope, path) },
		// dns sets the TXT records of a host, and breaks and repairs the DNS.
		"dns": func(_ callScope, path, _ string) (any, error) {
			words := strings.Fields(path)
			w.dns[words[0]] = words[1:]
			return nil, nil
		},
		"nodns": func(_ callScope, path, _ string) (any, error) {
			if w.dnsErr = nil; path != "" {
				w.dnsErr = errors.New(path)
			}
			return nil, nil
		},
	}
}

func (w *world) roleCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Roles
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"role": func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope, body(b)) },
		"roles": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"getrole": func(scope callScope, path, _ string) (any, error) { return o.Get(ctx, scope, path) },
		"changerole": func(scope callScope, path, b string) (any, error) {
			return o.Update(ctx, scope, path, body(b), false)
		},
		"putrole": func(scope callScope, path, b string) (any, error) {
			return o.Update(ctx, scope, path, body(b), true)
		},
		"droprole": func(scope callScope, path, _ string) (any, error) { return nil, o.Delete(ctx, scope, path) },
		"join":     func(scope callScope, path, b string) (any, error) { return o.Members(path).Create(ctx, scope, body(b)) },
		// otherrole creates a role with the caller in the caller's second organization, or without
		// a body returns it.
		"otherrole": func(scope callScope, _, b string) (any, error) {
			otherScope, err := w.Organization(ctx, scope.Caller, scope.Memberships[len(scope.Memberships)-1].Organization)
			if err != nil {
				return nil, err
			}
			if b != "" {
				created, err := o.Create(ctx, otherScope, body(b))
				if err != nil {
					return nil, err
				}
				if _, err := o.Members(created.ID).Create(ctx, otherScope, body(`{"user_uuid":"`+scope.User.UUID+`"}`)); err != nil {
					return nil, err
				}
			}
			list, err := o.List(ctx, otherScope, management.Page{Limit: 1})
			if err != nil || len(list.Results) == 0 {
				return nil, err
			}
			return list.Results[0], nil
		},
		"places": func(scope callScope, path, b string) (any, error) {
			return ruletest.List(o.Members(path).List(ctx, scope, pageIn(t, b)))
		},
		"place": func(scope callScope, path, _ string) (any, error) {
			role, id, _ := strings.Cut(path, " ")
			return o.Members(role).Get(ctx, scope, id)
		},
		"quit": func(scope callScope, path, _ string) (any, error) {
			role, id, _ := strings.Cut(path, " ")
			return nil, o.Members(role).Delete(ctx, scope, id)
		},
	}
}

func (w *world) projectCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Projects
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	// inProject wraps a call so that its path starts with the number of a project.
	inProject := func(call func(scope callScope, path, b string) (any, error)) func(callScope, string, string) (any, error) {
		return func(scope callScope, path, b string) (any, error) {
			if path != "" {
				var err error
				if scope, err = w.Project(ctx, scope.Caller, path); err != nil {
					return nil, err
				}
			}
			return call(scope, path, b)
		}
	}
	return ruletest.Calls{
		"projects": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"everyproject": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope.GlobalScope(), pageIn(t, b)))
		},
		"newproject":         func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope, body(b)) },
		"newprojectanywhere": func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope.GlobalScope(), body(b)) },
		"project":            inProject(func(scope callScope, _, _ string) (any, error) { return o.Get(ctx, scope, "") }),
		"changeproject":      inProject(func(scope callScope, _, b string) (any, error) { return o.Update(ctx, scope, "", body(b), false) }),
		"dropproject":        inProject(func(scope callScope, _, _ string) (any, error) { return nil, o.Delete(ctx, scope, "") }),
		"resettoken":         inProject(func(scope callScope, _, _ string) (any, error) { return o.ResetToken(ctx, scope, "") }),
		"rotate":             inProject(func(scope callScope, _, _ string) (any, error) { return o.RotateSecret(ctx, scope, "") }),
		"dropbackup":         inProject(func(scope callScope, _, _ string) (any, error) { return o.DeleteSecretBackup(ctx, scope, "") }),
		"move":               inProject(func(scope callScope, _, b string) (any, error) { return o.Move(ctx, scope, "", body(b)) }),
		"labels": func(scope callScope, _, _ string) (any, error) {
			return w.Organizations.GroupTypeLabels(ctx, scope.Project.ID)
		},
		"label": func(scope callScope, _, b string) (any, error) {
			return w.Organizations.LabelGroupTypes(ctx, scope.Project.ID, body(b).Array)
		},
		// opensproject returns the project that a secret key opens, or 0.
		"opensproject": func(_ callScope, path, _ string) (id any, err error) {
			return id, w.Store.Read(ctx, func(tx rooms.Tx) error {
				id = int64(0)
				k, err := tx.Key(management.HashKey(path))
				if err == nil && k != nil && k.Secret {
					id = k.Projects[0]
				}
				return err
			})
		},
		// browser returns the browser settings of a project.
		"browser": func(scope callScope, _, _ string) (any, error) { return scope.Project.Browser, nil },
	}
}

func (w *world) accountCalls(t *testing.T) ruletest.Calls {
	ctx, o, k := t.Context(), w.Organizations.Account, w.Organizations.Keys
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"me":       func(scope callScope, _, _ string) (any, error) { return o.Get(ctx, scope, "") },
		"changeme": func(scope callScope, _, b string) (any, error) { return o.Update(ctx, scope, "", body(b), false) },
		"dropme":   func(scope callScope, _, _ string) (any, error) { return nil, o.Delete(ctx, scope, "") },
		"keys": func(scope callScope, _, _ string) (any, error) {
			list, err := k.List(ctx, scope, management.Page{})
			return list.Results, err
		},
		"key":    func(scope callScope, path, _ string) (any, error) { return k.Get(ctx, scope, path) },
		"newkey": func(scope callScope, _, b string) (any, error) { return k.Create(ctx, scope, body(b)) },
		"changekey": func(scope callScope, path, b string) (any, error) {
			return k.Update(ctx, scope, path, body(b), false)
		},
		"putkey": func(scope callScope, path, b string) (any, error) {
			return k.Update(ctx, scope, path, body(b), true)
		},
		"rollkey": func(scope callScope, path, _ string) (any, error) { return k.Roll(ctx, scope, path) },
		"dropkey": func(scope callScope, path, _ string) (any, error) { return nil, k.Delete(ctx, scope, path) },
		"confirm": func(_ callScope, path, _ string) (any, error) {
			user, link, _ := strings.Cut(path, " ")
			u, err := url.Parse(link)
			if err != nil {
				return nil, err
			}
			return o.Confirm(ctx, user, u.Query().Get("secret"))
		},
		// whose returns the user of a key, and when it was last used.
		"whose": func(_ callScope, path, _ string) (any, error) {
			c, err := w.Authenticate(ctx, path, "Authorization header")
			if err != nil {
				return nil, err
			}
			return map[string]any{"first_name": c.User.FirstName, "level": c.Level(ruletest.Organization), "scopes": c.Key.Scopes}, nil
		},
	}
}

func (w *world) organizationCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"organization": func(scope callScope, _, _ string) (any, error) { return o.Get(ctx, scope, "") },
		"organizations": func(scope callScope, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, scope, pageIn(t, b)))
		},
		"neworganization":    func(scope callScope, _, b string) (any, error) { return o.Create(ctx, scope, body(b)) },
		"changeorganization": func(scope callScope, _, b string) (any, error) { return o.Update(ctx, scope, "", body(b), false) },
		"putorganization":    func(scope callScope, _, b string) (any, error) { return o.Update(ctx, scope, "", body(b), true) },
		"close":              func(scope callScope, _, _ string) (any, error) { return nil, o.Delete(ctx, scope, "") },
		"usage":              func(scope callScope, _, _ string) (any, error) { return o.Usage(ctx, scope) },
		"maycopy":            func(scope callScope, _, _ string) (any, error) { return nil, o.CheckBackupAccess(ctx, scope.Caller) },
		// enter returns the organization or project that a path names for the caller.
		"enter": func(scope callScope, path, _ string) (any, error) {
			found, err := w.Organization(ctx, scope.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": found.Organization.Name, "level": found.Level}, nil
		},
		"own": func(scope callScope, path, _ string) (any, error) {
			found, err := w.VisibleOrganization(ctx, scope.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": found.Organization.Name, "level": found.Level}, nil
		},
		"enterproject": func(scope callScope, path, _ string) (any, error) {
			found, err := w.Project(ctx, scope.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": found.Project.Name}, nil
		},
		"setuser": func(_ callScope, path, members string) (any, error) { return nil, w.setUser(t, path, members) },
	}
}

// setUser changes members of a stored user.
func (w *world) setUser(t *testing.T, name, members string) error {
	return w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		u, err := management.UserByUUID(tx, ruletest.UUID(name))
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(members), u); err != nil {
			return err
		}
		return records.PutUser(tx, u)
	})
}

// days returns a number of days in the form of the call wait.
func days(n int) string { return (time.Duration(n) * 24 * time.Hour).String() }
