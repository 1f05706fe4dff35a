package management

import "time"

// ProofLife is how long a proof of who is there counts (console.md §5.1).
const ProofLife = 10 * time.Minute

// Session is a browser that somebody has signed in with, as it is stored: of its token
// the hash alone, in the record's Unique.
type Session struct {
	ID   string `json:"id"`
	User string `json:"user"` // uuid
	// Key is the hash of the key that it was made from, whose rights it has, empty for
	// those of the user.
	Key     string `json:"key,omitempty"`
	Method  string `json:"method"` // link, mail or key
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Created Stamp  `json:"created_at"`
	Seen    Stamp  `json:"seen_at"` // as exactly as a minute
	// ProvenAt is when somebody last proved who is there.
	ProvenAt Stamp `json:"proven_at"`
}

// RequireProof refuses a session whose last proof is too old for what wants a fresh one. Keys
// prove themselves with each request.
func (c *Caller) RequireProof(now time.Time) error {
	if c.Session == nil || now.Before(c.Session.ProvenAt.Add(ProofLife)) {
		return nil
	}
	return &Error{Kind: Forbidden, Code: "proof_required", Message: "Confirm that it is you: POST /api/session/proof/, then send this again."}
}
