package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/certificates"
)

// certificate holds the certificate for new connections: from the files, or from the issuer.
type certificate struct {
	files  TLS
	issuer *certificates.Issuer // nil for files
	now    atomic.Pointer[tls.Certificate]
}

// load reads the files. After an error the certificate in use remains.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("Options.TLS.Cert, Options.TLS.Key: %w", err)
	}
	c.now.Store(&pair)
	return nil
}

var errNoCertificate = errors.New("there is no certificate yet")

// get returns the certificate for a connection.
func (c *certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.issuer != nil {
		if pair := c.issuer.Handshake(hello); pair != nil {
			return pair, nil
		}
	}
	if pair := c.now.Load(); pair != nil {
		return pair, nil
	}
	return nil, errNoCertificate
}

// expires returns when the certificate expires, zero without one.
func (c *certificate) expires() time.Time {
	pair := c.now.Load()
	if pair == nil || pair.Leaf == nil { // LoadX509KeyPair sets Leaf
		return time.Time{}
	}
	return pair.Leaf.NotAfter
}

// secure wraps the listener if certificates are configured.
func (s *Server) secure(ctx context.Context) error {
	o := s.options.TLS
	c := &certificate{files: o}
	protocols := []string{"http/1.1"}
	var err error
	switch {
	case len(o.Domains) > 0 && (o.Cert != "" || o.Key != ""):
		return errors.New("Options.TLS.Domains cannot be used with Options.TLS.Cert: use one of them")
	case len(o.Domains) > 0:
		protocols = append(protocols, certificates.Challenge)
		err = s.openIssuer(ctx, c)
	case o.Directory != "" || o.Email != "" || o.HTTP != "":
		return errors.New("Options.TLS.Directory, Options.TLS.Email and Options.TLS.HTTP need Options.TLS.Domains: name the domains")
	case o.Cert == "" && o.Key == "":
		return nil
	case o.Cert == "" || o.Key == "":
		return errors.New("Options.TLS.Cert and Options.TLS.Key are needed together: give both files")
	default:
		err = c.load()
	}
	if err != nil {
		return err
	}
	s.certificate = c
	s.listener = tls.NewListener(s.listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetCertificate: c.get})
	return nil
}

// openIssuer prepares the issuer of Options.TLS.Domains, and binds the address for its challenges.
func (s *Server) openIssuer(ctx context.Context, c *certificate) (err error) {
	o := s.options.TLS
	if s.options.Data == "" {
		return errors.New("Options.TLS.Domains needs Options.Data, the folder in which the certificate is stored")
	}
	c.issuer, err = certificates.New(certificates.Config{
		Domains: o.Domains, Folder: filepath.Join(s.options.Data, "certificates"), Directory: o.Directory, Email: o.Email,
		OverHTTP: o.HTTP != "", Use: func(pair *tls.Certificate) { c.now.Store(pair) }, Logger: s.options.Logger,
	})
	if err != nil {
		return fmt.Errorf("Options.TLS.Domains: %w", err)
	}
	if o.HTTP == "" {
		return nil
	}
	if s.challenges, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.HTTP); err != nil {
		return listenError("Options.TLS.HTTP", o.HTTP, err)
	}
	return nil
}

// keepCertificate obtains and renews the certificate until end is called or the context ends.
func (s *Server) keepCertificate(ctx context.Context, errorLog *log.Logger) (end func()) {
	if s.certificate == nil || s.certificate.issuer == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s.background.Go(func() { s.certificate.issuer.Run(ctx) })
	if s.challenges == nil {
		return cancel
	}
	srv := &http.Server{
		Handler: s.certificate.issuer, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: errorLog,
	}
	s.background.Go(func() { _ = srv.Serve(s.challenges) }) // ends with Close
	return func() {
		cancel()
		_ = srv.Close()
	}
}
