package dashboards

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bunting-flags/bunting/management"
)

// The limits of guesses.
const (
	// maxGuesses is the greatest number of passwords that are checked or wait for it, and
	// maxLinkGuesses that number for one link. More are rejected, so that an attack on one link
	// does not block the others. Only one key is derived at a time.
	maxGuesses     = 16
	maxLinkGuesses = 2
	// maxRememberedPasswords is the number of correct passwords that are cached, in the form of a
	// keyed hash.
	maxRememberedPasswords = 10_000
)

// passwordChecks limits the work for checking passwords of links. Every visitor can cause this work, and
// each check costs a key derivation. It may be used concurrently.
type passwordChecks struct {
	// key is the key of the hashes in right. It is random for each process.
	key [32]byte
	// right has the hashes of correct passwords. It evicts the oldest.
	right *lru.Cache[[32]byte, bool]
	// deriving holds a value while a key is derived.
	deriving chan struct{}
	// mu guards all, the number of checks that run or wait, and byLink, that number for each token.
	mu     sync.Mutex
	all    int
	byLink map[string]int
}

// newGuesses returns guesses with an empty cache and a random key.
func newGuesses() *passwordChecks {
	g := &passwordChecks{deriving: make(chan struct{}, 1), byLink: map[string]int{}}
	_, _ = rand.Read(g.key[:]) // never fails
	g.right, _ = lru.New[[32]byte, bool](maxRememberedPasswords)
	return g
}

// cacheKey returns the cache key of a password. It also depends on the link's salt and passwords, so
// that a change of these invalidates the entry, and it does not disclose the password.
func (g *passwordChecks) cacheKey(c *sharingRecord, password string) (out [32]byte) {
	h := hmac.New(sha256.New, g.key[:])
	h.Write(c.Salt)
	for i := range c.Passwords {
		h.Write(c.Passwords[i].Hash)
	}
	h.Write([]byte(password))
	h.Sum(out[:0])
	return out
}

// isRemembered reports whether a password was correct before, by its cache key.
func (g *passwordChecks) isRemembered(name [32]byte) bool { return g.right.Contains(name) }

// remember caches that a password is correct.
func (g *passwordChecks) remember(name [32]byte) { g.right.Add(name, true) }

// begin waits until a check of a password may run. The caller must call done after the check. If
// too many checks wait already, it returns an error of kind Unavailable at once.
func (g *passwordChecks) begin(ctx context.Context, link string) (done func(), err error) {
	g.mu.Lock()
	if g.all >= maxGuesses || g.byLink[link] >= maxLinkGuesses {
		g.mu.Unlock()
		return nil, &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Too many passwords are being checked. Try again in a moment."}
	}
	g.all++
	g.byLink[link]++
	g.mu.Unlock()
	release := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.byLink[link]--; g.byLink[link] == 0 {
			delete(g.byLink, link)
		}
	}
	select {
	case g.deriving <- struct{}{}:
		return func() { <-g.deriving; release() }, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}
