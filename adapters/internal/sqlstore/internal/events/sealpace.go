package events

import (
	"context"
	"time"
)

const (
	// sealStep is the time for which sealing computes before it checks whether events are being stored.
	sealStep = 2 * time.Millisecond
	// maxSealPause is the longest pause.
	maxSealPause = 20 * time.Millisecond
)

// sealPace lets sealing use at most about half of a processor while events are being stored, so that these
// do not wait for it.
type sealPace struct {
	log   *Log
	began time.Time // of computing, since the last pause
	last  int64     // Log.Last at the last check
}

// pause waits as long as sealing has computed since the last pause, if events were stored meanwhile.
func (p *sealPace) pause(ctx context.Context) error {
	now := time.Now()
	computed := now.Sub(p.began)
	if computed < sealStep {
		return nil
	}
	last := p.log.Last.Load()
	if isFirst := p.began.IsZero(); last != p.last && !isFirst {
		timer := time.NewTimer(min(computed, maxSealPause))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.began, p.last = time.Now(), last
	return nil
}
