package sqlstore

import "context"

// background is a goroutine that runs until it is closed.
type background struct {
	stop context.CancelFunc
	done chan struct{}
}

func runInBackground(run func(ctx context.Context)) *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		run(ctx)
	}()
	return b
}

// close ends it, and waits until it has. A nil one has ended.
func (b *background) close() {
	if b != nil {
		b.stop()
		<-b.done
	}
}
