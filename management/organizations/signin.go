package organizations

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

const (
	linkLife     = 30 * time.Minute // life of a link that the server prints at its start
	mailLinkLife = 15 * time.Minute
	maxLinks     = 8 // greatest number of links of a user
)

// storedLink is the stored form of a link.
type storedLink struct {
	ID      string           `json:"id"`
	User    string           `json:"user"`
	Method  string           `json:"method"`
	Expires management.Stamp `json:"expires_at"`
}

// signInFields are the fields of a sign-in or a proof of identity. Exactly one must be set.
var signInFields = management.Fields{
	{Name: "link", Type: management.Text, MaxLength: 200, Help: "the part of a sign-in link after #; it can be used once"},
	{Name: "key", Type: management.Text, MaxLength: 200, Help: "a personal API key, whose permissions the session will have"},
	{Name: "mail_token", Type: management.Text, MaxLength: 200, Help: "secret of an emailed link; the same as link"},
	{Name: "passkey", Type: management.Object, Custom: true, Help: "JSON of the browser's response to the options from POST session/passkey/"},
}

// linkFields are the fields of LinkEmail.
var linkFields = management.Fields{{Name: "link", Type: management.Text, Required: true, MaxLength: 200}}

// SignIn is a request to sign in. Token is that of the browser's former session, which ends. Site is
// the site for passkeys, zero if the browser allows no passkeys.
//
// The proof of identity is the account of a provider, if Identity is set; otherwise that the user
// with the uuid Joined has just accepted an invitation, if Joined is set; otherwise the body. If
// Joined and Key are set, Key must be a key of that user, and the session has its rights.
type SignIn struct {
	Address, Agent, Token string
	Site                  Site
	Body                  management.Body
	Identity              *Identity
	Joined, Key           string
}

// newToken returns a random token of 256 bits.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// proof is the result of a successful proof of identity.
type proof struct {
	user   *management.User
	key    *management.KeyRecord // nil for all rights of the user
	method string
}

// Begin signs a user in: it creates a session and returns its token, which is stored only as a
// hash. Users who may not sign in in this way get an error.
func (s Sessions) Begin(ctx context.Context, v SignIn) (token string, c *management.Caller, err error) {
	token = newToken()
	c, err = management.Write(ctx, &s.Env, func(tx Tx) (*management.Caller, error) {
		p, err := s.proofOf(tx, &v)
		if err != nil {
			return nil, err
		}
		if err := s.endToken(tx, v.Token); err != nil {
			return nil, err
		}
		now := management.NewStamp(s.Env.Now())
		// The cut may have split a character, which ToValidUTF8 removes.
		agent := strings.ToValidUTF8(v.Agent[:min(len(v.Agent), maxAgent)], "")
		m := &management.Session{ID: s.Env.NewID(), User: p.user.UUID, Method: p.method, Address: v.Address, Agent: agent, Created: now, Seen: now, ProvenAt: now}
		if p.key != nil {
			m.Key = p.key.Hash
		}
		// Room for one more session: expired ones and the oldest are deleted.
		keep := func(m *management.Session, n int) bool { return n < maxSessions-1 && now.Before(s.expiry(m)) }
		if err := s.deleteSessions(tx, m.User, keep); err != nil {
			return nil, err
		}
		if p.user.LastLogin = now; p.user.SignedIn.IsZero() {
			p.user.SignedIn = now
		}
		if err := records.PutUser(tx, p.user); err != nil {
			return nil, err
		}
		if err := putSession(tx, m, management.HashKey(token)); err != nil {
			return nil, err
		}
		return callerOf(tx, m)
	})
	// A user that was created for the account of a provider may have queued mails.
	if v.Identity != nil {
		err = s.notifyQueued(err)
	}
	return token, c, err
}

// proofOf returns the proof of identity of a request.
func (s *core) proofOf(tx Tx, v *SignIn) (*proof, error) {
	switch {
	case v.Identity != nil:
		u, err := s.userOfIdentity(tx, v.Identity)
		if err != nil {
			return nil, err
		}
		return &proof{user: u, method: "oidc"}, checkActive(tx, u)
	case v.Joined != "":
		return s.proofOfInvited(tx, v.Joined, v.Key)
	}
	return s.prove(tx, v.Body, v.Site)
}

// proofOfInvited returns the proof of a user who has accepted an invitation. key may be empty.
func (s *core) proofOfInvited(tx Tx, uuid, key string) (p *proof, err error) {
	if key != "" {
		p, err = proofOfKey(tx, key)
	} else {
		p = &proof{method: "invitation"}
		p.user, err = management.UserByUUID(tx, uuid)
	}
	if err == nil && (p.user == nil || p.user.UUID != uuid) {
		err = unauthenticated("This user has not accepted the invitation.")
	}
	if err != nil {
		return nil, err
	}
	return p, s.checkSignIn(tx, p.user)
}

