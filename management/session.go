package management

import "time"

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
