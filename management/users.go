package management

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The kinds of records of this file.
const (
	KindUser   = "user"   // ID is the uuid, Sort the number, Unique the e-mail
	KindMember = "member" // Parent is the organization, ID and Other the user's uuid
	KindRole   = "role"   // Parent is the organization
)

// Level is a member's standing in an organization (§1.8).
type Level int64

// The levels of members.
const (
	Member Level = 1
	Admin  Level = 8
	Owner  Level = 15
)

// Levels are the numbers that a level may be.
var Levels = []int64{int64(Member), int64(Admin), int64(Owner)}

// User is a person who manages. It is stored as JSON under these names.
type User struct {
	ID         int64  `json:"id"`
	UUID       string `json:"uuid"`
	DistinctID string `json:"distinct_id"`
	FirstName  string `json:"first_name"`
	LastName   string `json:"last_name"`
	Email      string `json:"email"`
	// EmailVerified is nil while nobody knows.
	EmailVerified *bool   `json:"is_email_verified"`
	Role          *string `json:"role_at_organization"`
	Joined        Stamp   `json:"date_joined"`
	Inactive      bool    `json:"inactive,omitempty"`
	// Pending is an address that waits to be confirmed, nil for none.
	Pending *PendingEmail `json:"pending,omitempty"`
	// Organization and Project are the current ones, "" and 0 for none chosen.
	Organization string `json:"current_organization,omitempty"`
	Project      int64  `json:"current_project,omitempty"`
	// SignedIn is when the user first signed in with a browser, zero for never.
	SignedIn Stamp `json:"signed_in_at,omitzero"`
	// Settings are what the user's own page keeps, by name.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// UserView is a user inside of another answer (§2.3 of the interface).
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

// View is the user inside of another answer, nil for nobody.
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

// Membership is a user's place in an organization.
type Membership struct {
	ID           string `json:"id"`
	Organization string `json:"organization"`
	User         string `json:"user"` // uuid
	Level        Level  `json:"level"`
	Joined       Stamp  `json:"joined_at"`
	Updated      Stamp  `json:"updated_at"`
}

// Decode reads what a record says.
func Decode[T any](r *Record) (*T, error) {
	if r == nil {
		return nil, nil
	}
	out := new(T)
	if err := json.Unmarshal(r.Data, out); err != nil {
		return nil, fmt.Errorf("the %s %s is not stored as it should be: %w", r.Kind, r.ID, err)
	}
	return out, nil
}

// Encode is a value as it is stored. It is for values that JSON has a form for.
func Encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// SortNumber and SortTime are numbers and times as Record.Sort has them: the
// order of the texts is theirs.
func SortNumber(n int64) string { return fmt.Sprintf("%020d", n) }

// SortTime is a time as Record.Sort has it: the order of the texts is theirs.
func SortTime(when time.Time) string { return SortNumber(when.UnixMicro()) }

// EmailKey is an e-mail address as two of the same are compared.
func EmailKey(email string) string { return strings.ToLower(email) }

// UserByUUID returns nil for nobody.
func UserByUUID(tx Tx, uuid string) (*User, error) {
	r, err := tx.Get(KindUser, "", uuid)
	if err != nil {
		return nil, err
	}
	return Decode[User](r)
}

// UserByEmail returns nil for nobody.
func UserByEmail(tx Tx, email string) (*User, error) {
	r, err := tx.Find(KindUser, EmailKey(email))
	if err != nil {
		return nil, err
	}
	return Decode[User](r)
}

// UserByNumber returns nil for nobody.
func UserByNumber(tx Tx, id int64) (*User, error) {
	if id <= 0 {
		return nil, nil
	}
	list, _, err := tx.List(Query{Kind: KindUser, From: SortNumber(id), To: SortNumber(id + 1), Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return Decode[User](&list[0])
}

// viewOfUser is the user of a number inside of an answer, nil for nobody.
func viewOfUser(tx Tx, id int64) (*UserView, error) {
	u, err := UserByNumber(tx, id)
	return u.View(), err
}

// PutUser saves a user; ErrDuplicate: another one has the e-mail address.
func PutUser(tx Tx, u *User) error {
	return tx.Put(&Record{Kind: KindUser, ID: u.UUID, Sort: SortNumber(u.ID), Unique: EmailKey(u.Email), Data: Encode(u)})
}

// PutMembership saves a membership.
func PutMembership(tx Tx, m *Membership) error {
	return tx.Put(&Record{Kind: KindMember, Parent: m.Organization, ID: m.User, Other: m.User, Sort: SortTime(m.Joined.Time), Data: Encode(m)})
}

// MembershipOf returns nil for somebody who is no member.
func MembershipOf(tx Tx, organization, user string) (*Membership, error) {
	r, err := tx.Get(KindMember, organization, user)
	if err != nil {
		return nil, err
	}
	return Decode[Membership](r)
}

// MembershipsOf are the places of a user, oldest first.
func MembershipsOf(tx Tx, user string) ([]Membership, error) {
	list, _, err := tx.List(Query{Kind: KindMember, Other: user})
	if err != nil {
		return nil, err
	}
	out := make([]Membership, len(list))
	for i := range list {
		m, err := Decode[Membership](&list[i])
		if err != nil {
			return nil, err
		}
		out[i] = *m
	}
	return out, nil
}

// IsVerified reports whether the address is known to be the user's.
func (u *User) IsVerified() bool { return u.EmailVerified != nil && *u.EmailVerified }

// PendingEmail is an address that its user says is the user's own, until the secret
// that is mailed there comes back, for InviteLife at most.
type PendingEmail struct {
	Email   string   `json:"email"`
	Since   Stamp    `json:"since"`
	Secrets []string `json:"secrets,omitempty"` // hashes, one for each attempt to mail
}
