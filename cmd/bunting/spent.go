package main

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/adapters/sqlstore"
)

// spentEvery is how late the report of who spends what may be. A kill loses as
// much of it; quotas are counted on their own.
const spentEvery = 10 * time.Second

// reportSpent stores who spends what, until the context ends.
func (s *server) reportSpent(ctx context.Context) {
	tick := time.NewTicker(spentEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		list := s.handler.TakeSpent()
		if len(list) == 0 {
			continue
		}
		out := make([]sqlstore.Spent, len(list))
		for i, x := range list {
			out[i] = sqlstore.Spent(x)
		}
		if err := s.store.AddSpent(context.WithoutCancel(ctx), time.Now(), out); err != nil {
			s.log.Warn("the report of who spends what has lost some seconds", "error", err)
		}
	}
}
