package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Rate is a token bucket. Zero means no limit.
type Rate struct {
	PerSecond float64 // refill, in requests a second
	Burst     int     // size of the bucket, in requests
}

// ParseRate reads a rate such as 1200/minute: so many at once, refilled in that
// time. Units are second, minute, hour and day. The error says what is wanted.
func ParseRate(text string) (Rate, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	period := rateUnits[strings.TrimSpace(unit)]
	if err != nil || n <= 0 || period == 0 {
		return Rate{}, fmt.Errorf("want a rate such as 1200/minute, not %q", text)
	}
	return Rate{float64(n) / period.Seconds(), n}, nil
}

var rateUnits = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

// MaxTokenRates is how many project keys may have a limit of their own.
const MaxTokenRates = 100

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

func newLimiters(c RateLimits, tokens map[string]Rate) *limiters {
	l := &limiters{
		token: newLimiter("token", c.Token, c.LogOnly), ip: newLimiter("ip", c.IP, c.LogOnly),
		definitions:  newLimiter("definitions", c.Definitions, c.LogOnly),
		remoteConfig: newLimiter("remote_config", c.RemoteConfig, c.LogOnly),
	}
	l.token.own, l.remoteConfig.secret = tokens, true
	l.enabled = c != RateLimits{} && c != RateLimits{LogOnly: true}
	return l
}

type limiter struct {
	name    string
	rate    Rate
	logOnly bool
	secret  bool            // its keys are secrets
	own     map[string]Rate // keys with a limit of their own
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(name string, r Rate, logOnly bool) *limiter {
	buckets, _ := lru.New[string, *rate.Limiter](limiterKeys) // fails only for sizes below 1
	return &limiter{name: name, rate: r, logOnly: logOnly, buckets: buckets}
}

// maskKey is a key as the log may have it: project keys and addresses are no
// secrets, personal and secret keys are.
func (l *limiter) maskKey(key string) string {
	if l.secret {
		return "(hidden)"
	}
	return key
}

// allow spends one request of a key. From 80 % use on it warns in a header.
func (l *limiter) allow(s *server, w http.ResponseWriter, key string) bool {
	limit := l.rate
	if own, ok := l.own[key]; ok {
		limit = own
	}
	if limit.Burst <= 0 {
		return true
	}
	bucket, ok := l.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)
		if old, had, _ := l.buckets.PeekOrAdd(strings.Clone(key), bucket); had {
			bucket = old
		}
	}
	now := time.Now()
	allowed := bucket.AllowN(now, 1)
	if !allowed {
		s.stats.rateLimited.Add(1)
		if l.logOnly {
			s.Logger.Warn("rate limit would refuse", "limit", l.name, "key", l.maskKey(key))
		}
	}
	if bucket.TokensAt(now) <= 0.2*float64(limit.Burst) {
		w.Header().Set(warningHeader, "true")
	}
	return allowed || l.logOnly
}
