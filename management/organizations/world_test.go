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
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// world is a World with a DNS and a mail server, both in memory.
type world struct {
	*ruletest.World
	dns     map[string][]string // TXT records by host
	noDNS   error
	mails   []organizations.Mail
	refuses []error // what the next mails are answered, nil for those that are taken
	done    []management.JobDone
}

// TXT implements organizations.Resolver.
func (w *world) TXT(_ context.Context, host string) ([]string, error) { return w.dns[host], w.noDNS }

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

// newWorld is a World with a DNS; mails: it has a mail server too.
func newWorld(t *testing.T, outside memstore.Outside, mails bool) *world {
	w := &world{dns: map[string][]string{}}
	w.World = ruletest.New(t, memstore.New(outside), func(c *rooms.Config) {
		c.Resolver, c.JobDone = w, func(d management.JobDone) { w.done = append(w.done, d) }
		if mails {
			c.Mailer, c.SiteURL = w, deskURL
		}
	})
	w.Keys["own"] = management.KeyRecord{ID: "own", Scopes: []string{"*"}} // a personal key that opens everything
	return w
}

// askAll asks each table in a world of its own.
func askAll(t *testing.T, mails bool, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.Outside{}, mails)
			w.Ask(t, w.calls(t), rows)
		})
	}
}

type standing = *management.Standing

// pageIn is a page of a list, the first of the usual length where nothing is said.
func pageIn(t *testing.T, text string) management.Page {
	p := management.Page{Limit: management.DefaultPage}
	ruletest.Read(t, text, &p)
	return p
}

func (w *world) calls(t *testing.T) ruletest.Calls {
	calls := ruletest.Calls{}
	for _, some := range []ruletest.Calls{w.memberCalls(t), w.inviteCalls(t), w.domainCalls(t), w.roleCalls(t), w.projectCalls(t), w.accountCalls(t), w.organizationCalls(t)} {
		for name, call := range some {
			calls[name] = call
		}
	}
	return calls
}

func (w *world) memberCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Members
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"members": func(st standing, _, b string) (any, error) {
			q := organizations.MemberQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(o.List(ctx, st, q))
		},
		"level":      func(st standing, path, b string) (any, error) { return o.Update(ctx, st, path, body(b)) },
		"leave":      func(st standing, path, _ string) (any, error) { return nil, o.Delete(ctx, st, path) },
		"memberkeys": func(st standing, path, _ string) (any, error) { return o.Keys(ctx, st, path) },
	}
}

func (w *world) inviteCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Invites
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	// A link is its secret; who asks is nobody or a caller.
	secret := func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		if given := u.Query().Get("secret"); given != "" {
			return given
		}
		return link
	}
	caller := func(st standing) *management.Caller {
		if st == nil {
			return nil
		}
		return st.Caller
	}
	return ruletest.Calls{
		"invite":   func(st standing, _, b string) (any, error) { return o.Create(ctx, st, "https://here", body(b)) },
		"bulk":     func(st standing, _, b string) (any, error) { return o.CreateBulk(ctx, st, "https://here", body(b)) },
		"invites":  func(st standing, _, b string) (any, error) { return ruletest.List(o.List(ctx, st, pageIn(t, b))) },
		"uninvite": func(st standing, path, _ string) (any, error) { return nil, o.Delete(ctx, st, path) },
		"look": func(st standing, path, _ string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Look(ctx, caller(st), id, secret(link))
		},
		"describe": func(_ standing, path, _ string) (any, error) { return o.Describe(ctx, path) },
		"opens": func(_ standing, path, _ string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Opens(ctx, id, secret(link))
		},
		"accept": func(st standing, path, b string) (any, error) {
			id, link, _ := strings.Cut(path, " ")
			return o.Accept(ctx, caller(st), "https://here", id, secret(link), body(b))
		},
		"deliver": func(standing, string, string) (any, error) { return w.deliver(t) },
		// refuse makes the mail server answer the next mail so.
		"refuse": func(_ standing, path, _ string) (any, error) {
			err := errors.New(path)
			if path == "for good" {
				err = organizations.ErrMailRefused
			}
			w.refuses = append(w.refuses, err)
			return nil, nil
		},
	}
}

// deliver sends what is due: to whom, the link of the last one and its words, and when to
// come again.
func (w *world) deliver(t *testing.T) (any, error) {
	w.mails = nil
	next, failed := w.Organizations.DeliverMail(t.Context())
	out := map[string]any{"to": "", "next": management.At(next), "failed": ""}
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
		}
	}
	out["to"] = strings.Join(to, " ")
	return out, nil
}

