package database

import "context"

// Background is a goroutine that runs until close is called.
type Background struct {
	stop context.CancelFunc
	done chan struct{}
}

// RunInBackground runs a function in a new goroutine. The function must return when its
// context is canceled.
func RunInBackground(run func(ctx context.Context)) *Background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &Background{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		run(ctx)
	}()
	return b
}

// Close cancels the goroutine's context and waits for its end. It may be called for
// nil, and more than once.
func (b *Background) Close() {
	if b != nil {
		b.stop()
		<-b.done
	}
}
