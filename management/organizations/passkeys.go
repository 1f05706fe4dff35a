package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

const (
	// kindChallenge is the kind of records of challenges that browsers must sign: Sort is the time
	// of expiry, Unique the hash of the challenge. Each is valid for one answer.
	kindChallenge = "passkey_challenge"

	// challengeLife is how long a browser has for its answer.
	challengeLife = 5 * time.Minute
	// maxPasskeys is the greatest number of passkeys of a user, and maxChallenges that of open
	// challenges on the server; the oldest challenges above it are deleted.
	maxPasskeys   = 20
	maxChallenges = 10_000
)

// Passkeys manages the caller's passkeys, and the challenges for signing in with one (console.md
// N4). Sessions that were started with a passkey stay valid without it.
type Passkeys struct {
	*core
	resource.Resource[Tx, storedPasskey, passkey]
}

// passkey is a passkey in responses to its user.
type passkey struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	CreatedAt management.Stamp `json:"created_at"`
	UsedAt    management.Stamp `json:"used_at"`
}

// storedPasskey is the stored form of a passkey. Credential is opaque: it is only for
// Authenticators. unique is the hash of the credential's id.
type storedPasskey struct {
	passkey
	User       string          `json:"user"`
	Credential json.RawMessage `json:"credential"`
	unique     string
}

// newPasskeys returns the service. Its Create needs the answer of a browser, so the Spec has only
// the fields that can be changed.
func newPasskeys(c *core) Passkeys {
	return Passkeys{c, resource.NewResource(&c.Env, resource.Spec[Tx, storedPasskey, passkey]{
		Kind: kindPasskey, Changes: passkeyFields[:1], NewestFirst: true,
		Parent: func(scope *management.Scope) string { return scope.User.UUID },
		Header: func(_ *management.Scope, p *storedPasskey) resource.RecordHeader {
			return resource.RecordHeader{ID: p.ID}
		},
		Put: func(v *view, p *storedPasskey) error { return p.put(v.Tx) },
		Load: func(v *view, id string, _ *management.Body) (*storedPasskey, error) {
			return decodePasskey(v.Tx.Get(kindPasskey, v.User.UUID, id))
		},
		OnDuplicate: func(bool) error {
			return management.CodedFault(management.CodeUnique, "passkey", "This passkey is already registered.")
		},
		Show: func(_ *view, p *storedPasskey) (*passkey, error) { return &p.passkey, nil },
	})}
}

// put stores the passkey.
func (p *storedPasskey) put(tx Tx) error {
	return tx.Put(&management.Record{Kind: kindPasskey, Parent: p.User, ID: p.ID, Sort: storage.SortTime(p.CreatedAt.Time), Unique: p.unique, Data: storage.Encode(p)})
}

// decodePasskey returns the passkey of a record, or nil if there is no record.
func decodePasskey(r *management.Record, err error) (*storedPasskey, error) {
	p, err := management.Found[storedPasskey](r, err)
	if p != nil {
		p.unique = r.Unique
	}
	return p, err
}

// storedChallenge is the stored form of a challenge.
type storedChallenge struct {
	ID    string          `json:"id"`
	User  string          `json:"user,omitempty"` // empty for signing in
	State json.RawMessage `json:"state"`
}

// passkeyFields are the fields of a new passkey. passkey is the result of
// navigator.credentials.create. Only the first field, the name, can be changed later.
var passkeyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 60, Help: "name of the passkey, such as laptop"},
	{Name: "passkey", Type: management.Object, Required: true, Custom: true, Help: "JSON of the browser's response"},
}

// errNoPasskeys is the error for sites at which browsers do not allow passkeys.
func errNoPasskeys() error {
	return management.Clash("Passkeys do not work at this address: they require a domain name instead of an IP address, and HTTPS or http://localhost.")
}

// checkPasskeySite returns an error if there are no passkeys at a site. The zero Site stands for a
// site that browsers do not allow.
func (s *core) checkPasskeySite(site Site) error {
	if s.Authenticators == nil || site == (Site{}) {
		return errNoPasskeys()
	}
	return nil
}

// newOwner returns a user with the credentials of the user's passkeys. It is an error if the user has
// maxPasskeys passkeys.
func newOwner(tx Tx, u *management.User) (PasskeyOwner, error) {
	list, err := management.ListRecords[storedPasskey](tx, management.Query{Kind: kindPasskey, Parent: u.UUID, Descending: true})
	if err == nil && list.Count >= maxPasskeys {
		err = management.Fault("", "A user may have no more than %d passkeys: remove one first.", maxPasskeys)
	}
	out := PasskeyOwner{UUID: u.UUID, Email: u.Email}
	for i := range list.Results {
		out.Credentials = append(out.Credentials, list.Results[i].Credential)
	}
	return out, err
}

