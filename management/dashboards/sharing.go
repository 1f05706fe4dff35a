package dashboards

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
)

const (
	// kindSharing is how a dashboard or an insight is shared: Parent is that, ID the same
	// for all.
	kindSharing = "dashboard_sharing"
	sharingID   = "sharing"
	// kindShareToken is a token of a link: Parent is what it shows, ID and Unique the
	// token.
	kindShareToken = "dashboard_share_token"
)

const (
	// shareTokenGrace is how long a token goes on to work after it was replaced (§4.1.8).
	shareTokenGrace = 5 * time.Minute
	// maxSharePasswords is how many passwords a link may have.
	maxSharePasswords = 20
	shareTokenBytes   = 22 // random ones: 30 characters
	maxShareToken     = 400
)

// sharing is how a dashboard is shared, as it is shown (§4.1.8).
type sharing struct {
	Created          management.Stamp `json:"created_at"`
	Enabled          bool             `json:"enabled"`
	AccessToken      string           `json:"access_token"`
	Settings         map[string]bool  `json:"settings"` // null while nobody has chosen any
	PasswordRequired bool             `json:"password_required"`
	Passwords        []SharePassword  `json:"share_passwords"`
}

// SharePassword is a password of a link. Password is only told when it is made.
type SharePassword struct {
	ID             string           `json:"id"`
	Password       string           `json:"password,omitempty"`
	Note           string           `json:"note"`
	Created        management.Stamp `json:"created_at"`
	CreatedByEmail string           `json:"created_by_email"`
}

// SharingFields are the writable fields of a sharing configuration.
var SharingFields = management.Fields{
	{Name: "enabled", Type: management.Bool},
	{Name: "settings", Type: management.Any, Help: "whitelabel, noHeader, showInspector, legend, detailed, hideExtraDetails: true or false"},
	{Name: "password_required", Type: management.Bool},
}

// shareSettings are the names of settings that are kept.
var shareSettings = []string{"whitelabel", "noHeader", "showInspector", "legend", "detailed", "hideExtraDetails"}

// sharingRecord is a sharing configuration as it is stored.
type sharingRecord struct {
	Created          management.Stamp `json:"created_at"`
	Enabled          bool             `json:"enabled"`
	Token            string           `json:"access_token"`
	Settings         map[string]bool  `json:"settings,omitempty"`
	PasswordRequired bool             `json:"password_required"`
	Salt             []byte           `json:"salt"` // of all passwords
	Passwords        []sharePassword  `json:"passwords,omitempty"`
}

type sharePassword struct {
	ID      string           `json:"id"`
	Note    string           `json:"note"`
	Created management.Stamp `json:"created_at"`
	Email   string           `json:"created_by_email"`
	Hash    []byte           `json:"hash"`
}

func (p *sharePassword) show() SharePassword {
	return SharePassword{ID: p.ID, Note: p.Note, Created: p.Created, CreatedByEmail: p.Email}
}

func (c *sharingRecord) show() *sharing {
	out := &sharing{Created: c.Created, Enabled: c.Enabled, AccessToken: c.Token, Settings: c.Settings, PasswordRequired: c.PasswordRequired, Passwords: []SharePassword{}}
	for i := range c.Passwords {
		out.Passwords = append(out.Passwords, c.Passwords[i].show())
	}
	return out
}

// shareToken is a token as it is stored. Until is zero while it is the current one.
type shareToken struct {
	Project   int64            `json:"project"`
	Dashboard int64            `json:"dashboard"`
	Insight   int64            `json:"insight,omitempty"` // it shows this one by itself
	Until     management.Stamp `json:"until"`
}

func putSharing(tx management.Tx, x *linkTarget, c *sharingRecord) error {
	return tx.Put(&management.Record{Kind: kindSharing, Parent: x.parent(), ID: sharingID, Data: management.Encode(c)})
}

func putShareToken(tx management.Tx, x *linkTarget, token string, until time.Time) error {
	t := shareToken{Project: x.project, Dashboard: x.dashboardID(), Insight: x.insightID(), Until: management.NewStamp(until)}
	return tx.Put(&management.Record{Kind: kindShareToken, Parent: x.parent(), ID: token, Unique: token, Data: management.Encode(t)})
}

// sharingOf returns how a thing is shared, nil while nobody has asked yet.
func sharingOf(tx management.Tx, x *linkTarget) (*sharingRecord, error) {
	r, err := tx.Get(kindSharing, x.parent(), sharingID)
	if err != nil {
		return nil, err
	}
	return management.Decode[sharingRecord](r)
}

func randomBytes(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // never fails
	return out
}

func newShareToken() string {
	return base64.RawURLEncoding.EncodeToString(randomBytes(shareTokenBytes))
}

// ensureSharing is sharingOf, which makes what is not there: the token stays the
// same from the first look on.
func (s Links) ensureSharing(tx management.Tx, x *linkTarget) (*sharingRecord, error) {
	c, err := sharingOf(tx, x)
	if err != nil || c != nil {
		return c, err
	}
	c = &sharingRecord{Created: management.NewStamp(s.Env.Now()), Token: newShareToken(), Salt: randomBytes(16)}
	if err := putShareToken(tx, x, c.Token, time.Time{}); err != nil {
		return nil, err
	}
	return c, putSharing(tx, x, c)
}

// Sharing returns how a thing is shared.
func (s Links) Sharing(ctx context.Context, scope *management.Scope, ref string) (*sharing, error) {
	c, err := management.Read(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
		x, err := s.find(&view{Tx: tx, Scope: scope}, ref)
		if err != nil {
			return nil, err
		}
		return sharingOf(tx, x)
	})
	if err == nil && c == nil {
		c, err = management.Write(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
			x, err := s.find(&view{Tx: tx, Scope: scope}, ref)
			if err != nil {
				return nil, err
			}
			return s.ensureSharing(tx, x)
		})
	}
	if err != nil {
		return nil, err
	}
	return c.show(), nil
}

