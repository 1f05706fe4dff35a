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

// Passwords of links are stored as PBKDF2 with HMAC-SHA-512. All passwords of a link have one
// random salt, so that checking a password requires one key derivation.
const (
	passwordRounds = 210_000
	passwordBytes  = 32
	minPassword    = 8   // characters
	maxPassword    = 128 // characters
	maxNote        = 100 // characters
)

// sharePasswordFields are the fields of a new password of a link. Spaces around a password are
// ignored, here and when a visitor enters it.
var sharePasswordFields = management.Fields{
	{Name: "raw_password", Type: management.Text, Null: true, Blank: true, MaxLength: maxPassword, Help: "password with at least 8 characters; by default one is generated"},
	{Name: "note", Type: management.Text, Null: true, Blank: true, MaxLength: maxNote},
}

// derive returns the stored form of a password.
func derive(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha512.New, password, salt, passwordRounds, passwordBytes)
}

// AddSharePassword adds a password to a link that requires one. Only this response contains the
// password. If the body has none, a random one is generated.
func (s Links) AddSharePassword(ctx context.Context, scope *management.Scope, ref string, b management.Body) (*sharePassword, error) {
	// The key is derived between two transactions, because it takes a long time. The first one
	// creates the salt if necessary.
	c, err := management.Write(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
		_, c, err := s.writableSharing(&view{Tx: tx, Scope: scope}, ref)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	v, err := sharePasswordFields.Create(b)
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
	p := storedSharePassword{ID: s.Env.NewID(), Note: v.Text("note"), Created: management.NewStamp(s.Env.Now()), Email: scope.User.Email, Hash: hash}
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

// SharedDashboard is a dashboard as visitors see it through a link. An insight has the form of a
// dashboard with one tile. It does not contain the names of users.
type SharedDashboard struct {
	// Dashboard has its tiles. Settings are the settings of the link, which a page that shows the
	// dashboard applies.
	Dashboard *Dashboard      `json:"dashboard"`
	Settings  map[string]bool `json:"settings"`

	isInsight bool                      // the link shows an insight
	project   *management.ProjectRecord // see Project
}

// The values of Error.Code for links that require a password.
const (
	codePasswordRequired = "password_required"
	CodePasswordWrong    = "authentication_failed"
)

// Shared opens a link by its token. If the link requires a password, password must be one of its
// passwords; otherwise the error is of kind Unauthenticated. The error is of kind NotFound if the
// link is unknown, disabled or expired, and finding that out costs one look-up.
//
// A wrong password costs one key derivation in addition. Shared calls allow before the derivation
// and returns its error, if any; allow may be nil. A password that was correct before is cached: it
// needs no derivation and no call of allow.
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
		// The derivation may have taken a while, and the link may have been disabled meanwhile.
		l, err := s.link(tx, token)
		if err != nil {
			return nil, err
		}
		return s.open(tx, l)
	})
}

// checkPassword returns an error if password is not one of the passwords of a link.
func (s Dashboards) checkPassword(ctx context.Context, token string, c *sharingRecord, password string, allow func() error) error {
	if password == "" {
		return &management.Error{Kind: management.Unauthenticated, Code: codePasswordRequired, Message: "This dashboard requires a password."}
	}
	// A link without passwords rejects every password. A password that is longer than any that can
	// be set is rejected without a derivation.
	wrong := &management.Error{Kind: management.Unauthenticated, Code: CodePasswordWrong, Message: "The password is wrong."}
	if len(c.Passwords) == 0 || utf8.RuneCountInString(password) > maxPassword {
		return wrong
	}
	right := s.guesses.cacheKey(c, password)
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
	// All passwords are compared, so that the time does not depend on which one matches.
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

// shareLink is a link: the object that it shows, its configuration and its project.
type shareLink struct {
	*linkTarget
	sharing *sharingRecord
	project *management.ProjectRecord
}

// link returns the link of a token. It returns ErrNotFound if the token is unknown or expired, if
// the object is deleted, or if sharing is disabled for the object or for the organization.
func (s Dashboards) link(tx management.Tx, token string) (*shareLink, error) {
	t, err := management.Found[shareToken](tx.Find(kindShareToken, token))
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
	// A disabled link must not differ from one that does not exist.
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

// open returns what a link shows, without the members that the link's settings hide. It removes
// them for programs too, and not only for the page.
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
		// Only viewers with the inspector may see the query.
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

// Insight returns the insight that the link shows, or nil if it shows a dashboard.
func (d *SharedDashboard) Insight() *Insight {
	if !d.isInsight {
		return nil
	}
	return d.Dashboard.Tiles[0].Insight
}