// endToken ends the session of a token, if there is one.
func (s *core) endToken(tx Tx, token string) error {
	r, err := tx.Find(kindSession, management.HashKey(token))
	if err != nil || r == nil {
		return err
	}
	return tx.Delete(kindSession, r.Parent, r.ID)
}

// Prove renews the proof of identity of the caller's session. The session gets a new token and the
// old one becomes invalid; its rights and its end stay the same. A key as proof must be
// unrestricted, or be the key that the session was created from.
func (s Sessions) Prove(ctx context.Context, c *management.Caller, b management.Body, site Site) (token string, _ *management.Caller, err error) {
	if c.Session == nil {
		return "", nil, management.Denied("There is no session: requests with a key need no further proof.")
	}
	token = newToken()
	c, err = management.Write(ctx, &s.Env, func(tx Tx) (*management.Caller, error) {
		p, err := s.prove(tx, b, site)
		if err != nil {
			return nil, err
		}
		m, err := management.Found[management.Session](tx.Get(kindSession, c.Session.User, c.Session.ID))
		switch {
		case err != nil:
			return nil, err
		case m == nil:
			return nil, unauthenticated("The session has ended.")
		case p.user.UUID != m.User:
			return nil, management.Denied("This proves the identity of another user than the one who is signed in.")
		// A weaker key must not unlock the rights of a stronger session.
		case p.key != nil && p.key.Hash != m.Key && !isUnrestricted(p.key):
			return nil, management.Denied("This key has fewer permissions than the session: confirm with a key that has all permissions.")
		}
		m.ProvenAt = management.NewStamp(s.Env.Now())
		m.Seen = m.ProvenAt
		if err := putSession(tx, m, management.HashKey(token)); err != nil {
			return nil, err
		}
		return callerOf(tx, m)
	})
	return token, c, err
}

// isUnrestricted reports whether a key has all rights of its user.
func isUnrestricted(k *management.KeyRecord) bool {
	return k.Scopes == nil || slices.Contains(k.Scopes, allScopes) && len(k.Projects)+len(k.Organizations) == 0
}

// prove checks the proof of identity in a body and returns its user. A link is used up by it.
func (s *core) prove(tx Tx, b management.Body, site Site) (*proof, error) {
	v, err := signInFields.Create(b)
	if err != nil {
		return nil, err
	}
	token, key := cmp.Or(v.Text("link"), v.Text("mail_token")), strings.TrimSpace(v.Text("key"))
	count := 0
	for _, has := range []bool{token != "", key != "", v.Has("passkey")} {
		if has {
			count++
		}
	}
	var p *proof
	switch {
	case count != 1:
		return nil, management.Fault("", "Send exactly one of link, key, mail_token and passkey.")
	case v.Has("passkey"):
		p, err = s.usePasskey(tx, site, v.Raw("passkey"))
	case key != "":
		p, err = proofOfKey(tx, key)
	default:
		p, err = s.useLink(tx, token)
	}
	if err != nil {
		return nil, err
	}
	return p, s.checkSignIn(tx, p.user)
}

// proofOfKey returns the proof that a personal key is.
func proofOfKey(tx Tx, key string) (*proof, error) {
	k, err := tx.Key(management.HashKey(key))
	if err != nil {
		return nil, err
	}
	if k == nil || k.Secret {
		return nil, unauthenticated("This personal key is not valid. " + management.KeyHint(key))
	}
	u, err := management.UserByNumber(tx, k.User)
	if err == nil && u == nil {
		err = unauthenticated("The owner of this personal key no longer exists.")
	}
	return &proof{u, k, "key"}, err
}

// linkOf returns the link of a token, and its user, who is nil if the link was used, has expired or
// never existed.
func (s *core) linkOf(tx Tx, token string) (*storedLink, *management.User, error) {
	l, err := management.Found[storedLink](tx.Find(kindLink, management.HashKey(token)))
	if err != nil || l == nil || !s.Env.Now().Before(l.Expires.Time) {
		return nil, nil, err
	}
	u, err := management.UserByUUID(tx, l.User)
	return l, u, err
}

// useLink returns the proof that a link is, and deletes the link.
func (s *core) useLink(tx Tx, token string) (*proof, error) {
	l, u, err := s.linkOf(tx, token)
	if err == nil && u == nil {
		err = unauthenticated("This link is invalid or has expired.")
	}
	if err != nil {
		return nil, err
	}
	return &proof{user: u, method: l.Method}, tx.Delete(kindLink, l.User, l.ID)
}

// checkActive returns an error if a user is inactive or is no member of an organization.
func checkActive(tx Tx, u *management.User) error {
	c, err := management.CallerFor(tx, u)
	if err == nil && (u.Inactive || len(c.Memberships) == 0) {
		err = unauthenticated("This user is not active, or not a member of any organization.")
	}
	return err
}

