package admission

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
)

// Windows are the maximum numbers of requests of a key per minute and per hour. Zero means no
// limit.
type Windows struct{ PerMinute, PerHour int }

// Limits are the limits of spec/management.md §2.6: see ManagementLimits of package httpapi.
type Limits struct {
	Default, Reads, Failures, Guesses, Links, SignIns, Mails Windows
	Now                                                      func() time.Time
}

// maxMistakes is the maximum number of error reports per session and minute (console.md N21).
const maxMistakes = 10

// PeerFailures is the factor by which one trusted proxy may exceed Limits.Failures.
const PeerFailures = 10

// Management count the requests to the management API.
type Management struct {
	client addresser
	// rejected counts the requests over a limit.
	rejected                                 *atomic.Uint64
	Now                                      func() time.Time
	byDefault, reads, Failures, peerFailures *windowLimiter
	Guesses, links, SignIns, SignInMails     *windowLimiter
	Mistakes                                 *windowLimiter
}

// NewManagement returns the counts of a server. client finds the address of a client, and rejected
// counts the requests over a limit.
func NewManagement(c Limits, client addresser, rejected *atomic.Uint64) *Management {
	if c.Now == nil {
		c.Now = time.Now
	}
	peers := Windows{c.Failures.PerMinute * PeerFailures, c.Failures.PerHour * PeerFailures}
	return &Management{
		client: client, rejected: rejected,
		Now: c.Now, byDefault: newWindowLimiter(c.Default), reads: newWindowLimiter(c.Reads), Failures: newWindowLimiter(c.Failures), peerFailures: newWindowLimiter(peers),
		Guesses: newWindowLimiter(c.Guesses), links: newWindowLimiter(c.Links),
		SignIns: newWindowLimiter(c.SignIns), SignInMails: newWindowLimiter(c.Mails),
		Mistakes: newWindowLimiter(Windows{PerMinute: maxMistakes}),
	}
}

// windowLimiter counts requests by key in windows of a minute and an hour. A window begins with
// the first request after the end of the previous window.
type windowLimiter struct {
	limits Windows
	keys   keyed[*windowCounts] // a dropped key starts at zero later
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
	return &windowLimiter{limits, newKeyed[*windowCounts]()}
}

// Add counts a request. If the key is over a limit, add returns how long it has to wait, and does
// not count the request.
func (l *windowLimiter) Add(key string, now time.Time) (wait time.Duration) {
	return l.addN(key, now, 1)
}

// Check is like add but does not count a request.
func (l *windowLimiter) Check(key string, now time.Time) (wait time.Duration) {
	return l.addN(key, now, 0)
}

func (l *windowLimiter) addN(key string, now time.Time, n int) (wait time.Duration) {
	if l.limits == (Windows{}) {
		return 0
	}
	counts := l.keys.get(key, func() *windowCounts { return &windowCounts{} })
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

// CountFailure counts a request with an unknown key. If the client is over the limit, the result
// is the error of a throttled request, otherwise err. The caller must look up the key first, so
// that clients with valid keys are served even if they share an address with clients that guess
// keys.
func (l *Management) CountFailure(r *http.Request, err error) error {
	address, peer, now := l.client.ClientIP(r), geoip.ParseRemote(r.RemoteAddr), l.Now()
	wait := l.Failures.Add(address.String(), now)
	if peer != address {
		wait = max(wait, l.peerFailures.Add(peer.String(), now))
	}
	if wait > 0 {
		return l.Throttle(wait)
	}
	return err
}

// Throttle returns the error of a request that has to wait.
func (l *Management) Throttle(wait time.Duration) error {
	l.rejected.Add(1)
	seconds := int((wait + time.Second - 1) / time.Second)
	plural := "s"
	if seconds == 1 {
		plural = ""
	}
	p := problem.Problem{Status: http.StatusTooManyRequests, Type: "throttled_error", Code: "throttled", RetryAfter: seconds}
	return p.Detailed("Request was throttled. Expected available in %d second%s.", seconds, plural)
}

// Limit counts a request of an authorized key (§1.5, step 6).
func (l *Management) Limit(keyHash string, read bool) error {
	windows := l.byDefault
	if read {
		windows = l.reads
	}
	if wait := windows.Add(keyHash, l.Now()); wait > 0 {
		return l.Throttle(wait)
	}
	return nil
}

// CountGuess counts a password tried on a shared link that has not been accepted before, by
// address and by link. If either is over its limit, CountGuess returns an error, and the caller
// must not check the password.
func (l *Management) CountGuess(r *http.Request, token string) error {
	now := l.Now()
	address, link := l.client.ClientIP(r).String(), management.HashKey(token)
	if wait := max(l.Guesses.Check(address, now), l.links.Check(link, now)); wait > 0 {
		return l.Throttle(wait)
	}
	if wait := max(l.Guesses.Add(address, now), l.links.Add(link, now)); wait > 0 { // concurrent requests used the rest of the limit
		return l.Throttle(wait)
	}
	return nil
}
