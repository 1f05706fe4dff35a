// Package smtpmail hands mails to an SMTP server.
//
// Every mail goes over a connection of its own: mails are few, and no state is
// left behind by a server that went away. What the server says of a mail decides
// whether it is tried again: a recipient or a text that it refuses with a code of
// 500 and above is refused for good (organizations.ErrMailRejected); everything else,
// a wrong password too, may be mended and is not.
//
// Errors never hold the password, nor what is sent for it.
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

// Encryption says how a connection is kept from being read.
type Encryption int

const (
	// STARTTLS begins in clear and changes to TLS before anything of a mail or a
	// password is said. A server that cannot is not used.
	STARTTLS Encryption = iota
	// TLS begins with TLS.
	TLS
	// Plain is not encrypted: for a server on the same machine or network. A password
	// is then sent to the machine itself only.
	Plain
)

// schemes are the forms of a server's URL, and their usual ports.
var schemes = map[string]struct {
	encryption Encryption
	port       string
}{
	"smtp":       {STARTTLS, "587"},
	"smtps":      {TLS, "465"},
	"smtp+plain": {Plain, "25"},
}

// DefaultTimeout bounds one mail where Config.Timeout is zero.
const DefaultTimeout = 30 * time.Second

// Config says which server is used. Address and From are required.
type Config struct {
	// Address is host and port.
	Address    string
	Encryption Encryption
	// User of none: the server wants no password.
	User, Password string
	// From is the sender: an address, or a name and an address in angle brackets.
	From string
	// Timeout bounds all of one mail, DefaultTimeout when zero.
	Timeout time.Duration
	// TLS of nil trusts the authorities of the system and wants the server's name.
	TLS *tls.Config
}

// ParseURL reads smtp://USER:PASSWORD@HOST:PORT, smtps:// or smtp+plain://; user,
// password and port may be left out. Its errors do not repeat the text, which may
// hold a password.
func ParseURL(text string) (c Config, err error) {
	const want = "want smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not encrypted)"
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

// Mailer implements organizations.Mailer.
type Mailer struct {
	Config
	host string
	port int
}

// New makes a Mailer. It does not look for the server.
func New(c Config) (*Mailer, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, errors.New("smtpmail: Config.Address: want HOST:PORT")
	}
	m := &Mailer{Config: c, host: host}
	if m.port, err = strconv.Atoi(port); err != nil || m.port < 1 || m.port > 65535 {
		return nil, errors.New("smtpmail: Config.Address: want HOST:PORT")
	}
	if _, err := stdmail.ParseAddress(c.From); err != nil {
		return nil, fmt.Errorf("smtpmail: Config.From: want an address such as Bunting <bunting@example.com>, not %q", c.From)
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

// Send implements organizations.Mailer. It ends at once when ctx does; whether the
// server has taken the mail is not known then.
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
		// The library bounds steps by time only, and leaves a connection open whose
		// greeting fails.
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, nil
	})
	if err != nil {
		return m.redact(err)
	}
	err = client.DialAndSendWithContext(ctx, message)
	switch {
	case err == nil || message.IsDelivered(): // what fails after the server's word is only the leaving
		return nil
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), m.redact(err))
	case isRejected(err):
		return fmt.Errorf("%w: %w", organizations.ErrMailRejected, m.redact(err))
	}
	return m.redact(err)
}

// dial connects, with TLS where that is how the server begins.
func (m *Mailer) dial(ctx context.Context, address string) (net.Conn, error) {
	if m.Encryption == TLS {
		return (&tls.Dialer{Config: m.TLS}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// client is for one mail.
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

// message is a mail as it is sent.
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

// isRejected reports whether a server has refused the recipient or the text for good.
// What it says to the sender or the password is about this server, not the mail.
func isRejected(err error) bool {
	var sendErr *mail.SendError
	if !errors.As(err, &sendErr) || sendErr.ErrorCode() < 500 {
		return false
	}
	return sendErr.Reason == mail.ErrSMTPRcptTo || sendErr.Reason == mail.ErrSMTPData || sendErr.Reason == mail.ErrSMTPDataClose
}

// redact is an error without the password, in the forms in which it is sent.
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
