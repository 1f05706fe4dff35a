package dashboards

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
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
var SharePasswordFields = management.Fields{
	{Name: "raw_password", Type: management.Text, Null: true, Blank: true, MaxLength: maxPassword, Help: "at least 8 characters; without one it is made up"},
	{Name: "note", Type: management.Text, Null: true, Blank: true, MaxLength: maxNote},
}

// derive is a password as it is kept.
func derive(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha512.New, password, salt, passwordRounds, passwordBytes)
}

// AddSharePassword adds a password to a link that asks for one, and tells it.
func (s Links) AddSharePassword(ctx context.Context, scope *management.Scope, ref string, b management.Body) (*SharePassword, error) {
	c, err := management.Write(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
		_, c, err := s.writableSharing(&view{Tx: tx, Scope: scope}, ref)
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
		password = management.RandomText(16)
	}
	if utf8.RuneCountInString(password) < minPassword {
		return nil, management.CodedFault("min_length", "raw_password", "Ensure this field has at least %d characters.", minPassword)
	}
	if !c.PasswordRequired {
		return nil, management.Fault("", "Password protection must be enabled before a password can be added.")
	}
	hash, err := derive(password, c.Salt)
	if err != nil {
		return nil, err
	}
	p := sharePassword{ID: s.Env.NewID(), Note: v.Text("note"), Created: management.NewStamp(s.Env.Now()), Email: scope.User.Email, Hash: hash}
	_, err = s.changeSharing(ctx, scope, ref, func(_ *view, _ *linkTarget, c *sharingRecord) error {
		if len(c.Passwords) >= maxSharePasswords {
			return management.Fault("", "A link has at most %d passwords.", maxSharePasswords)
		}
		c.Passwords = append(c.Passwords, p)
		return nil
	})
	out := p.show()
	out.Password = password
	return &out, err
}

// SharedDashboard is a dashboard as it is seen through a link, or an insight by itself as
// one that has no other tile. Nobody who works on it is named.
type SharedDashboard struct {
	Dashboard *Dashboard      `json:"dashboard"`
	Settings  map[string]bool `json:"settings"`

	isInsight bool                      // it is an insight
	project   *management.ProjectRecord // see Of
}

// The codes of links that ask for a password.
const (
	CodePasswordRequired = "password_required"
	CodePasswordWrong    = "authentication_failed"
)

// Shared opens a link by its token. Where a password is required, one of those of
// the link has to be given: else the error is Unauthenticated. A link that is
// unknown, disabled or expired is NotFound, which costs one look-up whatever is
// given. A wrong password costs that and one derivation; may is asked before it, with
// the error that ends the guess, nil for none. A password that has been right before
// costs none, and is not asked for.
func (s Dashboards) Shared(ctx context.Context, token, password string, allow func() error) (*SharedDashboard, error) {
	if len(token) > maxShareToken {
		return nil, management.ErrNotFound()
	}
	password = strings.TrimSpace(password)
	l, err := management.Read(ctx, &s.Env, func(tx management.Tx) (*shareLink, error) { return s.link(tx, token) })
	if err != nil {
		return nil, err
	}
	if l.sharing.PasswordRequired {
		if err := s.checkPassword(ctx, token, l.sharing, password, allow); err != nil {
			return nil, err
		}
	}
	return management.Read(ctx, &s.Env, func(tx management.Tx) (*SharedDashboard, error) {
		l, err := s.link(tx, token)
		if err != nil {
			return nil, err
		}
		return s.open(tx, l)
	})
}

func (s Dashboards) checkPassword(ctx context.Context, token string, c *sharingRecord, password string, allow func() error) error {
	if password == "" {
		return &management.Error{Kind: management.Unauthenticated, Code: CodePasswordRequired, Message: "This dashboard asks for a password."}
	}
	wrong := &management.Error{Kind: management.Unauthenticated, Code: CodePasswordWrong, Message: "The password is wrong."}
	if len(c.Passwords) == 0 || utf8.RuneCountInString(password) > maxPassword {
		return wrong
	}
	right := s.guesses.name(c, password)
	if s.guesses.isRemembered(right) {
		return nil
	}
	if allow != nil {
		if err := allow(); err != nil {
			return err
		}
	}
	done, err := s.guesses.begin(ctx, token)
	if err != nil {
		return err
	}
	defer done()
	hash, err := derive(password, c.Salt)
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
	s.guesses.remember(right)
	return nil
}

// shareLink is what a token is of.
type shareLink struct {
	*linkTarget
	sharing *sharingRecord
	project *management.ProjectRecord
}

// link finds what a token is of, as far as it may be seen.
func (s Dashboards) link(tx management.Tx, token string) (*shareLink, error) {
	r, err := tx.Find(kindShareToken, token)
	if err != nil {
		return nil, err
	}
	t, err := management.Decode[shareToken](r)
	if err == nil && (t == nil || !t.Until.IsZero() && !s.Env.Now().Before(t.Until.Time)) {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	l := &shareLink{}
	if l.linkTarget, err = targetOfToken(tx, t); err != nil {
		return nil, err
	}
	if l.sharing, err = sharingOf(tx, l.linkTarget); err != nil {
		return nil, err
	}
	if l.project, err = tx.Project(t.Project); err != nil {
		return nil, err
	}
	if l.sharing == nil || !l.sharing.Enabled || l.project == nil {
		return nil, management.ErrNotFound()
	}
	organization, err := tx.Organization(l.project.Organization)
	if err != nil {
		return nil, err
	}
	meta, err := management.MetaOfOrganization(organization)
	if err == nil && meta.NoPublicSharing {
		err = management.ErrNotFound()
	}
	return l, err
}

// open is what a link shows: without what its settings hide, whether it is shown as a
// page or not.
func (s Dashboards) open(tx management.Tx, l *shareLink) (*SharedDashboard, error) {
	v := &view{Tx: tx}
	rendered, err := l.dashboardView(v)
	if err != nil {
		return nil, err
	}
	settings := l.sharing.Settings
	for i := range rendered.Tiles {
		insight := rendered.Tiles[i].Insight
		if insight == nil {
			continue
		}
		if !settings["showInspector"] {
			rendered.Tiles[i].Overrides = json.RawMessage("null")
			insight.Query, insight.Filters = json.RawMessage("null"), json.RawMessage("null")
		}
		if settings["hideExtraDetails"] {
			insight.Description = ""
		}
	}
	if settings["noHeader"] {
		rendered.Description = ""
	}
	return &SharedDashboard{rendered, settings, l.insight != nil, l.project}, nil
}
