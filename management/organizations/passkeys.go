package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
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
// N4).
type Passkeys struct{ *core }

// Passkey is a passkey in responses to its user.
type Passkey struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	CreatedAt management.Stamp `json:"created_at"`
	UsedAt    management.Stamp `json:"used_at"`
}

// storedPasskey is the stored form of a passkey. Credential is opaque: it is only for
// Authenticators.
type storedPasskey struct {
	Passkey
	User       string          `json:"user"`
	Credential json.RawMessage `json:"credential"`
}

// storedChallenge is the stored form of a challenge.
type storedChallenge struct {
	ID    string          `json:"id"`
	User  string          `json:"user,omitempty"` // empty for signing in
	State json.RawMessage `json:"state"`
}

// PasskeyFields are the fields of a new passkey. passkey is the result of
// navigator.credentials.create.
var PasskeyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 60, Help: "name of the passkey, such as laptop"},
	{Name: "passkey", Type: management.Object, Required: true, Custom: true, Help: "JSON of the browser's response"},
}

// PasskeyNameFields are the fields that can be changed later.
var PasskeyNameFields = PasskeyFields[:1]

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

// ownerOf returns a user with the credentials of the user's passkeys, and the passkeys, newest
// first.
func ownerOf(tx Tx, u *management.User) (PasskeyOwner, []storedPasskey, error) {
	list, err := management.ListRecords[storedPasskey](tx, management.Query{Kind: kindPasskey, Parent: u.UUID, Descending: true})
	out := PasskeyOwner{UUID: u.UUID, Email: u.Email}
	for i := range list.Results {
		out.Credentials = append(out.Credentials, list.Results[i].Credential)
	}
	return out, list.Results, err
}

// put stores the passkey. unique is the hash of the credential's id.
func (p *storedPasskey) put(tx Tx, unique string) error {
	return tx.Put(&management.Record{Kind: kindPasskey, Parent: p.User, ID: p.ID, Sort: storage.SortTime(p.CreatedAt.Time), Unique: unique, Data: storage.Encode(p)})
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

// LoginOptions returns the options for navigator.credentials.get, with a challenge for any passkey
// of the site, for signing in or for a proof of identity.
func (s Passkeys) LoginOptions(ctx context.Context, site Site) (json.RawMessage, error) {
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	c, err := s.Authenticators.BeginLogin(site)
	if err != nil {
		return nil, err
	}
	return c.Options, s.Env.Store.Write(ctx, func(tx Tx) error { return s.storeChallenge(tx, "", c) })
}

// RegistrationOptions returns the options for navigator.credentials.create, with a challenge for a
// new passkey of the caller.
func (s Passkeys) RegistrationOptions(ctx context.Context, scope *management.Scope, site Site) (json.RawMessage, error) {
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (json.RawMessage, error) {
		// The browser must not offer an authenticator that already has a passkey of the user.
		owner, all, err := ownerOf(tx, scope.User)
		if err != nil {
			return nil, err
		}
		// Add also checks this, since several challenges may be open.
		if len(all) >= maxPasskeys {
			return nil, management.Fault("", "A user may have no more than %d passkeys: remove one first.", maxPasskeys)
		}
		c, err := s.Authenticators.BeginRegistration(site, owner)
		if err != nil {
			return nil, err
		}
		return c.Options, s.storeChallenge(tx, scope.User.UUID, c)
	})
}

// Add checks and stores a new passkey of the caller from the answer of the browser.
func (s Passkeys) Add(ctx context.Context, scope *management.Scope, site Site, b management.Body) (*Passkey, error) {
	v, err := PasskeyFields.Create(b)
	if err != nil {
		return nil, err
	}
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	answer := v.Raw("passkey")
	return management.Write(ctx, &s.Env, func(tx Tx) (*Passkey, error) {
		text, _, err := s.Authenticators.ReadAnswer(answer)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		c, err := s.takeChallenge(tx, scope.User.UUID, text)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		owner, all, err := ownerOf(tx, scope.User)
		if err != nil {
			return nil, err
		}
		if len(all) >= maxPasskeys {
			return nil, management.Fault("", "A user may have no more than %d passkeys: remove one first.", maxPasskeys)
		}
		id, credential, err := s.Authenticators.FinishRegistration(site, owner, c.State, answer)
		if err != nil {
			return nil, rejectPasskeyBody(err)
		}
		p := &storedPasskey{Passkey{ID: s.Env.NewID(), Name: v.Text("name"), CreatedAt: management.NewStamp(s.Env.Now())}, scope.User.UUID, credential}
		if err := p.put(tx, management.HashKey(id)); errors.Is(err, management.ErrDuplicate) {
			return nil, management.CodedFault(management.CodeUnique, "passkey", "This passkey is already registered.")
		} else if err != nil {
			return nil, err
		}
		return &p.Passkey, nil
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

// List returns the caller's passkeys, newest first.
func (s Passkeys) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Passkey], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[Passkey], error) {
		return management.ListRecords[Passkey](tx, management.Query{Kind: kindPasskey, Parent: scope.User.UUID, Descending: true, Offset: p.Offset, Limit: p.Limit})
	})
}

// change finds one of the caller's passkeys and calls do with it. unique is the hash of the
// credential's id.
func (s Passkeys) change(ctx context.Context, scope *management.Scope, id string, do func(tx Tx, p *storedPasskey, unique string) error) (*Passkey, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*Passkey, error) {
		r, err := records.Existing(tx.Get(kindPasskey, scope.User.UUID, id))
		if err != nil {
			return nil, err
		}
		p, err := management.Decode[storedPasskey](r)
		if err != nil {
			return nil, err
		}
		return &p.Passkey, do(tx, p, r.Unique)
	})
}

// Rename changes the name of a passkey.
func (s Passkeys) Rename(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Passkey, error) {
	v, err := PasskeyNameFields.Change(b)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, scope, id, func(tx Tx, p *storedPasskey, unique string) error {
		if v.Has("name") {
			p.Name = v.Text("name")
		}
		return p.put(tx, unique)
	})
}

// Remove deletes a passkey. Sessions that were started with it stay valid.
func (s Passkeys) Remove(ctx context.Context, scope *management.Scope, id string) error {
	_, err := s.change(ctx, scope, id, func(tx Tx, p *storedPasskey, _ string) error { return tx.Delete(kindPasskey, p.User, p.ID) })
	return err
}
