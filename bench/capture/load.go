package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a reused connection. It uses as little processor time as possible, since client and
// server share the machine.
type conn struct {
	net net.Conn
	in  *bufio.Reader
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, 16<<10)}, nil
}

// answerTime is the time limit of a request.
const answerTime = 60 * time.Second

// do sends a request and returns the response's status and body. buf is reused for the body.
func (c *conn) do(raw, buf []byte) (status int, body []byte, err error) {
	_ = c.net.SetDeadline(time.Now().Add(answerTime)) // if the connection is closed, Write returns the error
	if _, err := c.net.Write(raw); err != nil {
		return 0, nil, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, nil, fmt.Errorf("answer %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, fmt.Errorf("answer %q", line)
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, nil, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, nil, err
			}
		}
	}
	if length < 0 {
		return c.chunks(status, buf[:0])
	}
	body = slices.Grow(buf[:0], length)[:length]
	_, err = io.ReadFull(c.in, body)
	return status, body, err
}

// chunks reads a body of unknown length.
func (c *conn) chunks(status int, body []byte) (int, []byte, error) {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, nil, fmt.Errorf("a chunk of %q", line)
		}
		from := len(body)
		body = slices.Grow(body, int(n)+2)[:from+int(n)+2]
		if _, err := io.ReadFull(c.in, body[from:]); err != nil {
			return 0, nil, err
		}
		if body = body[:from+int(n)]; n == 0 {
			return status, body, nil
		}
	}
}

// load describes how requests are sent.
type load struct {
	address     string
	connections int
	requests    []request
	// until limits the duration; zero means no limit. At its end some requests remain unsent.
	until time.Duration
	// repeats sends the requests again and again until that time.
	repeats bool
	// perSecond, if not zero, sends on a schedule independent of responses, and latencies are
	// measured from the scheduled time. If zero, each connection sends a request when it has
	// received the last response.
	perSecond float64
	// check checks the body of a response with status 200.
	check func(body []byte) error
}

// result is the result of a load.
type result struct {
	requests, events int // that were answered
	elapsed          time.Duration
	latencies        []time.Duration // sorted
}

func (r *result) rate() float64 { return float64(r.events) / r.elapsed.Seconds() }

// quantile returns a quantile of the latencies; 1 is the longest.
func (r *result) quantile(q float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(int(q*float64(len(r.latencies))), len(r.latencies)-1)]
}

// checkAccepted checks the response to events.
func checkAccepted(body []byte) error {
	if !bytes.Equal(bytes.TrimSpace(body), []byte(`{"status":1}`)) {
		return fmt.Errorf("answer %.200q", body)
	}
	return nil
}

// run sends the requests. Any unexpected response is an error.
func (l load) run() (*result, error) {
	conns := make([]*conn, l.connections)
	for i := range conns {
		var err error
		if conns[i], err = dial(l.address); err != nil {
			return nil, err
		}
		defer func() { _ = conns[i].net.Close() }()
	}
	var next, events atomic.Int64
	var wg sync.WaitGroup
	parts, errs := make([][]time.Duration, len(conns)), make([]error, len(conns))
	start := time.Now()
	for i, c := range conns {
		wg.Go(func() { parts[i], errs[i] = l.worker(c, start, &next, &events) })
	}
	wg.Wait()
	out := &result{elapsed: time.Since(start), events: int(events.Load()), latencies: slices.Concat(parts...)}
	out.requests = len(out.latencies)
	slices.Sort(out.latencies)
	return out, errors.Join(errs...)
}

// sleep sleeps in the kernel, because Go's scheduler wakes an idle process up to a millisecond late.
func sleep(d time.Duration) {
	if d > 0 {
		t := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&t, nil) // a signal makes a request early
	}
}

// worker sends the next requests over one connection.
func (l *load) worker(c *conn, start time.Time, next, events *atomic.Int64) (latencies []time.Duration, err error) {
	var buf []byte
	for {
		i := next.Add(1) - 1
		if i >= int64(len(l.requests)) && !l.repeats || l.until > 0 && time.Since(start) >= l.until {
			return latencies, nil
		}
		request := &l.requests[i%int64(len(l.requests))]
		began := time.Now()
		if l.perSecond > 0 {
			began = start.Add(time.Duration(float64(i) / l.perSecond * float64(time.Second)))
			sleep(time.Until(began))
		}
		status, body, err := c.do(request.raw, buf)
		if err != nil {
			return latencies, fmt.Errorf("request %d: %w", i, err)
		}
		if buf = body; status != 200 {
			return latencies, fmt.Errorf("request %d: status %d: %.200s", i, status, body)
		}
		if err := l.check(body); err != nil {
			return latencies, fmt.Errorf("request %d: %w", i, err)
		}
		latencies = append(latencies, time.Since(began))
		events.Add(int64(request.events))
	}
}
