package httpapi

import (
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
)

// Windows are how many requests a key may send. Zero means no limit.
type Windows struct{ PerMinute, PerHour int }

// ManagementLimits are the limits of spec/management.md §2.6; the zero value has
// none.
type ManagementLimits struct {
	// Default is for each key on all endpoints but those of Reads, which read events
	// and persons.
	Default, Reads Windows
	// Failures is for requests without a valid key, by client address; by the peer
	// that speaks for it, where that is another, there may be PeerFailures times as
	// many. Valid keys are not held up by them.
	Failures Windows
	// Guesses are passwords of shared dashboards that have not been right before, by
	// client address, Links the same by link.
	Guesses, Links Windows
	// SignIns are attempts to sign in, by client address; Mails are mailed links, by the
	// address that they go to.
	SignIns, Mails Windows
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// maxMistakes is how many reports of a session are taken in a minute (console.md N21).
const maxMistakes = 10

// PeerFailures is how many times ManagementLimits.Failures one trusted proxy may
// bring in all, whatever addresses it names.
const PeerFailures = 10

// DefaultManagementLimits are those of §2.6 (decision 25), sixty failed
// authentications a minute, twenty guesses of passwords an address, thirty a link, and
// ten sign-ins a minute from an address, five mailed links an hour to one.
func DefaultManagementLimits() ManagementLimits {
	return ManagementLimits{
		Default: Windows{PerMinute: 480, PerHour: 4800}, Reads: Windows{PerMinute: 240, PerHour: 1200},
		Failures: Windows{PerMinute: 60}, Guesses: Windows{PerMinute: 20, PerHour: 200}, Links: Windows{PerMinute: 30, PerHour: 300},
		SignIns: Windows{PerMinute: 10}, Mails: Windows{PerHour: 5},
	}
}

// managementLimiters count the requests to the management API.
type managementLimiters struct {
	now                                      func() time.Time
	byDefault, reads, failures, peerFailures *windowLimiter
	guesses, links, signIns, signInMails     *windowLimiter
	mistakes                                 *windowLimiter
}

func newManagementLimiters(c ManagementLimits) *managementLimiters {
	if c.Now == nil {
		c.Now = time.Now
	}
	peers := Windows{c.Failures.PerMinute * PeerFailures, c.Failures.PerHour * PeerFailures}
	return &managementLimiters{
		now: c.Now, byDefault: newWindowLimiter(c.Default), reads: newWindowLimiter(c.Reads), failures: newWindowLimiter(c.Failures), peerFailures: newWindowLimiter(peers),
		guesses: newWindowLimiter(c.Guesses), links: newWindowLimiter(c.Links),
		signIns: newWindowLimiter(c.SignIns), signInMails: newWindowLimiter(c.Mails),
		mistakes: newWindowLimiter(Windows{PerMinute: maxMistakes}),
	}
}

// windowLimiter counts by key in stretches of time that begin with a request.
type windowLimiter struct {
	limits Windows
	keys   *lru.Cache[string, *windowCounts] // at most limiterKeys: of more the least recently seen begin anew
}

type windowCounts struct {
	mu   sync.Mutex
	each [2]window
}

type window struct {
	began time.Time
	n     int
}

func newWindowLimiter(limits Windows) *windowLimiter {
	keys, _ := lru.New[string, *windowCounts](limiterKeys) // fails only for sizes below 1
	return &windowLimiter{limits, keys}
}

// add counts a request. Over a limit it returns how long the key has to wait.
func (l *windowLimiter) add(key string, now time.Time) (wait time.Duration) {
	return l.addN(key, now, 1)
}

// check is take without counting.
func (l *windowLimiter) check(key string, now time.Time) (wait time.Duration) {
	return l.addN(key, now, 0)
}

func (l *windowLimiter) addN(key string, now time.Time, n int) (wait time.Duration) {
	if l.limits == (Windows{}) {
		return 0
	}
	counts, ok := l.keys.Get(key)
	if !ok {
		counts = &windowCounts{}
		if old, exists, _ := l.keys.PeekOrAdd(key, counts); exists {
			counts = old
		}
	}
	counts.mu.Lock()
	defer counts.mu.Unlock()
	spans := [2]struct {
		long  time.Duration
		limit int
	}{{time.Minute, l.limits.PerMinute}, {time.Hour, l.limits.PerHour}}
	for i, s := range spans {
		w := &counts.each[i]
		if age := now.Sub(w.began); age >= s.long || age < 0 {
			*w = window{began: now}
		}
		if s.limit > 0 && w.n >= s.limit {
			wait = max(wait, w.began.Add(s.long).Sub(now))
		}
	}
	if wait == 0 {
		for i := range counts.each {
			counts.each[i].n += n
		}
	}
	return wait
}

// countFailure counts a request whose key nobody has. Over the limit the answer is that its
// sender has to wait, else err. It comes after the key has been looked up, so that
// whoever has a valid one is served, also behind one address with those who guess.
func (s *server) countFailure(r *http.Request, err error) error {
	address, peer, now := s.clientIP(r), geoip.ParseRemote(r.RemoteAddr), s.manageLimits.now()
	wait := s.manageLimits.failures.add(address.String(), now)
	if peer != address {
		wait = max(wait, s.manageLimits.peerFailures.add(peer.String(), now))
	}
	if wait > 0 {
		return s.throttleError(wait)
	}
	return err
}

// throttleError is the refusal of a key that has to wait.
func (s *server) throttleError(wait time.Duration) error {
	s.stats.rateLimited.Add(1)
	seconds := int((wait + time.Second - 1) / time.Second)
	plural := "s"
	if seconds == 1 {
		plural = ""
	}
	p := problem{Status: http.StatusTooManyRequests, Type: "throttled_error", Code: "throttled", RetryAfter: seconds}
	return p.setDetail("Request was throttled. Expected available in %d second%s.", seconds, plural)
}

// limit counts a request of a key that may do what it asks for (§1.5, step 6).
func (s *server) limit(keyHash string, read bool) error {
	l := s.manageLimits.byDefault
	if read {
		l = s.manageLimits.reads
	}
	if wait := l.add(keyHash, s.manageLimits.now()); wait > 0 {
		return s.throttleError(wait)
	}
	return nil
}

// countGuess counts a password of a link that has not been right before, by address and by
// link: over the limit of either it is not to be looked at.
func (s *server) countGuess(r *http.Request, token string) error {
	l, now := s.manageLimits, s.manageLimits.now()
	address, link := s.clientIP(r).String(), management.HashKey(token)
	if wait := max(l.guesses.check(address, now), l.links.check(link, now)); wait > 0 {
		return s.throttleError(wait)
	}
	if wait := max(l.guesses.add(address, now), l.links.add(link, now)); wait > 0 { // others came first
		return s.throttleError(wait)
	}
	return nil
}
