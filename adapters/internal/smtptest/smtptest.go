// Package smtptest is an SMTP server for tests. It uses the real protocol and stores mails in
// memory.
package smtptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Server is a running server.
type Server struct {
	// Address is host and port.
	Address string
	// TLS is the configuration with which a client trusts the server.
	TLS *tls.Config
	// Stop stops the server before the end of the test.
	Stop func()

	options Options
	mu      sync.Mutex
	mails   []Mail
	sent    chan Mail
}

// Options configure a server.
type Options struct {
	// Address is the address to listen on, by default a free port.
	Address string
	// User and Password are required from clients, after STARTTLS. If empty, there is no
	// authentication.
	User, Password string
	// Direct uses TLS from the start of a connection. Plain disables TLS.
	Direct, Plain bool
	// Rcpt and Data return the responses to these steps. If nil, the server accepts everything.
	Rcpt func(to string) error
	Data func() error
}

// Mail is a mail that the server has accepted.
type Mail struct {
	From, To, Text string
	// TLS reports whether the connection was encrypted. User is the authenticated user.
	TLS  bool
	User string
}

// Refusal returns an error response for Rcpt or Data.
func Refusal(code int, enhanced [3]int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: text}
}

// Start starts a server that stops at the end of the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, sent: make(chan Mail, 100)}
	address := o.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	certificate, pool := selfSigned(t)
	s.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	srv.Domain = "localhost"
	srv.ErrorLog = log.New(io.Discard, "", 0) // tests include clients that do not trust the server
	srv.ReadTimeout, srv.WriteTimeout = 10*time.Second, 10*time.Second
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	switch {
	case o.Direct:
		listener = tls.NewListener(listener, config)
	case o.Plain:
		srv.AllowInsecureAuth = true
	default:
		srv.TLSConfig = config
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listener) }()
	s.Stop = sync.OnceFunc(func() {
		_ = srv.Close()
		_ = listener.Close() // in case Serve has not started yet
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error("SMTP server:", err)
		}
	})
	t.Cleanup(s.Stop)
	return s
}

// Mails returns the mails accepted so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail{}, s.mails...)
}

// Next waits up to a minute for the next mail.
func (s *Server) Next(t testing.TB) Mail {
	t.Helper()
	select {
	case m := <-s.sent:
		return m
	case <-time.After(time.Minute):
		t.Fatal("no mail came")
		return Mail{}
	}
}

// session is one connection of a client; it implements smtp.Session.
type session struct {
	server *Server
	conn   *smtp.Conn
	user   string
	mail   Mail
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.server.options.User || password != s.server.options.Password {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.options.User != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	_, encrypted := s.conn.TLSConnectionState()
	s.mail = Mail{From: from, TLS: encrypted || s.server.options.Direct, User: s.user}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	if refuse := s.server.options.Rcpt; refuse != nil {
		return refuse(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if refuse := s.server.options.Data; refuse != nil {
		if err := refuse(); err != nil {
			return err
		}
	}
	s.mail.Text = string(text)
	s.server.mu.Lock()
	s.server.mails = append(s.server.mails, s.mail)
	s.server.mu.Unlock()
	select {
	case s.server.sent <- s.mail:
	default: // the test does not read this many mails
	}
	return nil
}

func (s *session) Reset()        { s.mail = Mail{} }
func (s *session) Logout() error { return nil }

// selfSigned returns a certificate for localhost, and a pool that trusts it.
func selfSigned(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