// writableSharing finds a thing and how it is shared for somebody who wants to change that.
func (s Links) writableSharing(v *view, ref string) (*linkTarget, *sharingRecord, error) {
	x, err := s.find(v, ref)
	if err != nil {
		return nil, nil, err
	}
	if err := x.checkEdit(v); err != nil {
		return nil, nil, err
	}
	meta, err := management.MetaOfOrganization(v.Organization)
	if err == nil && meta.NoPublicSharing {
		err = management.Denied("Public sharing is disabled for this organization.")
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := s.ensureSharing(v.Tx, x)
	return x, c, err
}

// changeSharing runs change on how a thing is shared, saves it and notes what is other
// now.
func (s Links) changeSharing(ctx context.Context, scope *management.Scope, ref string, change func(*view, *linkTarget, *sharingRecord) error) (*sharing, error) {
	c, err := management.Write(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
		v := &view{Tx: tx, Scope: scope}
		x, c, err := s.writableSharing(v, ref)
		if err != nil {
			return nil, err
		}
		before := c.auditView()
		if err := change(v, x, c); err != nil {
			return nil, err
		}
		if err := putSharing(tx, x, c); err != nil {
			return nil, err
		}
		if d := x.dashboard; d != nil && d.Shared != c.Enabled {
			d.Shared = c.Enabled
			if err := s.dashboards.Put(v, d); err != nil {
				return nil, err
			}
		}
		activityScope, item, title := x.logNames()
		return c, s.Env.LogActivity(tx, scope.Caller, scope.Parent(), activityScope, item, title, before, c.auditView())
	})
	if err != nil {
		return nil, err
	}
	return c.show(), nil
}

// sharingAudit is what the log tells of sharing: no token, and no password.
type sharingAudit struct {
	Enabled          bool            `json:"sharing_enabled"`
	Settings         map[string]bool `json:"sharing_settings"`
	PasswordRequired bool            `json:"sharing_password_required"`
	Passwords        []string        `json:"sharing_passwords"` // their ids
}

func (c *sharingRecord) auditView() sharingAudit {
	out := sharingAudit{Enabled: c.Enabled, Settings: c.Settings, PasswordRequired: c.PasswordRequired}
	for i := range c.Passwords {
		out.Passwords = append(out.Passwords, c.Passwords[i].ID)
	}
	return out
}

// UpdateSharing turns sharing on or off and changes its settings.
func (s Links) UpdateSharing(ctx context.Context, scope *management.Scope, ref string, b management.Body) (*sharing, error) {
	return s.changeSharing(ctx, scope, ref, func(_ *view, _ *linkTarget, c *sharingRecord) error {
		v, err := SharingFields.Change(b)
		if err != nil {
			return err
		}
		if v.Has("settings") {
			if c.Settings, err = readShareSettings(v.Raw("settings")); err != nil {
				return err
			}
		}
		management.Set(v, "enabled", &c.Enabled)
		management.Set(v, "password_required", &c.PasswordRequired)
		return nil
	})
}

// readShareSettings keeps the settings that are known; null takes all away.
func readShareSettings(raw json.RawMessage) (map[string]bool, error) {
	if raw == nil {
		return nil, nil
	}
	wrong := management.Fault("settings", "Invalid settings format")
	var members map[string]json.RawMessage
	if management.JSONKind(raw) != "dict" || json.Unmarshal(raw, &members) != nil {
		return nil, wrong
	}
	out := map[string]bool{}
	for _, name := range shareSettings {
		value, ok := members[name]
		switch kind := management.JSONKind(value); {
		case !ok || kind == "NoneType":
		case kind != "bool":
			return nil, wrong
		default:
			out[name] = string(value) == "true"
		}
	}
	return out, nil
}

// RefreshSharing gives a link a new token; the old one works for shareTokenGrace, and
// those before it no longer.
func (s Links) RefreshSharing(ctx context.Context, scope *management.Scope, ref string) (*sharing, error) {
	return s.changeSharing(ctx, scope, ref, func(v *view, x *linkTarget, c *sharingRecord) error {
		if err := v.Tx.DeleteUnder(kindShareToken, x.parent()); err != nil {
			return err
		}
		if err := putShareToken(v.Tx, x, c.Token, s.Env.Now().Add(shareTokenGrace)); err != nil {
			return err
		}
		c.Token = newShareToken()
		if err := putShareToken(v.Tx, x, c.Token, time.Time{}); err != nil {
			return err
		}
		activityScope, item, title := x.logNames()
		return s.Env.LogActivityAs(v.Tx, scope.Caller, scope.Parent(), "access_token_refreshed", activityScope, item,
			management.ActivityDetail{Name: title, Changes: []management.Change{}})
	})
}

// DeleteSharePassword takes a password of a link away.
func (s Links) DeleteSharePassword(ctx context.Context, scope *management.Scope, ref, id string) error {
	_, err := s.changeSharing(ctx, scope, ref, func(_ *view, _ *linkTarget, c *sharingRecord) error {
		id, ok := management.NormalizeUUID(id)
		index := slices.IndexFunc(c.Passwords, func(p sharePassword) bool { return p.ID == id })
		if !ok || index < 0 {
			return management.ErrNotFound()
		}
		c.Passwords = slices.Delete(c.Passwords, index, index+1)
		return nil
	})
	return err
}
