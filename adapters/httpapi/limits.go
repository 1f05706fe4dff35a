package httpapi

import (
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Rate is a token bucket. Zero means no limit.
type Rate struct {
	PerSecond float64 // refill
	Burst     int     // size of the bucket
}

// RateLimits are the limits of §10.2; the zero value has none.
type RateLimits struct {
	// Token limits flags requests by project key, IP by client address.
	Token, IP Rate
	// Definitions limits downloads of definitions by project, RemoteConfig those
	// of remote configuration by key.
	Definitions, RemoteConfig Rate
	// LogOnly counts and logs what would be refused, and refuses nothing.
	LogOnly bool
}

// DefaultRateLimits are PostHog's.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		Token: Rate{10, 625}, IP: Rate{50, 1250},
		Definitions: Rate{10, 600}, RemoteConfig: Rate{10, 600},
	}
}

// limiterKeys bounds each limiter: of more keys the least recently seen are
// forgotten, which lets them start with a full bucket.
const limiterKeys = 65536

// maxLimitedToken is the longest token that gets a bucket of its own, in bytes:
// longer ones belong to nobody and count for the address that sends them, so
// that what is remembered stays small.
const maxLimitedToken = 256

type limiters struct {
	token, ip, definitions, remoteConfig *limiter
	enabled                              bool
}

func newLimiters(c RateLimits) *limiters {
	l := &limiters{
		token: newLimiter("token", c.Token, c.LogOnly), ip: newLimiter("ip", c.IP, c.LogOnly),
		definitions:  newLimiter("definitions", c.Definitions, c.LogOnly),
		remoteConfig: newLimiter("remote_config", c.RemoteConfig, c.LogOnly),
	}
	l.enabled = c != RateLimits{} && c != RateLimits{LogOnly: true}
	return l
}

func (l *limiters) on() bool { return l.enabled }

type limiter struct {
	name    string
	rate    Rate
	logOnly bool
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(name string, r Rate, logOnly bool) *limiter {
	buckets, _ := lru.New[string, *rate.Limiter](limiterKeys) // fails only for sizes below 1
	return &limiter{name, r, logOnly, buckets}
}

// allow spends one request of a key. From 80 % use on it warns in a header.
func (l *limiter) allow(s *server, w http.ResponseWriter, key string) bool {
	if l.rate.Burst <= 0 {
		return true
	}
	bucket, ok := l.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		if old, had, _ := l.buckets.PeekOrAdd(strings.Clone(key), bucket); had {
			bucket = old
		}
	}
	now := time.Now()
	allowed := bucket.AllowN(now, 1)
	if !allowed {
		s.stats.rateLimited.Add(1)
		if l.logOnly {
			s.Logger.Warn("rate limit would refuse", "limit", l.name)
		}
	}
	if bucket.TokensAt(now) <= 0.2*float64(l.rate.Burst) {
		w.Header().Set(warningHeader, "true")
	}
	return allowed || l.logOnly
}
