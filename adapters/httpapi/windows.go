package httpapi

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
)

// windowLimits are the maximum numbers of requests of a key per minute and per hour. Zero means no
// limit.
type windowLimits struct{ PerMinute, PerHour int }

// managementWindows are the limits of spec/management.md §2.6: see ManagementLimits.
type managementWindows struct {
	Default, Reads, Failures, Guesses, Links, SignIns, Mails windowLimits
	Now                                                      func() time.Time
}

// maxMistakes is the maximum number of error reports per session and minute (console.md N21).
const maxMistakes = 10

// peerFailures is PeerFailures.
const peerFailures = 10

// managementLimiters count the requests to the management API.
type managementLimiters struct {
	client addresser
	// rejected counts the requests over a limit.
	rejected                                 *atomic.Uint64
	now                                      func() time.Time
	byDefault, reads, failures, peerFailures *windowLimiter
	guesses, links, signIns, signInMails     *windowLimiter
	mistakes                                 *windowLimiter
}

func newManagementLimiters(c managementWindows, client addresser, rejected *atomic.Uint64) *managementLimiters {
	if c.Now == nil {
		c.Now = time.Now
	}
	peers := windowLimits{c.Failures.PerMinute * peerFailures, c.Failures.PerHour * peerFailures}
	return &managementLimiters{
		client: client, rejected: rejected,
		now: c.Now, byDefault: newWindowLimiter(c.Default), reads: newWindowLimiter(c.Reads), failures: newWindowLimiter(c.Failures), peerFailures: newWindowLimiter(peers),
		guesses: newWindowLimiter(c.Guesses), links: newWindowLimiter(c.Links),
		signIns: newWindowLimiter(c.SignIns), signInMails: newWindowLimiter(c.Mails),
		mistakes: newWindowLimiter(windowLimits{PerMinute: maxMistakes}),
	}
}

// windowLimiter counts requests by key in windows of a minute and an hour. A window begins with
// the first request after the end of the previous window.
type windowLimiter struct {
	limits windowLimits
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

func newWindowLimiter(limits windowLimits) *windowLimiter {
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
	if l.limits == (windowLimits{}) {
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
func (l *managementLimiters) countFailure(r *http.Request, err error) error {
	address, peer, now := l.client.ClientIP(r), geoip.ParseRemote(r.RemoteAddr), l.now()
	wait := l.failures.add(address.String(), now)
	if peer != address {
		wait = max(wait, l.peerFailures.add(peer.String(), now))
	}
	if wait > 0 {
		return l.throttleError(wait)
	}
	return err
}

// throttleError returns the error of a request that has to wait.
func (l *managementLimiters) throttleError(wait time.Duration) error {
	l.rejected.Add(1)
	seconds := int((wait + time.Second - 1) / time.Second)
	plural := "s"
	if seconds == 1 {
		plural = ""
	}
	p := problem.Problem{Status: http.StatusTooManyRequests, Type: "throttled_error", Code: "throttled", RetryAfter: seconds}
	return p.Detailed("Request was throttled. Expected available in %d second%s.", seconds, plural)
}

// limit counts a request of an authorized key (§1.5, step 6).
func (l *managementLimiters) limit(keyHash string, read bool) error {
	windows := l.byDefault
	if read {
		windows = l.reads
	}
	if wait := windows.add(keyHash, l.now()); wait > 0 {
		return l.throttleError(wait)
	}
	return nil
}

// countGuess counts a password tried on a shared link that has not been accepted before, by
// address and by link. If either is over its limit, countGuess returns an error, and the caller
// must not check the password.
func (l *managementLimiters) countGuess(r *http.Request, token string) error {
	now := l.now()
	address, link := l.client.ClientIP(r).String(), management.HashKey(token)
	if wait := max(l.guesses.check(address, now), l.links.check(link, now)); wait > 0 {
		return l.throttleError(wait)
	}
	if wait := max(l.guesses.add(address, now), l.links.add(link, now)); wait > 0 { // concurrent requests used the rest of the limit
		return l.throttleError(wait)
	}
	return nil
}
