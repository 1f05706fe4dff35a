package organizations

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

const (
	// defaultSessionIdle is the default of Config.SessionIdle (console.md §5.1).
	defaultSessionIdle = 12 * time.Hour
	// defaultSessionLife is the default of Config.SessionLife.
	defaultSessionLife = 30 * 24 * time.Hour

	// seenPrecision is the precision of a session's stored time of last use.
	seenPrecision = time.Minute
	// maxSessions is the greatest number of sessions of a user; the oldest sessions above it end.
	maxSessions = 50
	// maxAgent is the greatest length of a stored User-Agent, in bytes.
	maxAgent = 300
)

// Sessions manages sign-in with a browser and its sessions (console.md §5.1). List returns the
// caller's sessions, newest first. Delete ends one of them, or that of the request if id is empty.
type Sessions struct {
	*core
	resource.Resource[Tx, management.Session, session]
}

func newSessions(c *core) Sessions {
	return Sessions{c, resource.NewResource(&c.Env, resource.Spec[Tx, management.Session, session]{
		Kind: kindSession,
		// The number of sessions is bounded by maxSessions.
		All: func(v *view) ([]management.Session, error) { return c.liveSessions(v.Tx, v.User.UUID) },
		Load: func(v *view, id string, _ *management.Body) (*management.Session, error) {
			switch {
			case id != "":
			case v.Session == nil:
				return nil, management.Denied("There is no session to end: this request used a key.")
			default:
				id = v.Session.ID
			}
			// The records of other users have another Parent and are not found.
			return management.Found[management.Session](v.Tx.Get(kindSession, v.User.UUID, id))
		},
		Header: func(_ *management.Scope, m *management.Session) resource.RecordHeader {
			return resource.RecordHeader{Parent: m.User, ID: m.ID}
		},
		Show: func(v *view, m *management.Session) (*session, error) {
			return &session{m.ID, m.Created, m.Seen, management.NewStamp(c.expiry(m)), m.Method, m.Address, m.Agent, v.Session != nil && v.Session.ID == m.ID}, nil
		},
	})}
}

// session is a session in responses to its user. Current reports whether it is that of the request.
type session struct {
	ID        string           `json:"id"`
	CreatedAt management.Stamp `json:"created_at"`
	SeenAt    management.Stamp `json:"seen_at"`
	ExpiresAt management.Stamp `json:"expires_at"`
	// Method is how the session was started, such as link, mail, key, passkey or oidc. Address and
	// Agent are those of the browser at that time.
	Method  string `json:"method"`
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Current bool   `json:"current"`
}

// putSession stores a session under the hash of its token.
func putSession(tx Tx, m *management.Session, tokenHash string) error {
	return tx.Put(&management.Record{
		Kind: kindSession, Parent: m.User, ID: m.ID, Sort: storage.SortTime(m.Created.Time), Unique: tokenHash, Data: storage.Encode(m),
	})
}

// expiry returns when a session ends if it is not used any more.
func (s *core) expiry(m *management.Session) time.Time {
	idle, life := m.Seen.Add(s.SessionIdle), m.Created.Add(s.SessionLife)
	if idle.Before(life) {
		return idle
	}
	return life
}

// sessionOf returns the session of a token, or nil if it does not exist or has ended.
func (s *core) sessionOf(tx Tx, token string) (*management.Session, error) {
	m, err := management.Found[management.Session](tx.Find(kindSession, management.HashKey(token)))
	if err != nil || m == nil || !s.Env.Now().Before(s.expiry(m)) {
		return nil, err
	}
	return m, nil
}

// callerOf returns the caller of a session. It is nil if the user was deleted, is inactive or is no
// member of an organization, and if the key that the session was created from was revoked or
// rolled.
func callerOf(tx Tx, m *management.Session) (*management.Caller, error) {
	u, err := management.UserByUUID(tx, m.User)
	if err != nil || u == nil || u.Inactive {
		return nil, err
	}
	c, err := management.CallerFor(tx, u)
	// A session of a user without memberships has no rights left.
	if err != nil || len(c.Memberships) == 0 {
		return nil, err
	}
	c.Session, c.Key = m, &management.KeyRecord{User: u.ID, Scopes: []string{allScopes}}
	if m.Key != "" {
		k, err := tx.Key(m.Key)
		if err != nil || k == nil || k.Secret || k.User != u.ID {
			return nil, err
		}
		// A copy, because the Hash of the session's key differs from that of the stored key.
		own := *k
		c.Key = &own
	}
	c.Key.Hash = "session " + m.ID // an own Hash, since limits count by it
	return c, nil
}

// callerByToken returns the caller of a token's session, or nil.
func (s Sessions) callerByToken(tx Tx, token string) (*management.Caller, error) {
	m, err := s.sessionOf(tx, token)
	if err != nil || m == nil {
		return nil, err
	}
	return callerOf(tx, m)
}

// Caller returns the caller of a token's session, or nil if the session has ended. If used is true,
// it extends the session, at most once in seenPrecision; it is false for requests that a page sends
// without its user.
func (s Sessions) Caller(ctx context.Context, token string, used bool) (*management.Caller, error) {
	c, err := management.Read(ctx, &s.Env, func(tx Tx) (*management.Caller, error) { return s.callerByToken(tx, token) })
	now := s.Env.Now()
	if err != nil || c == nil || !used || now.Sub(c.Session.Seen.Time) < seenPrecision {
		return c, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*management.Caller, error) {
		c, err := s.callerByToken(tx, token) // the session may have ended since
		if err != nil || c == nil {
			return nil, err
		}
		c.Session.Seen = management.NewStamp(now)
		return c, putSession(tx, c.Session, management.HashKey(token))
	})
}

