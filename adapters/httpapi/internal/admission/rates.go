package admission

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Rate is the rate of a token bucket. The zero value means no limit.
type Rate struct {
	PerSecond float64 // refill rate, in requests per second
	Burst     int     // capacity of the bucket, in requests
}

// Rates are the limits of §10.2: see RateLimits of package httpapi.
type Rates struct {
	Token, IP, Definitions, RemoteConfig Rate
	LogOnly                              bool
}

// limiterKeys is the maximum number of keys in each limiter.
const limiterKeys = 65536

// keyed has a value for each of at most limiterKeys keys. Beyond that, the least recently used keys
// are dropped and start anew when they return. It is safe for concurrent use.
type keyed[V any] struct{ entries *lru.Cache[string, V] }

func newKeyed[V any]() keyed[V] {
	entries, _ := lru.New[string, V](limiterKeys) // only sizes below 1 are an error
	return keyed[V]{entries}
}

// get returns the value of a key, which fresh creates if there is none.
func (k keyed[V]) get(key string, fresh func() V) V {
	v, ok := k.entries.Get(key)
	if !ok {
		v = fresh()
		if old, had, _ := k.entries.PeekOrAdd(strings.Clone(key), v); had {
			v = old
		}
	}
	return v
}

// MaxLimitedToken is the maximum length of a token with a bucket of its own, in bytes. Longer
// tokens are invalid in any case, and are counted for the client address, to limit the memory for
// keys.
const MaxLimitedToken = 256

// Limiters count requests for flags, definitions and remote configuration.
type Limiters struct {
	Token, IP, Definitions, RemoteConfig *limiter
	Enabled                              bool
}

// NewLimiters returns limiters with rates of their own for some tokens. rejected counts the requests
// over a limit.
func NewLimiters(c Rates, tokens map[string]Rate, rejected *atomic.Uint64, log *slog.Logger) *Limiters {
	limit := func(name string, r Rate) *limiter {
		return &limiter{name: name, rate: r, logOnly: c.LogOnly, buckets: newKeyed[*rate.Limiter](), rejected: rejected, log: log}
	}
	l := &Limiters{
		Token: limit("token", c.Token), IP: limit("ip", c.IP),
		Definitions: limit("definitions", c.Definitions), RemoteConfig: limit("remote_config", c.RemoteConfig),
	}
	l.Token.own, l.RemoteConfig.secret = tokens, true
	l.Enabled = c != Rates{} && c != Rates{LogOnly: true}
	return l
}

type limiter struct {
	name    string
	rate    Rate
	logOnly bool
	secret  bool                 // keys are secrets and must not be logged
	own     map[string]Rate      // keys with a rate of their own
	buckets keyed[*rate.Limiter] // a dropped key starts with a full bucket later

	rejected *atomic.Uint64
	log      *slog.Logger
}

// maskKey returns the key for the log. Personal and secret keys are hidden; project keys and
// addresses are not secret.
func (l *limiter) maskKey(key string) string {
	if l.secret {
		return "(hidden)"
	}
	return key
}

// Allow counts one request of a key and reports whether it is allowed. It sets the warning header
// if at least 80 % of the burst is used.
func (l *limiter) Allow(w http.ResponseWriter, key string) bool {
	limit := l.rate
	if own, ok := l.own[key]; ok {
		limit = own
	}
	if limit.Burst <= 0 {
		return true
	}
	bucket := l.buckets.get(key, func() *rate.Limiter { return rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst) })
	now := time.Now()
	allowed := bucket.AllowN(now, 1)
	if !allowed {
		l.rejected.Add(1)
		if l.logOnly {
			l.log.Warn("rate limit exceeded, request allowed because limits are only logged", "limit", l.name, "key", l.maskKey(key))
		}
	}
	if bucket.TokensAt(now) <= 0.2*float64(limit.Burst) {
		w.Header().Set(warningHeader, "true")
	}
	return allowed || l.logOnly
}

// warningHeader informs the client that it has used 80 % of its rate limit.
const warningHeader = "X-Posthog-Rate-Limit-Warning"
