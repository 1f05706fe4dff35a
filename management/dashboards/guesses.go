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

const (
	// maxGuesses is how many guesses of passwords are looked at or wait, maxLinkGuesses
	// how many of one link: the next ones are refused, so that who guesses at one link
	// keeps nobody from another. One is derived at a time.
	maxGuesses     = 16
	maxLinkGuesses = 2
	// maxRememberedPasswords is how many right passwords are remembered, as a keyed hash.
	maxRememberedPasswords = 10_000
)

// guesses bounds the work that passwords of links make, which anybody may ask for.
type guesses struct {
	key      [32]byte                   // of the names of right passwords, this process's own
	right    *lru.Cache[[32]byte, bool] // of more the oldest is forgotten
	deriving chan struct{}
	mu       sync.Mutex
	all      int
	byLink   map[string]int
}

func newGuesses() *guesses {
	g := &guesses{deriving: make(chan struct{}, 1), byLink: map[string]int{}}
	_, _ = rand.Read(g.key[:]) // never fails
	g.right, _ = lru.New[[32]byte, bool](maxRememberedPasswords)
	return g
}

// name is a password of a link that has just these passwords, without telling it.
func (g *guesses) name(c *sharingRecord, password string) (out [32]byte) {
	h := hmac.New(sha256.New, g.key[:])
	h.Write(c.Salt)
	for i := range c.Passwords {
		h.Write(c.Passwords[i].Hash)
	}
	h.Write([]byte(password))
	h.Sum(out[:0])
	return out
}

func (g *guesses) isRemembered(name [32]byte) bool { return g.right.Contains(name) }

func (g *guesses) remember(name [32]byte) { g.right.Add(name, true) }

// begin waits for the turn of a guess, which done ends. Where too many wait it is
// refused at once.
func (g *guesses) begin(ctx context.Context, link string) (done func(), err error) {
	g.mu.Lock()
	if g.all >= maxGuesses || g.byLink[link] >= maxLinkGuesses {
		g.mu.Unlock()
		return nil, &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Too many passwords are being looked at. Try again in a moment."}
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
