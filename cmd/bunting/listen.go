package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// listen takes the address; who connects waits until the server is ready.
func (s *server) listen(ctx context.Context) (err error) {
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen); err != nil {
		return listenError(s.config.Listen, err)
	}
	return nil
}

// listenProblems is what can be done where listening fails.
var listenProblems = []struct {
	is     error
	advice string
}{
	{syscall.EADDRINUSE, "another program listens there: stop it, or choose another port with --listen"},
	{syscall.EACCES, "ports below 1024 are for the administrator: choose a higher one with --listen"},
	{syscall.EADDRNOTAVAIL, "this machine does not have the address: choose one it has with --listen"},
}

func listenError(address string, err error) error {
	for _, p := range listenProblems {
		if errors.Is(err, p.is) {
			return fmt.Errorf("cannot listen on %s: %s", address, p.advice)
		}
	}
	return fmt.Errorf("cannot listen on %s: %w; see --listen", address, err)
}

// warnOfKeys warns once where more than this machine and private networks can
// use the keys of a file, which are meant for development and tests.
func (s *server) warnOfKeys() {
	address := s.address.Load()
	if address == nil || s.source == nil || !reachesPublic(*address) || !s.source.HasKeys() {
		return
	}
	s.warnOnce.Do(func() {
		s.log.Warn("listening on a public address with personal or secret keys from a file: these are for development and tests", "address", (*address).String())
	})
}

func reachesPublic(address net.Addr) bool {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return true
	}
	ip := at.Addr().Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}
