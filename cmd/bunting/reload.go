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
)

// tlsSettings are rows of the table of settings.
var tlsSettings = []setting{
	{"tls-cert", text, "FILE", []string{""}, "certificates in PEM, the server's own first: serve HTTPS; read again on SIGHUP",
		func(c *config, v []string) error { c.tls.cert = v[0]; return nil }},
	{"tls-key", text, "FILE", []string{""}, "private key in PEM of --tls-cert",
		func(c *config, v []string) error { c.tls.key = v[0]; return nil }},
}

// tlsFiles hold the certificate of the server; both empty: plain HTTP.
type tlsFiles struct{ cert, key string }

// certificate is the one that new connections get.
type certificate struct {
	files tlsFiles
	now   atomic.Pointer[tls.Certificate]
}

// load reads the files; what is in use stays where they cannot be used.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.cert, c.files.key)
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	c.now.Store(&pair)
	return nil
}

// secure wraps the listener where certificates are configured.
func (s *server) secure() error {
	files := s.config.tls
	switch {
	case files == tlsFiles{}:
		return nil
	case files.cert == "" || files.key == "":
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

// scheme is how the server is reached.
func (c *config) scheme() string {
	if c.tls.cert != "" {
		return "https"
	}
	return "http"
}