func (w *world) domainCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Domains
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"domain":       func(st standing, _, b string) (any, error) { return o.Create(ctx, st, body(b)) },
		"domains":      func(st standing, _, b string) (any, error) { return ruletest.List(o.List(ctx, st, pageIn(t, b))) },
		"getdomain":    func(st standing, path, _ string) (any, error) { return o.Get(ctx, st, path) },
		"changedomain": func(st standing, path, b string) (any, error) { return o.Update(ctx, st, path, body(b), false) },
		"putdomain":    func(st standing, path, b string) (any, error) { return o.Update(ctx, st, path, body(b), true) },
		"dropdomain":   func(st standing, path, _ string) (any, error) { return nil, o.Delete(ctx, st, path) },
		"verify":       func(st standing, path, _ string) (any, error) { return o.Verify(ctx, st, path) },
		// dns puts the TXT records of a host, breaks and mends the DNS.
		"dns": func(_ standing, path, _ string) (any, error) {
			words := strings.Fields(path)
			w.dns[words[0]] = words[1:]
			return nil, nil
		},
		"nodns": func(_ standing, path, _ string) (any, error) {
			if w.noDNS = nil; path != "" {
				w.noDNS = errors.New(path)
			}
			return nil, nil
		},
	}
}

func (w *world) roleCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"role":       func(st standing, _, b string) (any, error) { return o.CreateRole(ctx, st, body(b)) },
		"roles":      func(st standing, _, b string) (any, error) { return ruletest.List(o.Roles(ctx, st, pageIn(t, b))) },
		"getrole":    func(st standing, path, _ string) (any, error) { return o.Role(ctx, st, path) },
		"changerole": func(st standing, path, b string) (any, error) { return o.UpdateRole(ctx, st, path, body(b), false) },
		"putrole":    func(st standing, path, b string) (any, error) { return o.UpdateRole(ctx, st, path, body(b), true) },
		"droprole":   func(st standing, path, _ string) (any, error) { return nil, o.DeleteRole(ctx, st, path) },
		"join":       func(st standing, path, b string) (any, error) { return o.JoinRole(ctx, st, path, body(b)) },
		// otherrole makes a role in the caller's second organization with the caller in it, and
		// without a body reads it.
		"otherrole": func(st standing, _, b string) (any, error) {
			there, err := w.OrganizationNamed(ctx, st.Caller, st.Memberships[len(st.Memberships)-1].Organization)
			if err != nil {
				return nil, err
			}
			if b != "" {
				made, err := o.CreateRole(ctx, there, body(b))
				if err != nil {
					return nil, err
				}
				if _, err := o.JoinRole(ctx, there, made.ID, body(`{"user_uuid":"`+st.User.UUID+`"}`)); err != nil {
					return nil, err
				}
			}
			list, err := o.Roles(ctx, there, management.Page{Limit: 1})
			if err != nil || len(list.Results) == 0 {
				return nil, err
			}
			return list.Results[0], nil
		},
		"places": func(st standing, path, b string) (any, error) {
			return ruletest.List(o.RoleMembers(ctx, st, path, pageIn(t, b)))
		},
		"place": func(st standing, path, _ string) (any, error) {
			role, id, _ := strings.Cut(path, " ")
			return o.RoleMember(ctx, st, role, id)
		},
		"quit": func(st standing, path, _ string) (any, error) {
			role, id, _ := strings.Cut(path, " ")
			return nil, o.LeaveRole(ctx, st, role, id)
		},
	}
}

func (w *world) projectCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Projects
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	// in brings a caller into a project by its number, as a path does.
	in := func(call func(st standing, path, b string) (any, error)) func(standing, string, string) (any, error) {
		return func(st standing, path, b string) (any, error) {
			if path != "" {
				var err error
				if st, err = w.Project(ctx, st.Caller, path); err != nil {
					return nil, err
				}
			}
			return call(st, path, b)
		}
	}
	return ruletest.Calls{
		"projects": func(st standing, _, b string) (any, error) { return ruletest.List(o.List(ctx, st, pageIn(t, b))) },
		"everyproject": func(st standing, _, b string) (any, error) {
			return ruletest.List(o.List(ctx, st.Anywhere(), pageIn(t, b)))
		},
		"newproject":         func(st standing, _, b string) (any, error) { return o.Create(ctx, st, body(b)) },
		"newprojectanywhere": func(st standing, _, b string) (any, error) { return o.Create(ctx, st.Anywhere(), body(b)) },
		"project":            in(func(st standing, _, _ string) (any, error) { return o.Get(ctx, st) }),
		"changeproject":      in(func(st standing, _, b string) (any, error) { return o.Update(ctx, st, body(b)) }),
		"dropproject":        in(func(st standing, _, _ string) (any, error) { return nil, o.Delete(ctx, st) }),
		"resettoken":         in(func(st standing, _, _ string) (any, error) { return o.ResetToken(ctx, st) }),
		"rotate":             in(func(st standing, _, _ string) (any, error) { return o.RotateSecret(ctx, st) }),
		"dropbackup":         in(func(st standing, _, _ string) (any, error) { return o.DeleteSecretBackup(ctx, st) }),
		"move":               in(func(st standing, _, b string) (any, error) { return o.Move(ctx, st, body(b)) }),
		"labels": func(st standing, _, _ string) (any, error) {
			return w.Organizations.GroupTypeLabels(ctx, st.Project.ID)
		},
		"label": func(st standing, _, b string) (any, error) {
			return w.Organizations.LabelGroupTypes(ctx, st.Project.ID, body(b).Array)
		},
		// opensproject is the project that a secret key opens, 0 for none.
		"opensproject": func(_ standing, path, _ string) (id any, err error) {
			return id, w.Store.Read(ctx, func(tx rooms.Tx) error {
				id = int64(0)
				k, err := tx.Key(management.HashKey(path))
				if err == nil && k != nil && k.Secret {
					id = k.Projects[0]
				}
				return err
			})
		},
		// browser is what a project tells browsers.
		"browser": func(st standing, _, _ string) (any, error) { return st.Project.Browser, nil },
	}
}

