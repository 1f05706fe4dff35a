package management

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Level is the rank of a member in an organization (§1.8). Higher levels include lower ones.
type Level int64

// The levels of members.
const (
	Member Level = 1
	Admin  Level = 8
	Owner  Level = 15
)

// User is a person with an account. It is stored as JSON with these names.
type User struct {
	ID         int64  `json:"id"`
	UUID       string `json:"uuid"`
	DistinctID string `json:"distinct_id"`
	FirstName  string `json:"first_name"`
	LastName   string `json:"last_name"`
	Email      string `json:"email"`
	// EmailVerified is nil if it was never checked.
	EmailVerified *bool   `json:"is_email_verified"`
	Role          *string `json:"role_at_organization"`
	Joined        Stamp   `json:"date_joined"`
	Inactive      bool    `json:"inactive,omitempty"`
	// Pending is a new address that is not confirmed yet, or nil.
	Pending *PendingEmail `json:"pending,omitempty"`
	// Organization and Project are those that the user selected last, "" and 0 if there are none.
	Organization string `json:"current_organization,omitempty"`
	Project      int64  `json:"current_project,omitempty"`
	// SignedIn is the time of the user's first sign-in with a browser, zero if there was no
	// sign-in.
	SignedIn Stamp `json:"signed_in_at,omitzero"`
	// LastLogin is the time of the user's last sign-in with a browser.
	LastLogin Stamp `json:"last_login_at,omitzero"`
	// Settings are those of the user's own page, by name.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// UserView is the form of a user inside the responses about other objects (§2.3 of the interface).
type UserView struct {
	ID            int64           `json:"id"`
	UUID          string          `json:"uuid"`
	DistinctID    string          `json:"distinct_id"`
	FirstName     string          `json:"first_name"`
	LastName      string          `json:"last_name"`
	Email         string          `json:"email"`
	EmailVerified *bool           `json:"is_email_verified"`
	Hedgehog      json.RawMessage `json:"hedgehog_config"`
	Role          *string         `json:"role_at_organization"`
}

// View returns the UserView of a user, or nil if u is nil.
func (u *User) View() *UserView {
	if u == nil {
		return nil
	}
	hedgehog := u.Settings["hedgehog_config"]
	if hedgehog == nil {
		hedgehog = json.RawMessage("null")
	}
	return &UserView{u.ID, u.UUID, u.DistinctID, u.FirstName, u.LastName, u.Email, u.EmailVerified, hedgehog, u.Role}
}

// Membership is the membership of a user in an organization.
type Membership struct {
	ID           string `json:"id"`
	Organization string `json:"organization"`
	User         string `json:"user"` // uuid
	Level        Level  `json:"level"`
	Joined       Stamp  `json:"joined_at"`
	Updated      Stamp  `json:"updated_at"`
}

// Found returns the value of a record that Get or Find has returned, or nil if there is none.
func Found[T any](r *Record, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return Decode[T](r)
}

// First returns the value of the first record of a query, or nil if there is none.
func First[T any](tx Tx, q Query) (*T, error) {
	q.Limit = 1
	list, _, err := tx.List(q)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return Decode[T](&list[0])
}

// EmailKey returns the form of an e-mail address that is the same for equal addresses.
func EmailKey(email string) string { return strings.ToLower(email) }

// UserByUUID returns a user, or nil if there is no such user.
func UserByUUID(tx Tx, uuid string) (*User, error) {
	return Found[User](tx.Get(storage.KindUser, "", uuid))
}

// UserByEmail returns the user with an e-mail address in any case, or nil if there is no such user.
func UserByEmail(tx Tx, email string) (*User, error) {
	return Found[User](tx.Find(storage.KindUser, EmailKey(email)))
}

// UserByNumber returns the user with a number, or nil if there is no such user.
func UserByNumber(tx Tx, id int64) (*User, error) {
	if id <= 0 {
		return nil, nil
	}
	return First[User](tx, Query{Kind: storage.KindUser, From: storage.SortNumber(id), To: storage.SortNumber(id + 1)})
}

// MembershipOf returns the membership of a user, by uuid, or nil if the user is no member.
func MembershipOf(tx Tx, organization, user string) (*Membership, error) {
	return Found[Membership](tx.Get(storage.KindMember, organization, user))
}

// MembershipsOf returns the memberships of a user, by uuid, oldest first.
func MembershipsOf(tx Tx, user string) ([]Membership, error) {
	list, err := ListRecords[Membership](tx, Query{Kind: storage.KindMember, Other: user})
	return list.Results, err
}

// IsVerified reports whether the e-mail address was proven to be the user's.
func (u *User) IsVerified() bool { return u.EmailVerified != nil && *u.EmailVerified }

// PendingEmail is a new address of a user that counts only after the secret that is mailed to it is
// returned, within InviteLife.
type PendingEmail struct {
	Email   string   `json:"email"`
	Since   Stamp    `json:"since"`
	Secrets []string `json:"secrets,omitempty"` // hashes, one for each attempt to mail
}

// ProofLife is how long a proof of identity is valid (console.md §5.1).
const ProofLife = 10 * time.Minute

// Session is the session of a signed-in browser, in its stored form. The store has only the hash of
// its token, in Record.Unique.
type Session struct {
	ID   string `json:"id"`
	User string `json:"user"` // uuid
	// Key is the hash of the key that the session was created from and whose rights it has. If it
	// is empty, the session has the rights of the user.
	Key     string `json:"key,omitempty"`
	Method  string `json:"method"` // link, mail or key
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Created Stamp  `json:"created_at"`
	Seen    Stamp  `json:"seen_at"` // last use, with a precision of a minute
	// ProvenAt is the time of the user's last proof of identity.
	ProvenAt Stamp `json:"proven_at"`
}

// RequireProof returns an error if the caller's session has no proof of identity within the last
// ProofLife. Callers without a session pass, since a key proves itself with each request.
func (c *Caller) RequireProof(now time.Time) error {
	if c.Session == nil || now.Before(c.Session.ProvenAt.Add(ProofLife)) {
		return nil
	}
	return &Error{Kind: Forbidden, Code: "proof_required", Message: "Verify your identity with POST /api/session/proof/, then send this request again."}
}
