package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
)

const (
	// kindPasskey is a passkey: Parent is its user's uuid, Unique the hash of the
	// credential's id.
	kindPasskey = "passkey"
	// kindChallenge is what a browser was asked to sign, once: Sort is when it is too
	// late, Unique the hash of the challenge.
	kindChallenge = "passkey_challenge"

	challengeLife = 5 * time.Minute
	// maxPasskeys is how many a user may have, maxChallenges how many wait at once: of
	// more the oldest goes.
	maxPasskeys   = 20
	maxChallenges = 10_000
)

// Passkeys are the caller's own (console.md N4).
type Passkeys struct{ *core }

// Passkey is one of the caller's.
type Passkey struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	CreatedAt management.Stamp `json:"created_at"`
	UsedAt    management.Stamp `json:"used_at"`
}

type storedPasskey struct {
	Passkey
	User       string          `json:"user"`
	Credential json.RawMessage `json:"credential"`
}

type storedChallenge struct {
	ID    string          `json:"id"`
	User  string          `json:"user,omitempty"` // of a new passkey
	State json.RawMessage `json:"state"`
}

// PasskeyFields are those of a passkey; passkey is what navigator.credentials.create gave.
var PasskeyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 60, Help: "such as: laptop"},
	{Name: "passkey", Type: management.Object, Required: true, Custom: true, Help: "the answer of the browser, as JSON"},
}

// PasskeyNameFields are those that change.
var PasskeyNameFields = PasskeyFields[:1]

func errNoPasskeys() error {
	return management.Clash("Passkeys do not work at this address: they want a name instead of numbers, and HTTPS or http://localhost.")
}

func (s *core) checkPasskeySite(site Site) error {
	if s.Authenticators == nil || site == (Site{}) {
		return errNoPasskeys()
	}
	return nil
}

// ownerOf is a user with the passkeys that there are.
func ownerOf(tx Tx, u *management.User) (PasskeyOwner, []storedPasskey, error) {
	list, err := management.ListRecords[storedPasskey](tx, management.Query{Kind: kindPasskey, Parent: u.UUID, Descending: true})
	out := PasskeyOwner{UUID: u.UUID, Email: u.Email}
	for i := range list.Results {
		out.Credentials = append(out.Credentials, list.Results[i].Credential)
	}
	return out, list.Results, err
}

func (p *storedPasskey) put(tx Tx, unique string) error {
	return tx.Put(&management.Record{Kind: kindPasskey, Parent: p.User, ID: p.ID, Sort: management.SortTime(p.CreatedAt.Time), Unique: unique, Data: management.Encode(p)})
}

// storeChallenge keeps what is asked until it is answered, and drops what is too late.
func (s *core) storeChallenge(tx Tx, user string, c *Challenge) error {
	now := s.Env.Now()
	if err := deleteChallenges(tx, management.SortTime(now)); err != nil {
		return err
	}
	x := &storedChallenge{ID: s.Env.NewID(), User: user, State: c.State}
	return tx.Put(&management.Record{Kind: kindChallenge, ID: x.ID, Sort: management.SortTime(now.Add(challengeLife)), Unique: management.HashKey(c.Text), Data: management.Encode(x)})
}

// deleteChallenges drops some of those that end before a time, and the oldest where there
// are too many.
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

// takeChallenge finds what an answer is to, and uses it up.
func (s *core) takeChallenge(tx Tx, user, text string) (*storedChallenge, error) {
	r, err := tx.Find(kindChallenge, management.HashKey(text))
	if err != nil {
		return nil, err
	}
	c, err := management.Decode[storedChallenge](r)
	if err != nil {
		return nil, err
	}
	if c == nil || c.User != user || r.Sort <= management.SortTime(s.Env.Now()) {
		return nil, unauthenticated("Nobody asked for this passkey, or it took longer than five minutes: try again.")
	}
	return c, tx.Delete(kindChallenge, "", c.ID)
}

// LoginOptions asks a browser for any passkey of this site, to sign in or to prove who is there.
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

// RegistrationOptions ask the caller's browser for a new passkey.
func (s Passkeys) RegistrationOptions(ctx context.Context, scope *management.Scope, site Site) (json.RawMessage, error) {
	if err := s.checkPasskeySite(site); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (json.RawMessage, error) {
		owner, all, err := ownerOf(tx, scope.User)
		if err != nil {
			return nil, err
		}
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

// Add keeps the passkey that the caller's browser has made.
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
			return nil, management.CodedFault(management.CodeUnique, "passkey", "This passkey is here already.")
		} else if err != nil {
			return nil, err
		}
		return &p.Passkey, nil
	})
}

// rejectPasskeyBody is what who is signed in is told: their session goes on.
func rejectPasskeyBody(err error) error {
	var apiErr *management.Error
	if errors.Is(err, ErrPasskey) || errors.As(err, &apiErr) && apiErr.Kind == management.Unauthenticated {
		return management.Fault("passkey", "The answer of the browser does not hold, or nobody asked for it in the last five minutes: try again.")
	}
	return err
}

// List are the caller's passkeys, newest first.
func (s Passkeys) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Passkey], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[Passkey], error) {
		return management.ListRecords[Passkey](tx, management.Query{Kind: kindPasskey, Parent: scope.User.UUID, Descending: true, Offset: p.Offset, Limit: p.Limit})
	})
}

// change finds one of the caller's passkeys and does something with it.
func (s Passkeys) change(ctx context.Context, scope *management.Scope, id string, do func(tx Tx, p *storedPasskey, unique string) error) (*Passkey, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*Passkey, error) {
		r, err := tx.Get(kindPasskey, scope.User.UUID, id)
		if err == nil && r == nil {
			err = management.ErrNotFound()
		}
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

// Rename gives one another name.
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

// Remove takes one away: it opens nothing any more. Sessions that were begun with it go on.
func (s Passkeys) Remove(ctx context.Context, scope *management.Scope, id string) error {
	_, err := s.change(ctx, scope, id, func(tx Tx, p *storedPasskey, _ string) error { return tx.Delete(kindPasskey, p.User, p.ID) })
	return err
}
