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

// Rate is the rate of a token bucket. The zero value means no limit.
type Rate struct {
	PerSecond float64 // refill rate, in requests per second
	Burst     int     // capacity of the bucket, in requests
}

// ParseRate parses a rate such as 1200/minute: the number is the burst, and the bucket refills
// completely in the given unit. Units are second, minute, hour and day. The error describes the
// expected form.
func ParseRate(text string) (Rate, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	period := rateUnits[strings.TrimSpace(unit)]
	if err != nil || n <= 0 || period == 0 {
		return Rate{}, fmt.Errorf("expected a rate such as 1200/minute, not %q", text)
	}
	return Rate{float64(n) / period.Seconds(), n}, nil
}

var rateUnits = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

// MaxTokenRates is the maximum number of project keys with a rate of their own.
const MaxTokenRates = 100

// RateLimits are the limits of §10.2. The zero value has no limits.
type RateLimits struct {
	// Token limits flags requests by project key, and IP by client address.
	Token, IP Rate
	// Definitions limits downloads of definitions by project, and RemoteConfig reads of remote
	// configuration by key.
	Definitions, RemoteConfig Rate
	// LogOnly counts and logs requests above the limits, but does not reject them.
	LogOnly bool
}

// DefaultRateLimits returns the limits of PostHog.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		Token: Rate{10, 625}, IP: Rate{50, 1250},
		Definitions: Rate{10, 600}, RemoteConfig: Rate{10, 600},
	}
}

// limiterKeys is the maximum number of keys in each limiter. Beyond it, the least recently used
// keys are dropped and start with a full bucket when they return.
const limiterKeys = 65536

// maxLimitedToken is the maximum length of a token with a bucket of its own, in bytes. Longer
// tokens are invalid in any case, and are counted for the client address, to limit the memory for
// keys.
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
	secret  bool            // keys are secrets and must not be logged
	own     map[string]Rate // keys with a rate of their own
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(name string, r Rate, logOnly bool) *limiter {
	buckets, _ := lru.New[string, *rate.Limiter](limiterKeys) // only sizes below 1 are an error
	return &limiter{name: name, rate: r, logOnly: logOnly, buckets: buckets}
}

// maskKey returns the key for the log. Personal and secret keys are hidden; project keys and
// addresses are not secret.
func (l *limiter) maskKey(key string) string {
	if l.secret {
		return "(hidden)"
	}
	return key
}

// allow counts one request of a key and reports whether it is allowed. It sets the warning header
// if at least 80 % of the burst is used.
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
		s.rateLimited.Add(1)
		if l.logOnly {
			s.Logger.Warn("rate limit exceeded, request allowed because limits are only logged", "limit", l.name, "key", l.maskKey(key))
		}
	}
	if bucket.TokensAt(now) <= 0.2*float64(limit.Burst) {
		w.Header().Set(warningHeader, "true")
	}
	return allowed || l.logOnly
}
