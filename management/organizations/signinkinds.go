package organizations

import "github.com/bunting-flags/bunting/management"

// The kinds of records with which a user signs in. Parent of each is the uuid of the user.
const (
	// kindSession is the kind of records of sessions: Sort is the time when it started, Unique the
	// hash of its token.
	kindSession = "session"
	// kindLink is the kind of records of links for signing in: Unique is the hash of the token. A
	// link is valid for one use.
	kindLink = "sign_in_link"
	// kindPasskey is the kind of records of passkeys: Unique is the hash of the credential's id.
	kindPasskey = "passkey"
	// kindIdentity is the kind of records of accounts at providers of OpenID Connect: ID and Unique
	// are the hash of issuer and subject.
	kindIdentity = "oidc_identity"
)

// signInKinds are the kinds of records that are deleted with their user.
var signInKinds = []string{kindSession, kindLink, kindPasskey, kindIdentity}

// hasIdentity reports whether an account at a provider is linked to a user.
func hasIdentity(tx Tx, uuid string) (bool, error) {
	list, _, err := tx.List(management.Query{Kind: kindIdentity, Parent: uuid, Limit: 1})
	return len(list) > 0, err
}
