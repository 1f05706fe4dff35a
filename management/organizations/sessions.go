package organizations

import (
	"context"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindSession is a session: Parent is its user's uuid, Sort when it began, Unique the
// hash of its token.
const kindSession = "session"

const (
	// DefaultSessionIdle is Config.SessionIdle where that is zero (console.md §5.1).
	DefaultSessionIdle = 12 * time.Hour
	// DefaultSessionLife is Config.SessionLife where that is zero.
	DefaultSessionLife = 30 * 24 * time.Hour

	// seenEvery is how exactly the time of a session's last use is kept.
	seenEvery = time.Minute
	// maxSessions is how many a user may have: of more the oldest ends.
	maxSessions = 50
	// maxAgent is how much of a browser's name is kept, in bytes.
	maxAgent = 300
)

// Sessions are the browsers that people have signed in with (console.md §5.1).
type Sessions struct{ *core }

// Session is one of the caller's, as its user sees it.
type Session struct {
	ID        string           `json:"id"`
	CreatedAt management.Stamp `json:"created_at"`
	SeenAt    management.Stamp `json:"seen_at"`
	ExpiresAt management.Stamp `json:"expires_at"`
	Method    string           `json:"method"`
	Address   string           `json:"address"`
	Agent     string           `json:"agent"`
	Current   bool             `json:"current"`
}

func putSession(tx Tx, m *management.Session, tokenHash string) error {
	return tx.Put(&management.Record{
		Kind: kindSession, Parent: m.User, ID: m.ID, Sort: management.SortTime(m.Created.Time), Unique: tokenHash, Data: management.Encode(m),
	})
}

// expiry is when a session ends that is not used any more.
func (s *core) expiry(m *management.Session) time.Time {
	idle, life := m.Seen.Add(s.SessionIdle), m.Created.Add(s.SessionLife)
	if idle.Before(life) {
		return idle
	}
	return life
}

// sessionOf is the session of a token, nil for none that lives.
func (s *core) sessionOf(tx Tx, token string) (*management.Session, error) {
	r, err := tx.Find(kindSession, management.HashKey(token))
	if err != nil {
		return nil, err
	}
	m, err := management.Decode[management.Session](r)
	if err != nil || m == nil || !s.Env.Now().Before(s.expiry(m)) {
		return nil, err
	}
	return m, nil
}

// callerOf is who has a session: nil for a user who is gone, switched off or no member
// of anything, and where the key is revoked or rolled that it was made from.
func callerOf(tx Tx, m *management.Session) (*management.Caller, error) {
	u, err := management.UserByUUID(tx, m.User)
	if err != nil || u == nil || u.Inactive {
		return nil, err
	}
	c, err := management.CallerFor(tx, u)
	if err != nil || len(c.Memberships) == 0 {
		return nil, err
	}
	c.Session, c.Key = m, &management.KeyRecord{User: u.ID, Scopes: []string{allScopes}}
	if m.Key != "" {
		k, err := tx.Key(m.Key)
		if err != nil || k == nil || k.Secret || k.User != u.ID {
			return nil, err
		}
		own := *k
		c.Key = &own
	}
	c.Key.Hash = "session " + m.ID // one of its own for limits
	return c, nil
}

// PeekCaller is Caller for what goes on without the person: it does not keep the session
// alive.
func (s Sessions) PeekCaller(ctx context.Context, token string) (*management.Caller, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*management.Caller, error) { return s.callerByToken(tx, token) })
}

func (s Sessions) callerByToken(tx Tx, token string) (*management.Caller, error) {
	m, err := s.sessionOf(tx, token)
	if err != nil || m == nil {
		return nil, err
	}
	return callerOf(tx, m)
}

// Caller is who has the session of a token, nil for nobody.
func (s Sessions) Caller(ctx context.Context, token string) (*management.Caller, error) {
	c, err := s.PeekCaller(ctx, token)
	now := s.Env.Now()
	if err != nil || c == nil || now.Sub(c.Session.Seen.Time) < seenEvery {
		return c, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*management.Caller, error) {
		c, err := s.callerByToken(tx, token) // it may have ended meanwhile
		if err != nil || c == nil {
			return nil, err
		}
		c.Session.Seen = management.NewStamp(now)
		return c, putSession(tx, c.Session, management.HashKey(token))
	})
}

// End ends the session that the caller has come with.
func (s Sessions) End(ctx context.Context, c *management.Caller) error {
	if c.Session == nil {
		return management.Denied("There is no session to end: this request came with a key.")
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error { return tx.Delete(kindSession, c.Session.User, c.Session.ID) })
}

