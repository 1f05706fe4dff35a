package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/klauspost/compress/gzip"

	"github.com/bunting-flags/bunting/capture"
)

// bareCommand is the hidden first argument with which this program runs as a server to compare
// with. The second argument is its mode, and the third its file.
const bareCommand = "bare"

// The modes of bare servers.
const (
	bareGroup = "group" // all waiting requests share one transaction
	bareEach  = "each"  // every request has its own transaction and sync
	bareNone  = "none"  // events are not stored
)

// bareServer decompresses, decodes and stores events. It does not process persons.
type bareServer struct {
	store  func(*capture.Submission) error
	stored atomic.Int64
}

// serveBare runs one of the servers to compare with, until it is signalled to end.
func serveBare(args []string) error {
	if len(args) != 2 {
		return errors.New("bare wants a mode and a file")
	}
	b := &bareServer{}
	switch mode := args[0]; mode {
	case bareNone:
		b.store = func(s *capture.Submission) error { b.stored.Add(int64(len(s.Items))); return nil }
	case bareGroup, bareEach:
		most := groupEvents
		if mode == bareEach {
			most = 1
		}
		store, err := openBareStore(args[1], most, &b.stored)
		if err != nil {
			return err
		}
		defer store.close()
		b.store = store.append
	default:
		return fmt.Errorf("no bare mode %q", mode)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("bare listens on http://%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: b}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

// ServeHTTP implements http.Handler.
func (b *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/metrics" {
		fmt.Fprintf(w, "%s %d\n", recordedMetric, b.stored.Load())
		return
	}
	text, err := readBody(r)
	if err == nil {
		var s *capture.Submission
		if s, err = capture.Decode(text, capture.DecodeOptions{}); err == nil {
			err = b.store(s)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":1}`))
}

var unpackers = sync.Pool{New: func() any { return new(gzip.Reader) }}

func readBody(r *http.Request) (string, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return string(body), err
	}
	gz := unpackers.Get().(*gzip.Reader)
	defer unpackers.Put(gz)
	if err := gz.Reset(r.Body); err != nil {
		return "", err
	}
	text := bytes.NewBuffer(make([]byte, 0, 8*r.ContentLength))
	_, err := text.ReadFrom(gz)
	return text.String(), err
}