// liveSessions returns a user's valid sessions, newest first.
func (s *core) liveSessions(tx Tx, user string) (out []management.Session, err error) {
	list, err := management.ListRecords[management.Session](tx, management.Query{Kind: kindSession, Parent: user, Descending: true})
	if err != nil {
		return nil, err
	}
	for i := range list.Results {
		m := &list.Results[i]
		c, err := callerOf(tx, m)
		if err != nil {
			return nil, err
		}
		if c != nil && s.Env.Now().Before(s.expiry(m)) {
			out = append(out, *m)
		}
	}
	return out, nil
}

// EndOthers ends all of the caller's sessions except that of the request.
func (s Sessions) EndOthers(ctx context.Context, scope *management.Scope) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		// A request with a key has no session, so all end.
		if scope.Session == nil {
			return tx.DeleteUnder(kindSession, scope.User.UUID)
		}
		return s.deleteSessions(tx, scope.User.UUID, func(m *management.Session, _ int) bool { return m.ID == scope.Session.ID })
	})
}

// deleteSessions deletes the sessions of a user for which keep returns false. keep is called from the newest
// session on; n is the number of kept sessions so far.
func (s *core) deleteSessions(tx Tx, user string, keep func(m *management.Session, n int) bool) error {
	list, err := management.ListRecords[management.Session](tx, management.Query{Kind: kindSession, Parent: user, Descending: true})
	if err != nil {
		return err
	}
	count := 0
	for i := range list.Results {
		m := &list.Results[i]
		if keep(m, count) {
			count++
			continue
		}
		if err := tx.Delete(kindSession, user, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// Whoami describes the caller of a request and the caller's rights (N1).
type Whoami struct {
	User         *management.UserView `json:"user"`
	Method       string               `json:"method"` // how the session was started; key without a session
	Scopes       []string             `json:"scopes"`
	Organization *whoamiOrganization  `json:"organization"`
	Projects     []whoamiProject      `json:"projects"`
	Project      *int64               `json:"project"` // the current one
	// ProofUntil is when the last proof of identity expires, ExpiresAt when the session ends if it
	// is not used any more. Both are null without a session.
	ProofUntil management.Stamp `json:"proof_until"`
	ExpiresAt  management.Stamp `json:"expires_at"`
	// Language is the user's setting: that of the console's pages, or null for that of the browser.
	Language json.RawMessage `json:"language"`
	// Changes is the position of the last change of the project that the request names: a stream that
	// begins there misses no change after this response. It is null without such a project.
	Changes *int64 `json:"changes"`
	Mode    string `json:"mode"` // full or read_only
	Version string `json:"version"`
	// Docs reports whether the server has the documentation at /docs/.
	Docs bool `json:"docs"`
}

// whoamiOrganization is the caller's current organization.
type whoamiOrganization struct {
	ID    string           `json:"id"`
	Name  string           `json:"name"`
	Level management.Level `json:"level"`
}

// whoamiProject is a project that the caller and the key can access.
type whoamiProject struct {
	ID    int64            `json:"id"`
	Name  string           `json:"name"`
	Level management.Level `json:"level"`
	Zone  string           `json:"timezone"`
	// Organization is the id of the project's organization.
	Organization string `json:"organization"`
}

// Whoami describes the caller. Changes, Mode and Version are not set: the server adds them.
func (s Sessions) Whoami(ctx context.Context, c *management.Caller) (*Whoami, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Whoami, error) {
		out := &Whoami{User: c.User.View(), Method: "key", Scopes: c.Key.Scopes, Projects: []whoamiProject{}, Language: setting(c.User, "language")}
		if out.Scopes == nil {
			out.Scopes = []string{allScopes}
		}
		if m := c.Session; m != nil {
			out.Method, out.ProofUntil, out.ExpiresAt = m.Method, management.NewStamp(m.ProvenAt.Add(management.ProofLife)), management.NewStamp(s.expiry(m))
		}
		org, err := tx.Organization(c.CurrentOrganization())
		if err != nil {
			return nil, err
		}
		if org != nil {
			out.Organization = &whoamiOrganization{org.ID, org.Name, c.Level(org.ID)}
		}
		for _, m := range c.Memberships {
			if err := out.addProjects(tx, c, &m); err != nil {
				return nil, err
			}
		}
		isCurrent := func(p whoamiProject) bool { return p.ID == c.User.Project }
		// The selected project, or the first one if the selected is not accessible.
		if index := max(0, slices.IndexFunc(out.Projects, isCurrent)); index < len(out.Projects) {
			out.Project = &out.Projects[index].ID
		}
		return out, nil
	})
}

// addProjects adds the projects of an organization that the caller and the key can access.
func (w *Whoami) addProjects(tx Tx, c *management.Caller, m *management.Membership) error {
	if !c.CanOpenOrganization(m.Organization) {
		return nil
	}
	list, err := tx.Projects(m.Organization)
	for i := range list {
		p := &list[i]
		if allowed := len(c.Key.Projects) == 0 || c.HasAllScopes() || slices.Contains(c.Key.Projects, p.ID); allowed && c.CanReach(p) {
			w.Projects = append(w.Projects, whoamiProject{p.ID, p.Name, m.Level, p.Zone().String(), p.Organization})
		}
	}
	return err
}
