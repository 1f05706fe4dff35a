package dashboards

import "github.com/bunting-flags/bunting/management"

// The kinds of records that belong to a link.
const (
	// kindSharing is the kind of the records of sharing configurations. Parent is the shared
	// object, and ID is always sharingID.
	kindSharing = "dashboard_sharing"
	sharingID   = "sharing"
	// kindShareToken is the kind of the records of tokens. Parent is the shared object, ID and
	// Unique the token.
	kindShareToken = "dashboard_share_token"
)

// sharePassword is the form of a password of a link in responses. Password is set only in the
// response that creates it.
type sharePassword struct {
	ID             string           `json:"id"`
	Password       string           `json:"password,omitempty"`
	Note           string           `json:"note"`
	Created        management.Stamp `json:"created_at"`
	CreatedByEmail string           `json:"created_by_email"`
}

// sharingRecord is the stored form of a sharing configuration.
type sharingRecord struct {
	Created          management.Stamp      `json:"created_at"`
	Enabled          bool                  `json:"enabled"`
	Token            string                `json:"access_token"`
	Settings         map[string]bool       `json:"settings,omitempty"`
	PasswordRequired bool                  `json:"password_required"`
	Salt             []byte                `json:"salt"` // for all passwords
	Passwords        []storedSharePassword `json:"passwords,omitempty"`
}

// storedSharePassword is the stored form of a password. Hash is its derived key, and Email is the address
// of the user who created it.
type storedSharePassword struct {
	ID      string           `json:"id"`
	Note    string           `json:"note"`
	Created management.Stamp `json:"created_at"`
	Email   string           `json:"created_by_email"`
	Hash    []byte           `json:"hash"`
}

// show returns the form of the password in responses, without the password.
func (p *storedSharePassword) show() sharePassword {
	return sharePassword{ID: p.ID, Note: p.Note, Created: p.Created, CreatedByEmail: p.Email}
}

// shareToken is the stored form of a token. Until is zero for the current token of a link, and the
// end of validity for a replaced one.
type shareToken struct {
	// Project is the project of the shared object. Dashboard is 0 if the link shows an insight.
	Project   int64            `json:"project"`
	Dashboard int64            `json:"dashboard"`
	Insight   int64            `json:"insight,omitempty"` // if not 0, the link shows this insight
	Until     management.Stamp `json:"until"`
}
