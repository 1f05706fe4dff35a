package httpapi

import (
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
)

// Windows are the maximum numbers of requests of a key per minute and per hour. Zero means no
// limit.
type Windows struct{ PerMinute, PerHour int }

// ManagementLimits are the limits of spec/management.md §2.6. The zero value has no limits.
type ManagementLimits struct {
	// Default is for each key on all endpoints except those of Reads, which read events and
	// persons.
	Default, Reads Windows
	// Failures is for requests without a valid key, per client address. If the address was
	// forwarded by a trusted proxy, the proxy may send PeerFailures times as many in all.
	// Failures do not limit requests with valid keys.
	Failures Windows
	// Guesses limits passwords tried on shared dashboards per client address, Links per link. A
	// password that has been accepted before is not counted.
	Guesses, Links Windows
	// SignIns limits attempts to sign in per client address, Mails limits mailed links per
	// recipient address.
	SignIns, Mails Windows
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
}

// maxMistakes is the maximum number of error reports per session and minute (console.md N21).
const maxMistakes = 10

// PeerFailures is the factor by which one trusted proxy may exceed ManagementLimits.Failures,
// summed over all client addresses that it forwards.
const PeerFailures = 10

// DefaultManagementLimits returns the limits of §2.6 (decision 25). It also allows, per minute,
// 60 failed authentications, 20 passwords tried per address, 30 passwords tried per link and 10
// sign-ins per address, and, per hour, 5 mailed links per recipient.
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

// windowLimiter counts requests by key in windows of a minute and an hour. A window begins with
// the first request after the end of the previous window.
type windowLimiter struct {
	limits Windows
	keys   *lru.Cache[string, *windowCounts] // at most limiterKeys entries; the least recently used one is evicted and starts at zero later
}

// windowCounts are the windows of one key: each[0] is the minute and each[1] the hour.
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

// add counts a request. If the key is over a limit, add returns how long it has to wait, and does
// not count the request.
func (l *windowLimiter) add(key string, now time.Time) (wait time.Duration) {
	return l.addN(key, now, 1)
}

// check is like add but does not count a request.
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

// countFailure counts a request with an unknown key. If the client is over the limit, the result
// is the error of a throttled request, otherwise err. The caller must look up the key first, so
// that clients with valid keys are served even if they share an address with clients that guess
// keys.
func (s *server) countFailure(r *http.Request, err error) error {
	address, peer, now := s.ClientIP(r), geoip.ParseRemote(r.RemoteAddr), s.manageLimits.now()
	wait := s.manageLimits.failures.add(address.String(), now)
	if peer != address {
		wait = max(wait, s.manageLimits.peerFailures.add(peer.String(), now))
	}
	if wait > 0 {
		return s.throttleError(wait)
	}
	return err
}

// throttleError returns the error of a request that has to wait.
func (s *server) throttleError(wait time.Duration) error {
	s.rateLimited.Add(1)
	seconds := int((wait + time.Second - 1) / time.Second)
	plural := "s"
	if seconds == 1 {
		plural = ""
	}
	p := problem{Status: http.StatusTooManyRequests, Type: "throttled_error", Code: "throttled", RetryAfter: seconds}
	return p.setDetail("Request was throttled. Expected available in %d second%s.", seconds, plural)
}

// limit counts a request of an authorized key (§1.5, step 6).
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

// countGuess counts a password tried on a shared link that has not been accepted before, by
// address and by link. If either is over its limit, countGuess returns an error, and the caller
// must not check the password.
func (s *server) countGuess(r *http.Request, token string) error {
	l, now := s.manageLimits, s.manageLimits.now()
	address, link := s.ClientIP(r).String(), management.HashKey(token)
	if wait := max(l.guesses.check(address, now), l.links.check(link, now)); wait > 0 {
		return s.throttleError(wait)
	}
	if wait := max(l.guesses.add(address, now), l.links.add(link, now)); wait > 0 { // concurrent requests used the rest of the limit
		return s.throttleError(wait)
	}
	return nil
}