// liveSessions are a user's sessions that have not ended, newest first.
func (s *core) liveSessions(tx Tx, user string) (out []*management.Session, err error) {
	list, _, err := tx.List(management.Query{Kind: kindSession, Parent: user, Descending: true})
	if err != nil {
		return nil, err
	}
	for i := range list {
		m, err := management.Decode[management.Session](&list[i])
		if err != nil {
			return nil, err
		}
		c, err := callerOf(tx, m)
		if err != nil {
			return nil, err
		}
		if c != nil && s.Env.Now().Before(s.expiry(m)) {
			out = append(out, m)
		}
	}
	return out, nil
}

// List are the caller's sessions, newest first.
func (s Sessions) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Session], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[Session], error) {
		all, err := s.liveSessions(tx, scope.User.UUID)
		page, count := management.PageOf(all, p)
		out := management.List[Session]{Count: count}
		for _, m := range page {
			out.Results = append(out.Results, Session{
				m.ID, m.Created, m.Seen, management.NewStamp(s.expiry(m)), m.Method, m.Address, m.Agent, scope.Session != nil && scope.Session.ID == m.ID,
			})
		}
		return out, err
	})
}

// EndOne ends one of the caller's sessions.
func (s Sessions) EndOne(ctx context.Context, scope *management.Scope, id string) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		r, err := tx.Get(kindSession, scope.User.UUID, id)
		if err == nil && r == nil {
			err = management.ErrNotFound()
		}
		if err != nil {
			return err
		}
		return tx.Delete(kindSession, scope.User.UUID, id)
	})
}

// EndOthers ends all of the caller's sessions but the one that the caller has come with.
func (s Sessions) EndOthers(ctx context.Context, scope *management.Scope) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		if scope.Session == nil {
			return tx.DeleteUnder(kindSession, scope.User.UUID)
		}
		return s.trim(tx, scope.User.UUID, func(m *management.Session, _ int) bool { return m.ID == scope.Session.ID })
	})
}

// trim takes away the sessions of a user that are not to be kept; n is how many newer
// ones there are.
func (s *core) trim(tx Tx, user string, keep func(m *management.Session, n int) bool) error {
	list, _, err := tx.List(management.Query{Kind: kindSession, Parent: user, Descending: true})
	if err != nil {
		return err
	}
	count := 0
	for i := range list {
		m, err := management.Decode[management.Session](&list[i])
		if err != nil {
			return err
		}
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

// Whoami is who the caller is, and what it may (N1).
type Whoami struct {
	User         *management.UserView `json:"user"`
	Method       string               `json:"method"` // key, for requests with one too
	Scopes       []string             `json:"scopes"`
	Organization *whoamiOrganization  `json:"organization"`
	Projects     []whoamiProject      `json:"projects"`
	Project      *int64               `json:"project"` // the current one
	ProofUntil   management.Stamp     `json:"proof_until"`
	ExpiresAt    management.Stamp     `json:"expires_at"`
	Mode         string               `json:"mode"` // full or read_only
	Version      string               `json:"version"`
}

type whoamiOrganization struct {
	ID    string           `json:"id"`
	Name  string           `json:"name"`
	Level management.Level `json:"level"`
}

type whoamiProject struct {
	ID    int64            `json:"id"`
	Name  string           `json:"name"`
	Level management.Level `json:"level"`
	Zone  string           `json:"timezone"`
}

// Whoami leaves Mode and Version to the server.
func (s Sessions) Whoami(ctx context.Context, c *management.Caller) (*Whoami, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Whoami, error) {
		out := &Whoami{User: c.User.View(), Method: "key", Scopes: c.Key.Scopes, Projects: []whoamiProject{}}
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
		if index := max(0, slices.IndexFunc(out.Projects, isCurrent)); index < len(out.Projects) {
			out.Project = &out.Projects[index].ID
		}
		return out, nil
	})
}

// addProjects adds those of an organization that the caller and the key reach.
func (w *Whoami) addProjects(tx Tx, c *management.Caller, m *management.Membership) error {
	if !c.CanOpenOrganization(m.Organization) {
		return nil
	}
	list, err := tx.Projects(m.Organization)
	for i := range list {
		p := &list[i]
		if allowed := len(c.Key.Projects) == 0 || c.HasAllScopes() || slices.Contains(c.Key.Projects, p.ID); allowed && c.CanReach(p) {
			w.Projects = append(w.Projects, whoamiProject{p.ID, p.Name, m.Level, p.Zone().String()})
		}
	}
	return err
}
