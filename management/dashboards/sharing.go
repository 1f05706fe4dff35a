package dashboards

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

const (
	// kindSharing is how a dashboard is shared: Parent is the dashboard, ID the same
	// for all.
	kindSharing = "dashboard_sharing"
	sharingID   = "sharing"
	// kindShareToken is a token of a link: Parent is the dashboard, ID and Unique the
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
	Until     management.Stamp `json:"until"`
}

func putSharing(tx management.Tx, dashboard int64, c *sharingRecord) error {
	return tx.Put(&management.Record{Kind: kindSharing, Parent: dashboardParent(dashboard), ID: sharingID, Data: management.Encode(c)})
}

func putShareToken(tx management.Tx, token string, t shareToken) error {
	return tx.Put(&management.Record{Kind: kindShareToken, Parent: dashboardParent(t.Dashboard), ID: token, Unique: token, Data: management.Encode(t)})
}

// sharingOf returns how a dashboard is shared, nil while nobody has asked yet.
func sharingOf(tx management.Tx, dashboard int64) (*sharingRecord, error) {
	r, err := tx.Get(kindSharing, dashboardParent(dashboard), sharingID)
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

// someSharing is sharingOf, which makes what is not there: the token stays the
// same from the first look on.
func (s Dashboards) someSharing(tx management.Tx, st *management.Standing, d *dashboardRecord) (*sharingRecord, error) {
	c, err := sharingOf(tx, d.ID)
	if err != nil || c != nil {
		return c, err
	}
	c = &sharingRecord{Created: management.At(s.Desk.Now()), Token: newShareToken(), Salt: randomBytes(16)}
	if err := putShareToken(tx, c.Token, shareToken{Project: st.Project.ID, Dashboard: d.ID}); err != nil {
		return nil, err
	}
	return c, putSharing(tx, d.ID, c)
}

// Sharing returns how a dashboard is shared.
func (s Dashboards) Sharing(ctx context.Context, st *management.Standing, dashboard string) (*sharing, error) {
	c, err := management.Read(ctx, &s.Desk, func(tx management.Tx) (*sharingRecord, error) {
		d, err := parentDashboard(tx, st, dashboard)
		if err != nil {
			return nil, err
		}
		return sharingOf(tx, d.ID)
	})
	if err == nil && c == nil {
		c, err = management.Write(ctx, &s.Desk, func(tx management.Tx) (*sharingRecord, error) {
			d, err := parentDashboard(tx, st, dashboard)
			if err != nil {
				return nil, err
			}
			return s.someSharing(tx, st, d)
		})
	}
	if err != nil {
		return nil, err
	}
	return c.show(), nil
}

// ownSharing finds a dashboard and how it is shared for somebody who wants to
// change that.
func (s Dashboards) ownSharing(tx management.Tx, st *management.Standing, dashboard string) (*dashboardRecord, *sharingRecord, error) {
	d, err := parentDashboard(tx, st, dashboard)
	if err != nil {
		return nil, nil, err
	}
	if err := d.mayEdit(tx, st); err != nil {
		return nil, nil, err
	}
	meta, err := management.MetaOfOrganization(st.Organization)
	if err == nil && meta.NoPublicSharing {
		err = management.Denied("Public sharing is disabled for this organization.")
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := s.someSharing(tx, st, d)
	return d, c, err
}

// changeSharing runs change on how a dashboard is shared, saves it and notes what
// is other now.
func (s Dashboards) changeSharing(ctx context.Context, st *management.Standing, dashboard string, change func(management.Tx, *dashboardRecord, *sharingRecord) error) (*sharing, error) {
	c, err := management.Write(ctx, &s.Desk, func(tx management.Tx) (*sharingRecord, error) {
		d, c, err := s.ownSharing(tx, st, dashboard)
		if err != nil {
			return nil, err
		}
		before := c.noted()
		if err := change(tx, d, c); err != nil {
			return nil, err
		}
		if err := putSharing(tx, d.ID, c); err != nil {
			return nil, err
		}
		if d.Shared != c.Enabled {
			d.Shared = c.Enabled
			if err := s.dashboards.Put(&view{Tx: tx, Standing: st}, d); err != nil {
				return nil, err
			}
		}
		return c, s.noteDashboard(tx, st, d, before, c.noted())
	})
	if err != nil {
		return nil, err
	}
	return c.show(), nil
}

// sharingNote is what the log tells of sharing: no token, and no password.
type sharingNote struct {
	Enabled          bool            `json:"sharing_enabled"`
	Settings         map[string]bool `json:"sharing_settings"`
	PasswordRequired bool            `json:"sharing_password_required"`
	Passwords        []string        `json:"sharing_passwords"` // their ids
}

func (c *sharingRecord) noted() sharingNote {
	out := sharingNote{Enabled: c.Enabled, Settings: c.Settings, PasswordRequired: c.PasswordRequired}
	for i := range c.Passwords {
		out.Passwords = append(out.Passwords, c.Passwords[i].ID)
	}
	return out
}

// UpdateSharing turns sharing on or off and changes its settings.
func (s Dashboards) UpdateSharing(ctx context.Context, st *management.Standing, dashboard string, b management.Body) (*sharing, error) {
	return s.changeSharing(ctx, st, dashboard, func(_ management.Tx, _ *dashboardRecord, c *sharingRecord) error {
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
		value, there := members[name]
		switch kind := management.JSONKind(value); {
		case !there || kind == "NoneType":
		case kind != "bool":
			return nil, wrong
		default:
			out[name] = string(value) == "true"
		}
	}
	return out, nil
}

// RefreshSharing gives a dashboard a new token; the old one works for
// shareTokenGrace, and those before it no longer.
func (s Dashboards) RefreshSharing(ctx context.Context, st *management.Standing, dashboard string) (*sharing, error) {
	return s.changeSharing(ctx, st, dashboard, func(tx management.Tx, d *dashboardRecord, c *sharingRecord) error {
		if err := tx.DeleteUnder(kindShareToken, dashboardParent(d.ID)); err != nil {
			return err
		}
		old := shareToken{Project: st.Project.ID, Dashboard: d.ID, Until: management.At(s.Desk.Now().Add(shareTokenGrace))}
		if err := putShareToken(tx, c.Token, old); err != nil {
			return err
		}
		c.Token = newShareToken()
		if err := putShareToken(tx, c.Token, shareToken{Project: st.Project.ID, Dashboard: d.ID}); err != nil {
			return err
		}
		return s.Desk.NoteAs(tx, st.Caller, management.ProjectParent(st.Project.ID), "access_token_refreshed", dashboardScope, strconv.FormatInt(d.ID, 10),
			management.ActivityDetail{Name: d.title(), Changes: []management.Change{}})
	})
}

// DeleteSharePassword takes a password of a link away.
func (s Dashboards) DeleteSharePassword(ctx context.Context, st *management.Standing, dashboard, id string) error {
	_, err := s.changeSharing(ctx, st, dashboard, func(_ management.Tx, _ *dashboardRecord, c *sharingRecord) error {
		id, ok := management.NormalUUID(id)
		at := slices.IndexFunc(c.Passwords, func(p sharePassword) bool { return p.ID == id })
		if !ok || at < 0 {
			return management.ErrNotFound()
		}
		c.Passwords = slices.Delete(c.Passwords, at, at+1)
		return nil
	})
	return err
}
