// Package remote decides flags inside other Go services, with definitions that it
// fetches over HTTP from a Bunting server or from PostHog, whose wire is the same.
//
// A [Client] keeps a project's definitions current and is never without those it
// had: a copy on disk, a bundle of the program, the network. It decides, reads values
// with a default, and sends exposures and events back.
//
// # When the server cannot be had
//
// No failure takes definitions away. One attempt is made at a time.
//
// A server that answers with anything but definitions (401, 402, 403, 429, 5xx, a
// body that is cut or no definitions) is asked again after a random share of 1
// second, then of 2, 4, … up to 30 seconds ("full jitter"), and never before its
// Retry-After (at most an hour is waited).
//
// A server that gives no answer at all (refused, no route, silence) costs nothing
// to look for, and what matters is to notice soon that it is back: once a second it
// gets a HEAD request without a key, which is refused before anything is looked
// up, and is given up after 0.9 seconds. As soon as one is answered with less than
// 500, the refusal included, definitions are asked for. Each process begins at a random moment of the second, so a
// server that comes back meets its clients spread over a second, most of which it
// can answer with 304. Where even HEAD takes longer, a whole attempt is made after
// every 60.
package remote

import (
	"context"
	"math/rand/v2"
	"time"
)

// knobs are the times that are not for users to choose, and how time passes.
type knobs struct {
	// silence is how long a stream may be silent: two keep-alives.
	silence time.Duration
	// streamAgain is how long a server that offers no stream is not asked for one.
	streamAgain time.Duration
	// probe is the time from one look for a server that gives no answer to the
	// next, probeLimit how long one may take, probes how many are made before a
	// whole attempt.
	probe, probeLimit time.Duration
	probes            int
	// elapsed is the time since the start, by a clock that nobody sets.
	elapsed func() time.Duration
	// wait returns after a time, or when the context ends.
	wait func(context.Context, time.Duration)
	// random is in [0, 1).
	random func() float64
}

func realKnobs() *knobs {
	start := time.Now()
	return &knobs{
		silence: 30 * time.Second, streamAgain: 10 * time.Minute,
		probe: time.Second, probeLimit: 900 * time.Millisecond, probes: 60,
		elapsed: func() time.Duration { return time.Since(start) },
		wait: func(ctx context.Context, d time.Duration) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		},
		random: rand.Float64,
	}
}
