// Package remote evaluates flags inside other Go services, with definitions that it fetches over
// HTTP from a Bunting server or from PostHog, which uses the same protocol.
//
// A [Client] keeps a project's definitions current and never discards definitions. Their sources
// are a copy on disk, a bundle in the program, and the network. It evaluates flags, reads values
// with a default, and sends exposures and events to the server.
//
// # When the server is unavailable
//
// No failure removes definitions. There is one attempt at a time.
//
// If the server responds with anything but definitions (401, 402, 403, 429, 5xx, a truncated or
// invalid body), the next attempt follows after a random share of 1 second, then of 2, 4, … up to
// 30 seconds ("full jitter"), and never before its Retry-After (which is limited to an hour).
//
// If the server does not respond at all (connection refused, no route, timeout), checking for it is
// cheap, and it is important to notice soon that it is back: once a second the Client sends a HEAD
// request without a key, which the server rejects before any look-up, and which is canceled after
// 0.9 seconds. When such a request gets a response below 500, the rejection included, the Client
// requests the definitions. Each process starts at a random moment of the second, so that the
// clients of a restarted server are spread over a second, and it can respond to most of them with
// 304. If even HEAD takes longer, the Client starts a full attempt after every 60 checks.
package remote

import (
	"context"
	"math/rand/v2"
	"time"
)

// knobs has the times that users cannot configure, and the clock; tests replace them.
type knobs struct {
	// silence is the maximum time without data on a stream: two keep-alives.
	silence time.Duration
	// streamAgain is the time until the next attempt to stream from a server that offers no stream.
	streamAgain time.Duration
	// probe is the interval of the checks for an unresponsive server, probeLimit the timeout of one
	// check, and probes the number of checks before a full attempt.
	probe, probeLimit time.Duration
	probes            int
	// elapsed returns the time since the start, from a monotonic clock.
	elapsed func() time.Duration
	// wait returns after the duration, or when the context ends.
	wait func(context.Context, time.Duration)
	// random returns a number in [0, 1).
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
