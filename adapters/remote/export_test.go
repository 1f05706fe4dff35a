package remote

import (
	"context"
	"time"
)

// Faster lets time run so many times as fast for what waits between attempts. A
// stream may be silent for silence, and a look for the server take limit, by the
// real clock.
func Faster(c Config, times float64, silence, limit time.Duration) Config {
	k := realKnobs()
	clock := *k
	k.elapsed = func() time.Duration { return time.Duration(float64(clock.elapsed()) * times) }
	k.wait = func(ctx context.Context, d time.Duration) { clock.wait(ctx, time.Duration(float64(d)/times)) }
	k.silence, k.probeLimit = silence, limit
	c.knobs = k
	return c
}

// Watch tells f of every wait, as long as it is meant.
func Watch(c Config, f func(time.Duration)) Config {
	k := *c.knobs
	wait := k.wait
	k.wait = func(ctx context.Context, d time.Duration) {
		f(d)
		wait(ctx, d)
	}
	c.knobs = &k
	return c
}

// CopyPath is where the copy is.
func (s *Source) CopyPath() string { return s.copyPath }
