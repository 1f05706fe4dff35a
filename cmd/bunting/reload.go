package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/settings"
)

// certificate is the one that new connections get.
type certificate struct {
	files settings.TlsFiles
	now   atomic.Pointer[tls.Certificate]
}

// load reads the files; what is in use stays where they cannot be used.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	c.now.Store(&pair)
	return nil
}

// secure wraps the listener where certificates are configured.
func (s *server) secure() error {
	files := s.config.Tls
	switch {
	case files == settings.TlsFiles{}:
		return nil
	case files.Cert == "" || files.Key == "":
		return errors.New("--tls-cert and --tls-key go together: name both files")
	}
	s.certificate = &certificate{files: files}
	if err := s.certificate.load(); err != nil {
		return err
	}
	s.listener = tls.NewListener(s.listener, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.now.Load(), nil },
	})
	return nil
}

// hangups makes SIGHUP a wish to read files again; without it the signal would end
// the process, and cut off requests. stop gives the signal back.
func hangups() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloads reads files again at each signal, until the context ends.
func (s *server) reloads(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			s.reload()
		}
	}
}

// reload reads certificates, definitions and the location database again. What
// cannot be used leaves the last good state in use.
func (s *server) reload() {
	source := s.files.Load()
	for _, part := range []struct {
		name string
		has  bool
		read func() error
	}{
		{"certificates", s.certificate != nil, func() error { return s.certificate.load() }},
		{"definitions", source != nil, func() error { return source.Refresh() }},
		{"location database", s.geo != nil, func() error { return s.geo.Reload() }},
	} {
		if !part.has {
			continue
		}
		if err := part.read(); err != nil {
			s.log.Error(part.name+" cannot be used, the last good state stays", "error", err)
			continue
		}
		s.log.Info(part.name + " read again")
	}
}