// storeChallenge stores a challenge until it is answered, and deletes expired ones. user is the
// uuid of the user who adds a passkey, or empty for signing in.
func (s *core) storeChallenge(tx Tx, user string, c *Challenge) error {
	now := s.Env.Now()
	if err := deleteChallenges(tx, storage.SortTime(now)); err != nil {
		return err
	}
	x := &storedChallenge{ID: s.Env.NewID(), User: user, State: c.State}
	return tx.Put(&management.Record{Kind: kindChallenge, ID: x.ID, Sort: storage.SortTime(now.Add(challengeLife)), Unique: management.HashKey(c.Text), Data: storage.Encode(x)})
}

// deleteChallenges deletes some of the challenges that expire before a time, and the oldest ones
// above maxChallenges. before is in the form of Record.Sort.
func deleteChallenges(tx Tx, before string) error {
	const some = 100
	list, count, err := tx.List(management.Query{Kind: kindChallenge, Limit: some})
	for i := range list {
		if err != nil || list[i].Sort >= before && count-i < maxChallenges {
			break
		}
		err = tx.Delete(kindChallenge, "", list[i].ID)
	}
	return err
}

// takeChallenge returns the challenge that an answer belongs to, and deletes it so that the answer
// cannot be replayed. The challenge must be for the same user.
func (s *core) takeChallenge(tx Tx, user, text string) (*storedChallenge, error) {
	r, err := tx.Find(kindChallenge, management.HashKey(text))
	if err != nil {
		return nil, err
	}
	c, err := management.Decode[storedChallenge](r)
	if err != nil {
		return nil, err
	}
	if c == nil || c.User != user || r.Sort <= storage.SortTime(s.Env.Now()) {
		return nil, unauthenticated("This passkey was not requested, or the request is older than five minutes: try again.")
	}
	return c, tx.Delete(kindChallenge, "", c.ID)
}

// Options returns the options for navigator.credentials.create, with a challenge for a new passkey
// of the caller. If scope is nil, they are those for navigator.credentials.get, with a challenge for
// any passkey of the site, for signing in or for a proof of identity.
func (s Passkeys) Options(ctx context.Context, scope *management.Scope, site Site) (json.RawMessage, error) {
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (json.RawMessage, error) {
		if scope == nil {
			c, err := s.Authenticators.BeginLogin(site)
			if err != nil {
				return nil, err
			}
			return c.Options, s.storeChallenge(tx, "", c)
		}
		// The browser must not offer an authenticator that already has a passkey of the user. Create
		// also checks the number, since several challenges may be open.
		owner, err := newOwner(tx, scope.User)
		if err != nil {
			return nil, err
		}
		c, err := s.Authenticators.BeginRegistration(site, owner)
		if err != nil {
			return nil, err
		}
		return c.Options, s.storeChallenge(tx, scope.User.UUID, c)
	})
}

// Create checks and stores a new passkey of the caller from the answer of the browser.
func (s Passkeys) Create(ctx context.Context, scope *management.Scope, site Site, b management.Body) (*passkey, error) {
	v, err := passkeyFields.Create(b)
	if err != nil {
		return nil, err
	}
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	answer := v.Raw("passkey")
	return management.Write(ctx, &s.Env, func(tx Tx) (*passkey, error) {
		text, _, err := s.Authenticators.ReadAnswer(answer)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		c, err := s.takeChallenge(tx, scope.User.UUID, text)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		owner, err := newOwner(tx, scope.User)
		if err != nil {
			return nil, err
		}
		id, credential, err := s.Authenticators.FinishRegistration(site, owner, c.State, answer)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		p := &storedPasskey{passkey{ID: s.Env.NewID(), Name: v.Text("name"), CreatedAt: management.NewStamp(s.Env.Now())}, scope.User.UUID, credential, management.HashKey(id)}
		return s.Add(&view{Tx: tx, Scope: scope}, p)
	})
}

// rejectPasskeyBody converts errors about an answer to Invalid. An Unauthenticated error would sign
// the caller out, whose session is still valid.
func rejectPasskeyBody(err error) error {
	var apiErr *management.Error
	if errors.Is(err, ErrPasskey) || errors.As(err, &apiErr) && apiErr.Kind == management.Unauthenticated {
		return management.Fault("passkey", "The browser's response is invalid, or was not requested in the last five minutes: try again.")
	}
	return err
}