// checkSignIn returns an error if a user is not active, or if single sign-on is enforced for the
// user's domain. Without a Provider the owners of the domain's organization are exempt, so that
// they are not locked out (console.md §5.2).
func (s *core) checkSignIn(tx Tx, u *management.User) error {
	if err := checkActive(tx, u); err != nil {
		return err
	}
	d, err := enforcedDomainOf(tx, u.Email)
	if err != nil || d == nil {
		return err
	}
	c, err := management.CallerFor(tx, u)
	if err != nil || s.Provider == nil && c.Level(d.organization) == management.Owner {
		return err
	}
	return &management.Error{Kind: management.Forbidden, Code: codeSSO, Message: "Single sign-on is enforced for " + d.name + ": there is no other way to sign in."}
}

// rejectPasskey converts ErrPasskey to the error for the browser.
func rejectPasskey(err error) error {
	if errors.Is(err, ErrPasskey) {
		return unauthenticated("This passkey is not registered here, or its response is invalid.")
	}
	return err
}

// usePasskey checks the answer of a browser to a challenge, and returns the user of the passkey
// that has signed it. It stores the updated credential.
func (s *core) usePasskey(tx Tx, site Site, answer json.RawMessage) (*proof, error) {
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	text, id, err := s.Authenticators.ReadAnswer(answer)
	if err != nil {
		return nil, rejectPasskey(err)
	}
	// Challenges for signing in have no user; challenges for new passkeys are not accepted.
	c, err := s.takeChallenge(tx, "", text)
	if err != nil {
		return nil, err
	}
	p, err := decodePasskey(tx.Find(kindPasskey, management.HashKey(id)))
	if err == nil && p == nil {
		err = rejectPasskey(ErrPasskey)
	}
	if err != nil {
		return nil, err
	}
	u, err := management.UserByUUID(tx, p.User)
	if err == nil && u == nil {
		err = rejectPasskey(ErrPasskey)
	}
	if err != nil {
		return nil, err
	}
	owner := PasskeyOwner{UUID: u.UUID, Email: u.Email, Credentials: []json.RawMessage{p.Credential}}
	if p.Credential, err = s.Authenticators.FinishLogin(site, owner, c.State, answer); err != nil {
		return nil, rejectPasskey(err)
	}
	p.UsedAt = management.NewStamp(s.Env.Now())
	return &proof{user: u, method: "passkey"}, p.put(tx)
}

// LinkEmail returns the e-mail address of a link's user without using the link, or nil if the link
// was used, has expired or never existed.
func (s Sessions) LinkEmail(ctx context.Context, b management.Body) (email *string, err error) {
	v, err := linkFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (*string, error) {
		_, u, err := s.linkOf(tx, v.Text("link"))
		if err != nil || u == nil {
			return nil, err
		}
		return &u.Email, nil
	})
}

// putLink stores a link for a user, with a token. It deletes expired links of the user, and the
// oldest ones above maxLinks.
func (s *core) putLink(tx Tx, user, method, token string, until time.Time) error {
	list, err := management.ListRecords[storedLink](tx, management.Query{Kind: kindLink, Parent: user})
	if err != nil {
		return err
	}
	for i, l := range list.Results { // oldest first
		if len(list.Results)-i >= maxLinks || !s.Env.Now().Before(l.Expires.Time) {
			if err := tx.Delete(kindLink, user, l.ID); err != nil {
				return err
			}
		}
	}
	l := &storedLink{ID: s.Env.NewID(), User: user, Method: method, Expires: management.NewStamp(until)}
	return tx.Put(&management.Record{
		Kind: kindLink, Parent: user, ID: l.ID, Sort: storage.SortTime(s.Env.Now()), Unique: management.HashKey(token), Data: storage.Encode(l),
	})
}

// OwnerLink returns the token of a link that signs in an owner once, within 30 minutes: the owner
// with an e-mail address, or otherwise the first. It is for the start of the server. The result is
// empty if there is no owner, or if the owner has signed in before and repeat is false. If token is
// not empty, it is the token of the link: 32 random bytes in the URL encoding of base64.
func (s Sessions) OwnerLink(ctx context.Context, email, token string, repeat bool) (string, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (string, error) {
		owner, err := findOwner(tx, email)
		var unknown *noSuchOwnerError
		// An unknown address falls back to the first owner.
		if errors.As(err, &unknown) {
			owner, err = findOwner(tx, "")
		}
		if errors.Is(err, ErrNoOwner) {
			return "", nil
		}
		if err != nil || !repeat && !owner.SignedIn.IsZero() {
			return "", err
		}
		used := cmp.Or(token, newToken())
		return used, s.putLink(tx, owner.UUID, "link", used, s.Env.Now().Add(linkLife))
	})
}