func (w *world) accountCalls(t *testing.T) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations.Account
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	return ruletest.Calls{
		"me":       func(st standing, _, _ string) (any, error) { return o.Me(ctx, st) },
		"changeme": func(st standing, _, b string) (any, error) { return o.Update(ctx, st, body(b)) },
		"dropme":   func(st standing, _, _ string) (any, error) { return nil, o.Delete(ctx, st) },
		"keys":     func(st standing, _, _ string) (any, error) { return o.Keys(ctx, st) },
		"key":      func(st standing, path, _ string) (any, error) { return o.Key(ctx, st, path) },
		"newkey":   func(st standing, _, b string) (any, error) { return o.CreateKey(ctx, st, body(b)) },
		"changekey": func(st standing, path, b string) (any, error) {
			return o.UpdateKey(ctx, st, path, body(b), false)
		},
		"putkey":  func(st standing, path, b string) (any, error) { return o.UpdateKey(ctx, st, path, body(b), true) },
		"rollkey": func(st standing, path, _ string) (any, error) { return o.RollKey(ctx, st, path) },
		"dropkey": func(st standing, path, _ string) (any, error) { return nil, o.DeleteKey(ctx, st, path) },
		"confirm": func(_ standing, path, _ string) (any, error) {
			user, link, _ := strings.Cut(path, " ")
			u, err := url.Parse(link)
			if err != nil {
				return nil, err
			}
			return o.Confirm(ctx, user, u.Query().Get("secret"))
		},
		// whose is who a key lets in, and when it was used last.
		"whose": func(_ standing, path, _ string) (any, error) {
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
		"organization":       func(st standing, _, _ string) (any, error) { return o.Get(ctx, st) },
		"organizations":      func(st standing, _, b string) (any, error) { return ruletest.List(o.List(ctx, st, pageIn(t, b))) },
		"neworganization":    func(st standing, _, b string) (any, error) { return o.Create(ctx, st, body(b)) },
		"changeorganization": func(st standing, _, b string) (any, error) { return o.Update(ctx, st, body(b), false) },
		"putorganization":    func(st standing, _, b string) (any, error) { return o.Update(ctx, st, body(b), true) },
		"close":              func(st standing, _, _ string) (any, error) { return nil, o.Delete(ctx, st) },
		"usage":              func(st standing, _, _ string) (any, error) { return o.Usage(ctx, st) },
		"maycopy":            func(st standing, _, _ string) (any, error) { return nil, o.MayCopy(ctx, st.Caller) },
		// enter is where a caller comes by the name of a path.
		"enter": func(st standing, path, _ string) (any, error) {
			in, err := w.OrganizationNamed(ctx, st.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": in.Organization.Name, "level": in.Level}, nil
		},
		"own": func(st standing, path, _ string) (any, error) {
			in, err := w.OwnOrganization(ctx, st.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": in.Organization.Name, "level": in.Level}, nil
		},
		"enterproject": func(st standing, path, _ string) (any, error) {
			in, err := w.Project(ctx, st.Caller, path)
			if err != nil {
				return nil, err
			}
			return map[string]any{"name": in.Project.Name}, nil
		},
		"setuser": func(_ standing, path, members string) (any, error) { return nil, w.setUser(t, path, members) },
	}
}

// setUser changes what is stored of a user.
func (w *world) setUser(t *testing.T, name, members string) error {
	return w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		u, err := management.UserByUUID(tx, ruletest.UUID(name))
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(members), u); err != nil {
			return err
		}
		return management.PutUser(tx, u)
	})
}

// days is so many days, as wait takes it.
func days(n int) string { return (time.Duration(n) * 24 * time.Hour).String() }
