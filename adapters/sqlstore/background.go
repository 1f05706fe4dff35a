package sqlstore

import "context"

// background is a goroutine that runs until close is called.
type background struct {
	stop context.CancelFunc
	done chan struct{}
}

// runInBackground runs a function in a new goroutine. The function must return when its
// context is canceled.
func runInBackground(run func(ctx context.Context)) *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		run(ctx)
	}()
	return b
}

// close cancels the goroutine's context and waits for its end. It may be called for
// nil, and more than once.
func (b *background) close() {
	if b != nil {
		b.stop()
		<-b.done
	}
}
