package management

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/subtle"
	"strings"
	"unicode/utf8"
)

// How passwords of links are kept: PBKDF2 with HMAC-SHA-512, with one random salt
// for all passwords of a link, so that a guess costs one derivation.
const (
	passwordRounds = 210_000
	passwordBytes  = 32
	minPassword    = 8   // characters
	maxPassword    = 128 // characters
	maxNote        = 100 // characters
)

// SharePasswordFields are the fields that make a password of a link. Spaces
// around a password do not count, here and where it is given.
var SharePasswordFields = Fields{
	{Name: "raw_password", Type: Text, Null: true, Blank: true, Max: maxPassword, Help: "at least 8 characters; without one it is made up"},
	{Name: "note", Type: Text, Null: true, Blank: true, Max: maxNote},
}

// deriving bounds how many derivations run at a time: anybody may ask for one.
var deriving = make(chan struct{}, 1)

// derive is a password as it is kept.
func derive(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case deriving <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-deriving }()
	return pbkdf2.Key(sha512.New, password, salt, passwordRounds, passwordBytes)
}

// AddSharePassword adds a password to a link that asks for one, and tells it.
func (s Dashboards) AddSharePassword(ctx context.Context, st *Standing, dashboard string, b Body) (*SharePassword, error) {
	c, err := write(ctx, s.core, func(tx Tx) (*sharingRecord, error) {
		_, c, err := s.ownSharing(tx, st, dashboard)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	v, err := SharePasswordFields.Create(b)
	if err != nil {
		return nil, err
	}
	password := v.Text("raw_password")
	if password == "" {
		password = RandomText(16)
	}
	if utf8.RuneCountInString(password) < minPassword {
		return nil, Coded("min_length", "raw_password", "Ensure this field has at least %d characters.", minPassword)
	}
	if !c.PasswordRequired {
		return nil, Fault("", "Password protection must be enabled before a password can be added.")
	}
	hash, err := derive(ctx, password, c.Salt)
	if err != nil {
		return nil, err
	}
	p := sharePassword{ID: s.newID(), Note: v.Text("note"), Created: At(s.now()), Email: st.User.Email, Hash: hash}
	_, err = s.changeSharing(ctx, st, dashboard, func(_ Tx, _ *dashboardRecord, c *sharingRecord) error {
		if len(c.Passwords) >= MaxSharePasswords {
			return Fault("", "A link has at most %d passwords.", MaxSharePasswords)
		}
		c.Passwords = append(c.Passwords, p)
		return nil
	})
	out := p.show()
	out.Password = password
	return &out, err
}

// SharedDashboard is a dashboard as it is seen through a link. Nobody who works on
// it is named.
type SharedDashboard struct {
	Dashboard *Dashboard      `json:"dashboard"`
	Settings  map[string]bool `json:"settings"`
}

// The codes of links that ask for a password.
const (
	CodePasswordRequired = "password_required"
	CodePasswordWrong    = "authentication_failed"
)

// Shared opens a link by its token. Where a password is required, one of those of
// the link has to be given: else the error is Unauthenticated. A link that is
// unknown, disabled or expired is NotFound.
func (s Dashboards) Shared(ctx context.Context, token, password string) (*SharedDashboard, error) {
	if len(token) > maxShareToken {
		return nil, errNotFound()
	}
	var c *sharingRecord
	out, err := read(ctx, s.core, func(tx Tx) (out *SharedDashboard, err error) {
		out, c, err = s.open(tx, token)
		return out, err
	})
	if err != nil {
		return nil, err
	}
	if c.PasswordRequired {
		if err := c.checkPassword(ctx, strings.TrimSpace(password)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *sharingRecord) checkPassword(ctx context.Context, password string) error {
	if password == "" {
		return &Error{Kind: Unauthenticated, Code: CodePasswordRequired, Message: "This dashboard asks for a password."}
	}
	wrong := &Error{Kind: Unauthenticated, Code: CodePasswordWrong, Message: "The password is wrong."}
	if len(c.Passwords) == 0 || utf8.RuneCountInString(password) > maxPassword {
		return wrong
	}
	hash, err := derive(ctx, password, c.Salt)
	if err != nil {
		return err
	}
	same := 0
	for i := range c.Passwords {
		same |= subtle.ConstantTimeCompare(hash, c.Passwords[i].Hash)
	}
	if same == 0 {
		return wrong
	}
	return nil
}

// open finds what a token opens.
func (s Dashboards) open(tx Tx, token string) (*SharedDashboard, *sharingRecord, error) {
	r, err := tx.Find(kindShareToken, token)
	if err != nil {
		return nil, nil, err
	}
	t, err := decode[shareToken](r)
	if err == nil && (t == nil || !t.Until.IsZero() && !s.now().Before(t.Until.Time)) {
		err = errNotFound()
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := dashboardOf(tx, t.Project, t.Dashboard)
	if err != nil {
		return nil, nil, err
	}
	c, err := sharingOf(tx, t.Dashboard)
	if err != nil {
		return nil, nil, err
	}
	project, err := tx.Project(t.Project)
	if err != nil {
		return nil, nil, err
	}
	if d == nil || c == nil || !c.Enabled || project == nil {
		return nil, nil, errNotFound()
	}
	organization, err := tx.Organization(project.Organization)
	if err != nil {
		return nil, nil, err
	}
	meta, err := organizationMeta(organization)
	if err == nil && meta.NoPublicSharing {
		err = errNotFound()
	}
	if err != nil {
		return nil, nil, err
	}
	shown, err := d.show(tx, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	shown.Tiles, err = d.showTiles(tx, project.ID, nil)
	return &SharedDashboard{shown, c.Settings}, c, err
}
