package remote

import (
	"context"
	"time"
)

const (
	firstRetry   = time.Second // upper bound of the wait before the first retry
	longestRetry = 30 * time.Second
	// buffered is the number of consecutive streams without any data, from a server that otherwise
	// responds, after which the server counts as one without streams: a proxy may buffer them.
	buffered = 3
)

// schedule has the due time of the next attempt of one kind (poll or stream).
type schedule struct {
	due   time.Duration // since the start of the source
	fails int           // consecutive failures
	// silent counts consecutive attempts that got no response although the server was reachable.
	silent int
}

// backoff counts one more failure and returns the time to wait: "full jitter", and at least
// minWait, which the server requested.
func (s *source) backoff(next *schedule, minWait time.Duration) time.Duration {
	limit := min(firstRetry<<min(next.fails, 5), longestRetry)
	next.fails++
	share := time.Duration(s.c.knobs.random() * float64(limit))
	if minWait > 0 { // a random addition spreads the clients that received the same minWait
		return minWait + min(share, firstRetry)
	}
	return share
}

// run keeps the definitions current until the context ends. It starts one attempt at a time, the
// one that has been due for longest. The first is a poll, because polls work with every server and
// proxy.
func (s *source) run(ctx context.Context) {
	defer close(s.copies)
	var poll schedule
	stream := schedule{due: 1}
	for ctx.Err() == nil {
		now := s.c.knobs.elapsed()
		streamNext := !s.c.NoStream && stream.due <= poll.due
		switch {
		case streamNext && now >= stream.due:
			s.streamOnce(ctx, &stream, &poll)
		case !streamNext && now >= poll.due:
			s.pollOnce(ctx, &poll)
		case streamNext:
			s.c.knobs.wait(ctx, stream.due-now)
		default:
			s.c.knobs.wait(ctx, poll.due-now)
		}
	}
}

// pollOnce polls once and schedules the next poll.
func (s *source) pollOnce(ctx context.Context, next *schedule) {
	k := s.c.knobs
	failed := s.poll(ctx)
	switch {
	case failed == nil:
		s.confirm(false)
		*next = schedule{due: k.elapsed() + time.Duration((0.9+0.2*k.random())*float64(s.c.Poll))}
	case ctx.Err() != nil: // Close canceled the request
	case failed.answered:
		s.recordFailure(failed.err)
		next.due = k.elapsed() + s.backoff(next, failed.after)
	default:
		s.recordFailure(failed.err)
		s.waitForAnswer(ctx, next)
	}
}

// streamOnce follows a stream until it ends and schedules the next one. While there is no stream,
// polls continue.
func (s *source) streamOnce(ctx context.Context, next, poll *schedule) {
	k := s.c.knobs
	begun := k.elapsed()
	end := s.stream(ctx)
	if ctx.Err() != nil {
		return
	}
	now := k.elapsed()
	if end.failed != nil {
		s.recordFailure(end.failed.err)
	}
	switch {
	case end.notOffered:
		*next = schedule{due: now + k.streamAgain}
	case end.opened:
		if now-begun > longestRetry {
			next.fails = 0
		}
		wait := s.backoff(next, 0)
		if end.hasRetry && next.fails > 1 { // the server ends streams repeatedly
			wait = max(wait, end.retry)
		} else if end.hasRetry {
			wait = end.retry
		}
		// The next stream sends the changes since then. If it fails, a poll is due.
		*next = schedule{due: now + wait, fails: next.fails}
		poll.due, poll.fails = min(next.due, now+s.c.Poll), 0
		if end.failed != nil && end.failed.answered { // the server sent invalid data
			poll.due = now
		}
	case end.failed.answered:
		next.silent = 0
		next.due = now + s.backoff(next, end.failed.after)
	default:
		s.waitForAnswer(ctx, next)
		now = k.elapsed()
		if next.silent == buffered {
			*next = schedule{due: now + k.streamAgain}
		}
		next.due = max(next.due, now+1)
		if poll.fails == 0 {
			poll.due = min(poll.due, now)
		}
	}
}

// waitForAnswer waits until an unresponsive server responds, or until a full attempt is due in any
// case. If the server responded to the first probe, it was reachable all the time, and the usual
// back-off applies.
func (s *source) waitForAnswer(ctx context.Context, next *schedule) {
	up, tries := s.probe(ctx)
	next.due = s.c.knobs.elapsed()
	if up && tries == 1 {
		next.silent++
		next.due += s.backoff(next, 0)
	} else {
		next.silent, next.fails = 0, 0
	}
}

// probe checks once a second whether the server responds, at most knobs.probes times. It returns
// the number of checks.
func (s *source) probe(ctx context.Context) (up bool, tries int) {
	k := s.c.knobs
	k.wait(ctx, time.Duration(k.random()*float64(k.probe)))
	for tries = 1; tries <= k.probes && ctx.Err() == nil; tries++ {
		begun := k.elapsed()
		if s.isAnswering(ctx) {
			return true, tries
		}
		k.wait(ctx, max(0, k.probe-(k.elapsed()-begun)))
	}
	return false, tries
}
