package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// clients are open streams.
type clients struct {
	list  []*client
	epoch time.Time
}

// client is one stream.
type client struct {
	conn        net.Conn
	bytes, size atomic.Int64 // received in total, and of the last definitions
	arrived     atomic.Int64 // when the last definitions were received, since epoch; 0 if none were
	failure     atomic.Pointer[error]
	all         *clients
}

// atOnce is the number of clients that connect concurrently.
const atOnce = 100

// patience is the time limit for all clients to receive a change.
const patience = time.Minute

// connect opens n streams and waits until each has received the definitions. Clients use several
// loopback addresses, each of which has its own ports.
func connect(s *server, n int) (*clients, error) {
	all := &clients{epoch: time.Now()}
	request := []byte("GET /flags/definitions/stream?token=" + s.projectKey + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + s.adminKey + "\r\n\r\n")
	turns := make(chan struct{}, atOnce)
	for i := range n {
		c := &client{all: all}
		all.list = append(all.list, c)
		turns <- struct{}{}
		go func() {
			defer func() { <-turns }()
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/10_000))}}
			var err error
			if c.conn, err = dialer.Dial("tcp", s.address); err == nil {
				_, err = c.conn.Write(request)
			}
			if err != nil {
				c.failure.Store(&err)
				return
			}
			go c.read()
		}()
	}
	return all, all.wait()
}

// read reads a stream until it ends.
func (c *client) read() {
	in := bufio.NewReaderSize(c.conn, 1024)
	var size int64
	begins, data := true, false
	for {
		line, err := in.ReadSlice('\n')
		c.bytes.Add(int64(len(line)))
		if begins {
			data = bytes.HasPrefix(line, []byte("data: {\"")) && !bytes.HasPrefix(line, []byte("data: {\"code"))
			size = 0
		}
		size += int64(len(line))
		if begins = !errors.Is(err, bufio.ErrBufferFull); !begins {
			continue
		}
		if err != nil {
			err = fmt.Errorf("a stream has ended: %w", err)
			c.failure.Store(&err)
			return
		}
		if data {
			c.size.Store(size)
			c.arrived.Store(int64(time.Since(c.all.epoch)))
		}
	}
}

// wait waits until every client has received definitions.
func (all *clients) wait() error {
	deadline := time.Now().Add(patience)
	for _, c := range all.list {
		for c.arrived.Load() == 0 {
			if err := c.failure.Load(); err != nil {
				return *err
			}
			if time.Now().After(deadline) {
				return errors.New("not every client has got the definitions in time")
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// received returns the number of bytes that all clients have received.
func (all *clients) received() (n int64) {
	for _, c := range all.list {
		n += c.bytes.Load()
	}
	return n
}
