package dashboards

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Bounds of links.
const (
	// shareTokenGrace is the time for which a token remains valid after it was replaced (§4.1.8).
	shareTokenGrace = 5 * time.Minute
	// maxSharePasswords is the greatest number of passwords of a link.
	maxSharePasswords = 20
	shareTokenBytes   = 22  // random bytes: 30 characters
	maxShareToken     = 400 // bytes of a token that is looked up
)

// sharing is the form of a sharing configuration in responses (§4.1.8).
type sharing struct {
	Created management.Stamp `json:"created_at"`
	Enabled bool             `json:"enabled"`
	// AccessToken is the random part of the link's address.
	AccessToken string `json:"access_token"`
	// Settings are the known settings by name. They are null until a user sets some.
	Settings map[string]bool `json:"settings"`
	// PasswordRequired reports whether visitors must enter one of Passwords.
	PasswordRequired bool            `json:"password_required"`
	Passwords        []sharePassword `json:"share_passwords"`
}

// sharingFields are the writable fields of a sharing configuration.
var sharingFields = management.Fields{
	{Name: "enabled", Type: management.Bool},
	{Name: "settings", Type: management.Any, Help: "object with whitelabel, noHeader, showInspector, legend, detailed and hideExtraDetails, which are true or false"},
	{Name: "password_required", Type: management.Bool},
}

// shareSettings are the names of the settings of a link. Unknown names are ignored.
var shareSettings = []string{"whitelabel", "noHeader", "showInspector", "legend", "detailed", "hideExtraDetails"}

// show returns the form of the configuration in responses.
func (c *sharingRecord) show() *sharing {
	out := &sharing{Created: c.Created, Enabled: c.Enabled, AccessToken: c.Token, Settings: c.Settings, PasswordRequired: c.PasswordRequired, Passwords: []sharePassword{}}
	for i := range c.Passwords {
		out.Passwords = append(out.Passwords, c.Passwords[i].show())
	}
	return out
}

// putSharing stores the sharing configuration of an object.
func putSharing(tx management.Tx, x *linkTarget, c *sharingRecord) error {
	return tx.Put(&management.Record{Kind: kindSharing, Parent: x.parent(), ID: sharingID, Data: storage.Encode(c)})
}

// putShareToken stores a token that is valid until a time. A zero time means that it does not
// expire.
func putShareToken(tx management.Tx, x *linkTarget, token string, until time.Time) error {
	t := shareToken{Project: x.project, Dashboard: x.dashboardID(), Insight: x.insightID(), Until: management.NewStamp(until)}
	return tx.Put(&management.Record{Kind: kindShareToken, Parent: x.parent(), ID: token, Unique: token, Data: storage.Encode(t)})
}

// sharingOf returns the sharing configuration of an object, or nil if there is none yet.
func sharingOf(tx management.Tx, x *linkTarget) (*sharingRecord, error) {
	return management.Found[sharingRecord](tx.Get(kindSharing, x.parent(), sharingID))
}

// randomBytes returns n bytes of a cryptographic random generator.
func randomBytes(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // never fails
	return out
}

// newShareToken returns a random token for the address of a link.
func newShareToken() string {
	return base64.RawURLEncoding.EncodeToString(randomBytes(shareTokenBytes))
}

// ensureSharing returns the sharing configuration of an object. It creates one with a token if
// there is none, so that the token is the same from the first response on.
func (s Links) ensureSharing(tx management.Tx, x *linkTarget) (*sharingRecord, error) {
	c, err := sharingOf(tx, x)
	if err != nil || c != nil {
		return c, err
	}
	// The link exists before sharing is enabled, and does not open until then.
	c = &sharingRecord{Created: management.NewStamp(s.Env.Now()), Token: newShareToken(), Salt: randomBytes(16)}
	if err := putShareToken(tx, x, c.Token, time.Time{}); err != nil {
		return nil, err
	}
	return c, putSharing(tx, x, c)
}

// Sharing returns the sharing configuration of an object, and creates a disabled one if there is
// none.
func (s Links) Sharing(ctx context.Context, scope *management.Scope, ref string) (*sharing, error) {
	c, err := management.Read(ctx, &s.Env, func(tx management.Tx) (*sharingRecord, error) {
		x, err := s.find(&view{Tx: tx, Scope: scope}, ref)
		if err != nil {
			return nil, err
		}
		return sharingOf(tx, x)
	})
	// A write transaction is only needed for the first request about an object.
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

// writableSharing returns an object and its sharing configuration for a change. It returns an error
// if the caller may not edit the object, or if the organization has disabled sharing.
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

// changeSharing applies change to the sharing configuration of an object, stores the result and
// logs the difference.
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
		// The dashboard itself has a copy of enabled.
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

// sharingAudit is the form of a sharing configuration in the log, without tokens and passwords.
type sharingAudit struct {
	Enabled          bool            `json:"sharing_enabled"`
	Settings         map[string]bool `json:"sharing_settings"`
	PasswordRequired bool            `json:"sharing_password_required"`
	Passwords        []string        `json:"sharing_passwords"` // ids
}

// auditView returns the form of the configuration in the log.
func (c *sharingRecord) auditView() sharingAudit {
	out := sharingAudit{Enabled: c.Enabled, Settings: c.Settings, PasswordRequired: c.PasswordRequired}
	for i := range c.Passwords {
		out.Passwords = append(out.Passwords, c.Passwords[i].ID)
	}
	return out
}

// UpdateSharing enables or disables sharing, or changes the settings of the link.
func (s Links) UpdateSharing(ctx context.Context, scope *management.Scope, ref string, b management.Body) (*sharing, error) {
	return s.changeSharing(ctx, scope, ref, func(_ *view, _ *linkTarget, c *sharingRecord) error {
		v, err := sharingFields.Change(b)
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

// readShareSettings returns the known settings of a JSON object. Null removes all settings.
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

// RefreshSharing replaces the token of a link. The replaced token remains valid for
// shareTokenGrace, and tokens that were replaced earlier become invalid. Passwords and settings do
// not change.
func (s Links) RefreshSharing(ctx context.Context, scope *management.Scope, ref string) (*sharing, error) {
	return s.changeSharing(ctx, scope, ref, func(v *view, x *linkTarget, c *sharingRecord) error {
		// The current token is stored again with an end of validity, and all older ones are
		// deleted.
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

// DeleteSharePassword deletes a password of a link by its id.
func (s Links) DeleteSharePassword(ctx context.Context, scope *management.Scope, ref, id string) error {
	_, err := s.changeSharing(ctx, scope, ref, func(_ *view, _ *linkTarget, c *sharingRecord) error {
		id, ok := management.NormalizeUUID(id)
		index := slices.IndexFunc(c.Passwords, func(p storedSharePassword) bool { return p.ID == id })
		if !ok || index < 0 {
			return management.ErrNotFound()
		}
		c.Passwords = slices.Delete(c.Passwords, index, index+1)
		return nil
	})
	return err
}
