// Package smtpmail sends mails to an SMTP server.
//
// Every mail has a connection of its own: mails are rare, and there is no connection state to
// repair after a server has failed. The server's response determines whether a mail is retried: a
// recipient or a text that the server rejects with a code of 500 and above is permanently rejected
// (organizations.ErrMailRejected); every other error, also an invalid password, may be temporary.
//
// Errors do not include the password, nor its encoded forms.
package smtpmail

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	stdmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/bunting-flags/bunting/management/organizations"
)

// Encryption is how a connection is encrypted.
type Encryption int

const (
	// STARTTLS starts unencrypted and changes to TLS before any part of a mail or a password is
	// sent. It fails if the server does not support STARTTLS.
	STARTTLS Encryption = iota
	// TLS uses TLS from the start.
	TLS
	// Plain is not encrypted, for a server on the same machine or network. A password is then only
	// sent to a server on the same machine.
	Plain
)

// schemes are the schemes of a server's URL, and their default ports.
var schemes = map[string]struct {
	encryption Encryption
	port       string
}{
	"smtp":       {STARTTLS, "587"},
	"smtps":      {TLS, "465"},
	"smtp+plain": {Plain, "25"},
}

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 30 * time.Second

// Config configures a Mailer. Address and From are required.
type Config struct {
	// Address is host and port.
	Address    string
	Encryption Encryption
	// User and Password authenticate at the server. If User is empty, there is no authentication.
	User, Password string
	// From is the sender: an address, or a name and an address in angle brackets.
	From string
	// Timeout is the limit for sending one mail, by default DefaultTimeout.
	Timeout time.Duration
	// TLS configures TLS. If nil, the system's authorities are trusted, and the certificate must
	// have the server's name.
	TLS *tls.Config
}

// ParseURL parses smtp://USER:PASSWORD@HOST:PORT, smtps:// or smtp+plain://; user, password and
// port are optional. Its errors do not include text, which may have a password.
func ParseURL(text string) (c Config, err error) {
	const want = "must be smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not encrypted)"
	u, err := url.Parse(text)
	if err != nil {
		return c, errors.New(want)
	}
	scheme, ok := schemes[u.Scheme]
	if !ok || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return c, errors.New(want)
	}
	port := u.Port()
	if port == "" {
		port = scheme.port
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return c, errors.New(want)
	}
	c.Address, c.Encryption, c.User = net.JoinHostPort(u.Hostname(), port), scheme.encryption, u.User.Username()
	c.Password, _ = u.User.Password()
	return c, nil
}

// Mailer implements organizations.Mailer. It is safe for concurrent use.
type Mailer struct {
	Config
	host string
	port int
}

// New returns a Mailer. It does not connect to the server.
func New(c Config) (*Mailer, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, errors.New("smtpmail: Config.Address: must be HOST:PORT")
	}
	m := &Mailer{Config: c, host: host}
	if m.port, err = strconv.Atoi(port); err != nil || m.port < 1 || m.port > 65535 {
		return nil, errors.New("smtpmail: Config.Address: must be HOST:PORT")
	}
	if _, err := stdmail.ParseAddress(c.From); err != nil {
		return nil, fmt.Errorf("smtpmail: Config.From: must be an address such as Bunting <bunting@example.com>, not %q", c.From)
	}
	if m.Timeout <= 0 {
		m.Timeout = DefaultTimeout
	}
	if m.TLS == nil {
		m.TLS = &tls.Config{}
	}
	m.TLS = m.TLS.Clone()
	if m.TLS.ServerName == "" {
		m.TLS.ServerName = host
	}
	m.TLS.MinVersion = max(m.TLS.MinVersion, tls.VersionTLS12)
	return m, nil
}

// Send implements organizations.Mailer. It returns immediately when ctx ends; the server may then
// have accepted the mail or not.
func (m *Mailer) Send(ctx context.Context, mail organizations.Mail) error {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	message, err := m.message(mail)
	if err != nil {
		return fmt.Errorf("%w: %w", organizations.ErrMailRejected, m.redact(err))
	}
	client, err := m.client(func(dialing context.Context, _, address string) (net.Conn, error) {
		conn, err := m.dial(dialing, address)
		if err != nil {
			return nil, err
		}
		// The library only has timeouts for single steps, and leaves a connection open if its
		// greeting fails.
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, nil
	})
	if err != nil {
		return m.redact(err)
	}
	err = client.DialAndSendWithContext(ctx, message)
	switch {
	case err == nil || message.IsDelivered(): // an error after the server has accepted the mail only concerns closing the connection
		return nil
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), m.redact(err))
	case isRejected(err):
		return fmt.Errorf("%w: %w", organizations.ErrMailRejected, m.redact(err))
	}
	return m.redact(err)
}

// dial connects, with TLS if the connection starts with it.
func (m *Mailer) dial(ctx context.Context, address string) (net.Conn, error) {
	if m.Encryption == TLS {
		return (&tls.Dialer{Config: m.TLS}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// client returns a client for one mail.
func (m *Mailer) client(dial mail.DialContextFunc) (*mail.Client, error) {
	options := []mail.Option{
		mail.WithPort(m.port), mail.WithTimeout(m.Timeout), mail.WithDialContextFunc(dial), mail.WithTLSConfig(m.TLS), mail.WithTLSPolicy(mail.TLSMandatory),
	}
	switch m.Encryption {
	case TLS:
		options = append(options, mail.WithSSL())
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if m.User != "" {
		options = append(options, mail.WithUsername(m.User), mail.WithPassword(m.Password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5))
	}
	return mail.NewClient(m.host, options...)
}

// message converts a mail to the library's type.
func (m *Mailer) message(from organizations.Mail) (*mail.Msg, error) {
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := message.From(m.From); err != nil {
		return nil, err
	}
	if err := message.To(from.To); err != nil {
		return nil, err
	}
	sender, err := stdmail.ParseAddress(m.From)
	if err != nil {
		return nil, err
	}
	message.SetMessageIDWithValue(from.ID + sender.Address[strings.LastIndexByte(sender.Address, '@'):])
	message.SetDate()
	message.Subject(from.Subject)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(mail.TypeTextPlain, from.Text)
	if from.HTML != "" {
		message.AddAlternativeString(mail.TypeTextHTML, from.HTML)
	}
	return message, nil
}

// isRejected reports whether the server has permanently rejected the recipient or the text.
// Responses to the sender or the password concern this server's configuration, not the mail.
func isRejected(err error) bool {
	var sendErr *mail.SendError
	if !errors.As(err, &sendErr) || sendErr.ErrorCode() < 500 {
		return false
	}
	return sendErr.Reason == mail.ErrSMTPRcptTo || sendErr.Reason == mail.ErrSMTPData || sendErr.Reason == mail.ErrSMTPDataClose
}

// redact returns an error without the password, also in the encoded forms in which it is sent.
func (m *Mailer) redact(err error) error {
	text := err.Error()
	if m.Password != "" {
		for _, secret := range []string{
			m.Password, base64.StdEncoding.EncodeToString([]byte(m.Password)),
			base64.StdEncoding.EncodeToString([]byte("\x00" + m.User + "\x00" + m.Password)),
		} {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return fmt.Errorf("SMTP server %s: %s", m.Address, text)
}
