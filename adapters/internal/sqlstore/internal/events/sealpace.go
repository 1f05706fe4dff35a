package events

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// sealStep is the time for which sealing computes before it checks whether events are being stored.
	sealStep = time.Millisecond
	// sealPause is the length of a pause, as a multiple of the time for which sealing has computed: it needs
	// a sixth of a processor at the highest rate of events on two. maxSealPause is the longest pause.
	sealPause    = 3
	maxSealPause = 20 * time.Millisecond
)

// sealPace lets sealing use about a quarter of a processor while events are being stored, or half of one if too many
// events wait to be sealed, so that storing does not wait for it.
type sealPace struct {
	isBehind bool
	began    time.Time // of computing, since the last pause
	last     int64     // stored at the last check
}

// pause waits if sealing has computed for some time since the last pause, and events were stored meanwhile.
// stored is the id of the last one.
func (p *sealPace) pause(ctx context.Context, stored *atomic.Int64) error {
	now := time.Now()
	computed := now.Sub(p.began)
	if computed < sealStep {
		return nil
	}
	last := stored.Load()
	if isFirst := p.began.IsZero(); last != p.last && !isFirst {
		length := sealPause * computed
		if p.isBehind {
			length = computed
		}
		timer := time.NewTimer(min(length, maxSealPause))
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
