package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// stallingProxy is a proxy for a PostgreSQL server. It can stop forwarding data in
// either direction without closing a connection, like a broken network.
type stallingProxy struct {
	net.Listener
	open    atomic.Bool
	mu      sync.Mutex
	waiting *sync.Cond
	conns   []net.Conn
}

func newStallingProxy(t *testing.T, socket string) *stallingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &stallingProxy{Listener: l}
	h.waiting = sync.NewCond(&h.mu)
	h.open.Store(true)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				_ = from.Close()
				continue
			}
			h.mu.Lock()
			h.conns = append(h.conns, from, to)
			h.mu.Unlock()
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				running.Go(func() {
					_, _ = io.Copy(&proxyWriter{h, pair[1]}, pair[0])
					_, _ = pair[0].Close(), pair[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		h.setOpen(true)
		h.mu.Lock()
		for _, c := range h.conns {
			_ = c.Close()
		}
		h.mu.Unlock()
		running.Wait()
	})
	return h
}

func (h *stallingProxy) setOpen(open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open.Store(open)
	h.waiting.Broadcast()
}

// proxyWriter forwards data while its direction is open.
type proxyWriter struct {
	hole *stallingProxy
	to   net.Conn
}

func (g *proxyWriter) Write(p []byte) (int, error) {
	g.hole.mu.Lock()
	for !g.hole.open.Load() {
		g.hole.waiting.Wait()
	}
	g.hole.mu.Unlock()
	return g.to.Write(p)
}

// A PostgreSQL server that hangs delays only the first requests; further requests fail
// immediately. It is used again when it responds (decision 29).
func TestBreaker_HangingDatabase(t *testing.T) {
	server := pgtest.StartPostgres(t, 0, pgtest.QuickPostgres)
	u, err := url.Parse(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newStallingProxy(t, server.Dir+"/.s.PGSQL.5432")
	s := openStore(t, "postgres://bunting:bunting@"+h.Addr().String()+u.Path+"?sslmode=disable")
	i := &instance{Store: s}
	i.apply(t, sharedFile{}.String())
	var behind atomic.Int64 // pings in the background
	try := s.db.Breaker.Ping
	s.db.Breaker.Ping = func(ctx context.Context) error {
		behind.Add(1)
		return try(ctx)
	}
	ask := func(id string) error {
		_, err := s.Stored(context.Background(), serving.Query{ProjectID: 1, DistinctID: id, Needs: storedNeeds})
		return err
	}
	if err := ask("first"); err != nil {
		t.Fatal(err)
	}
	h.setOpen(false)
	if err := ask("hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a look-up while it hangs: %v", err)
	}
	// Four callers send requests until the first ping has failed and the second one
	// follows.
	deadline := time.Now().Add(time.Minute)
	pgtest.Concurrently(t, 4, func(int) error {
		for ; behind.Load() < 2; time.Sleep(time.Millisecond) {
			if err := ask("again"); !errors.Is(err, database.ErrBreakerOpen) {
				return fmt.Errorf("a look-up is not told at once: %v", err)
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("it was tried %d times", behind.Load())
			}
		}
		return nil
	})
	if _, err := s.Projects(context.Background()); !errors.Is(err, database.ErrBreakerOpen) {
		t.Errorf("the list of projects, which readiness wants: %v", err)
	}
	h.setOpen(true)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if err = ask("back"); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Errorf("after it answers again: %v", err)
	}
	for range 100 {
		if err := ask("back"); err != nil {
			t.Fatal(err)
		}
	}
}

var storedNeeds = &flags.Needs{Person: []string{"plan"}}

// Responses of any kind and callers that cancel early do not open the breaker.
func TestBreaker_WhatCounts(t *testing.T) {
	s := postgresStore(t)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ctx := range map[string]context.Context{"a caller who has gone": canceled, "an error that is an answer": t.Context()} {
		err := s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
			_, err := s.db.Read.ExecContext(ctx, `SELECT nothing`)
			return err
		})
		if err == nil || errors.Is(err, database.ErrBreakerOpen) {
			t.Fatal(err)
		}
		if err := s.db.LookUp(t.Context(), database.LookupTime, func(context.Context) error { return nil }); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// Callers that cancel before the end of database.LookupTime open the breaker too if the database
// hangs.
func TestBreaker_ImpatientCallers(t *testing.T) {
	s := postgresStore(t)
	impatient, cancel := context.WithTimeout(t.Context(), database.SlowLookUp)
	defer cancel()
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	try, pinged := s.db.Breaker.Ping, make(chan struct{})
	s.db.Breaker.Ping = func(ctx context.Context) error { // it may run before the next statement
		<-pinged
		return try(ctx)
	}
	if err := s.db.LookUp(impatient, database.LookupTime, hangs); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := s.db.LookUp(t.Context(), database.LookupTime, hangs); !errors.Is(err, database.ErrBreakerOpen) {
		t.Errorf("the next one: %v", err)
	}
	close(pinged)
	for deadline := time.Now().Add(time.Minute); s.db.Breaker.Open.Load(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not find out that the database answers")
		}
	}
}
