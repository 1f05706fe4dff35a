package remote

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Faster divides the waits between attempts by times. silence, the maximum time without data on a
// stream, and limit, the timeout of a probe, use the real clock.
func Faster(c Config, times float64, silence, limit time.Duration) Config {
	k := realKnobs()
	clock := *k
	k.elapsed = func() time.Duration { return time.Duration(float64(clock.elapsed()) * times) }
	k.wait = func(ctx context.Context, d time.Duration) { clock.wait(ctx, time.Duration(float64(d)/times)) }
	k.silence, k.probeLimit = silence, limit
	c.knobs = k
	return c
}

// WithFakeClock replaces the clock of the waits between attempts: each wait returns immediately and
// advances the clock by its duration. elapsed returns the time of that clock.
func WithFakeClock(c Config) (_ Config, elapsed func() time.Duration) {
	k := *c.knobs
	var now atomic.Int64
	k.elapsed = func() time.Duration { return time.Duration(now.Load()) }
	k.wait = func(_ context.Context, d time.Duration) { now.Add(int64(d)) }
	c.knobs = &k
	return c, k.elapsed
}

// Source is the type that loads the definitions.
type Source = source

// Open starts a Source without a Client.
func Open(c Config) (*Source, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	return open(&c)
}

func (s *Source) on() *Client { return &Client{source: s, set: s.Set, config: s.c} }

// Methods of a Client that uses the Source.
func (s *Source) OnChange(f func([]string)) (stop func())  { return s.on().OnChange(f) }
func (s *Source) Watch(f func(bool, string)) (stop func()) { return s.on().Watch(f) }
func (s *Source) OnStatus(f func(Status)) (stop func())    { return s.on().OnStatus(f) }
func (s *Source) OnValue(key string, sub *flags.Subject, f func(before, after flags.Detail)) (stop func()) {
	return s.on().OnValue(key, sub, f)
}
func (s *Source) ProjectByKey(ctx context.Context, key string) (flags.Project, error) {
	return s.on().ProjectByKey(ctx, key)
}
func (s *Source) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	return s.on().Definitions(ctx, p)
}

// CopyPath returns the path of the copy.
func (s *Source) CopyPath() string { return s.copyPath }
