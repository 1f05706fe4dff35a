package wire

import "context"

// Context returns ctx, or [context.Background] where that is nil.
func Context(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
