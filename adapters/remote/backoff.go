package remote

import (
	"context"
	"time"
)

const (
	firstRetry   = time.Second // the most that the first retry waits
	longestRetry = 30 * time.Second
	// buffered is how many streams in a row may give nothing, though the server is
	// there, before it counts as one without streams: a proxy may hold them back.
	buffered = 3
)

// schedule says when one kind of attempt is due.
type schedule struct {
	due   time.Duration // since the start
	fails int           // in a row
	// silent counts those in a row without an answer from a server that was there.
	silent int
}

// backoff is the time to wait after one more failure: full jitter, and no less
// than the server asked for.
func (s *source) backoff(next *schedule, minWait time.Duration) time.Duration {
	limit := min(firstRetry<<min(next.fails, 5), longestRetry)
	next.fails++
	share := time.Duration(s.c.knobs.random() * float64(limit))
	if minWait > 0 { // those who were told the same do not all come at once
		return minWait + min(share, firstRetry)
	}
	return share
}

// run keeps the definitions current until the context ends. It makes one attempt
// at a time, the one that is due for longest, and begins with a poll: that works
// everywhere.
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

func (s *source) pollOnce(ctx context.Context, next *schedule) {
	k := s.c.knobs
	failed := s.poll(ctx)
	switch {
	case failed == nil:
		s.confirm(false)
		*next = schedule{due: k.elapsed() + time.Duration((0.9+0.2*k.random())*float64(s.c.Poll))}
	case ctx.Err() != nil: // cut off by Close
	case failed.answered:
		s.recordFailure(failed.err)
		next.due = k.elapsed() + s.backoff(next, failed.after)
	default:
		s.recordFailure(failed.err)
		s.waitForAnswer(ctx, next)
	}
}

// streamOnce follows a stream to its end. While there is none, polls go on.
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
		if end.hasRetry && next.fails > 1 { // it keeps ending
			wait = max(wait, end.retry)
		} else if end.hasRetry {
			wait = end.retry
		}
		// The next stream tells what is new; where it fails, a poll is due.
		*next = schedule{due: now + wait, fails: next.fails}
		poll.due, poll.fails = min(next.due, now+s.c.Poll), 0
		if end.failed != nil && end.failed.answered { // what it sent was bad
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

// waitForAnswer waits until a server that gave no answer gives one again, or it is
// time for a whole attempt in any case. One that was there all the time is not
// hurried.
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

// probe asks once a second whether the server answers.
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
