package smtpmail_test

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/internal/smtpmail"
	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/management/organizations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "p√ss:w@rd/1"

var sample = organizations.Mail{
	ID: "0191f0a2-5b1c-7d3e-8f40-000000000001", To: "new@example.com", Subject: "Ünal invites you", HTML: "<p>Hé</p>",
	Text: "Héllo,\n\nhttps://flags.example.com/signup/0191f0a2-5b1c-7d3e-8f40-000000000001?secret=" + strings.Repeat("x", 43) + "\n",
}

func mailer(t *testing.T, s *smtptest.Server, c smtpmail.Config) *smtpmail.Mailer {
	t.Helper()
	c.Address = s.Address
	if c.TLS == nil {
		c.TLS = s.TLS
	}
	if c.From == "" {
		c.From = "Bunting <bunting@example.org>"
	}
	m, err := smtpmail.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSend(t *testing.T) {
	tests := map[string]struct {
		server smtptest.Options
		client smtpmail.Config
		tls    bool
		user   string
	}{
		"STARTTLS with a password": {smtptest.Options{User: "me", Password: password}, smtpmail.Config{User: "me", Password: password}, true, "me"},
		"STARTTLS without one":     {smtptest.Options{}, smtpmail.Config{}, true, ""},
		"TLS with a password":      {smtptest.Options{User: "me", Password: password, Direct: true}, smtpmail.Config{Encryption: smtpmail.TLS, User: "me", Password: password}, true, "me"},
		"plain":                    {smtptest.Options{Plain: true}, smtpmail.Config{Encryption: smtpmail.Plain}, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := smtptest.Start(t, tt.server)
			if err := mailer(t, s, tt.client).Send(t.Context(), sample); err != nil {
				t.Fatal(err)
			}
			got := s.Next(t)
			if got.TLS != tt.tls || got.User != tt.user || got.From != "bunting@example.org" || got.To != "new@example.com" {
				t.Errorf("%+v", got)
			}
			checkMessage(t, got.Text)
		})
	}
}

// checkMessage parses a mail as the recipient's program does.
func checkMessage(t *testing.T, text string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != sample.Subject {
		t.Errorf("subject %q, %v", subject, err)
	}
	for name, want := range map[string]string{
		"From": `"Bunting" <bunting@example.org>`, "To": "<new@example.com>", "Message-ID": "<" + sample.ID + "@example.org>", "Auto-Submitted": "auto-generated",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error(err)
	}
	kind, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatal(kind, err)
	}
	parts := multipart.NewReader(m.Body, parameters["boundary"])
	for _, want := range []string{sample.Text, sample.HTML} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(body), "\r\n", "\n"); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("part %q, want %q", got, want)
		}
	}
}

// Permanent rejections are distinguished from temporary errors.
func TestSend_Rejected(t *testing.T) {
	answer := func(code int, enhanced [3]int, text string) func(string) error {
		return func(string) error { return smtptest.Refusal(code, enhanced, text) }
	}
	with := smtpmail.Config{User: "me", Password: password}
	tests := map[string]struct {
		server  smtptest.Options
		client  smtpmail.Config
		forGood bool
		says    string
	}{
		"no such recipient":      {smtptest.Options{Rcpt: answer(550, [3]int{5, 1, 1}, "no such user")}, smtpmail.Config{}, true, "no such user"},
		"come back later":        {smtptest.Options{Rcpt: answer(451, [3]int{4, 7, 1}, "greylisted")}, smtpmail.Config{}, false, "greylisted"},
		"text refused":           {smtptest.Options{Data: func() error { return smtptest.Refusal(554, [3]int{5, 7, 1}, "spam") }}, smtpmail.Config{}, true, "spam"},
		"text refused for now":   {smtptest.Options{Data: func() error { return smtptest.Refusal(452, [3]int{4, 3, 1}, "disk full") }}, smtpmail.Config{}, false, "disk full"},
		"wrong password":         {smtptest.Options{User: "me", Password: "another"}, with, false, "Authentication failed"},
		"no password":            {smtptest.Options{User: "me", Password: "another"}, smtpmail.Config{}, false, "authenticate first"},
		"no STARTTLS":            {smtptest.Options{Plain: true, User: "me", Password: password}, with, false, "STARTTLS"},
		"echoes what it is told": {smtptest.Options{Rcpt: answer(451, [3]int{4, 0, 0}, "I know "+password)}, smtpmail.Config{Password: password}, false, "I know ***"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := smtptest.Start(t, tt.server)
			err := mailer(t, s, tt.client).Send(t.Context(), sample)
			if err == nil || errors.Is(err, organizations.ErrMailRejected) != tt.forGood || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v: want %q, for good %v", err, tt.says, tt.forGood)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Error("the error holds the password")
			}
			if mails := s.Mails(); len(mails) > 0 {
				t.Errorf("the server has taken %v", mails)
			}
		})
	}
}

func TestSend_NotTrusted(t *testing.T) {
	s := smtptest.Start(t, smtptest.Options{})
	m := mailer(t, s, smtpmail.Config{TLS: smtptest.Start(t, smtptest.Options{}).TLS})
	if err := m.Send(t.Context(), sample); err == nil || errors.Is(err, organizations.ErrMailRejected) || len(s.Mails()) > 0 {
		t.Errorf("a server whose certificate nobody vouches for: %v", err)
	}
}

func TestSend_BadAddress(t *testing.T) {
	m := mailer(t, smtptest.Start(t, smtptest.Options{}), smtpmail.Config{})
	bad := sample
	bad.To = "no address"
	if err := m.Send(t.Context(), bad); !errors.Is(err, organizations.ErrMailRejected) {
		t.Error(err)
	}
}

// Sending to a server that does not respond ends with the timeout or the context.
func TestSend_Silence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // connections stay in the accept queue
	m, err := smtpmail.New(smtpmail.Config{Address: listener.Addr().String(), From: "bunting@example.org", Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(t.Context(), sample); err == nil || errors.Is(err, organizations.ErrMailRejected) {
		t.Error(err)
	}
	m.Timeout = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.Send(ctx, sample); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestParseURL(t *testing.T) {
	tests := map[string]smtpmail.Config{
		"smtp://mail.example.com":                {Address: "mail.example.com:587"},
		"smtp://me@mail.example.com:2525/":       {Address: "mail.example.com:2525", User: "me"},
		"smtps://me%40x:p%40ss@mail.example.com": {Address: "mail.example.com:465", Encryption: smtpmail.TLS, User: "me@x", Password: "p@ss"},
		"smtp+plain://[::1]":                     {Address: "[::1]:25", Encryption: smtpmail.Plain},
	}
	for text, want := range tests {
		got, err := smtpmail.ParseURL(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mail.example.com:25", "http://mail.example.com", "smtp://", "smtp://h:0", "smtp://h:70000", "smtp://u:hushhush@h:x", "smtp://u:hushhush@h/x", "smtp://u:hush hush@h", "smtp://h?x=1"} {
		if c, err := smtpmail.ParseURL(text); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

func TestNew(t *testing.T) {
	for _, c := range []smtpmail.Config{{From: "a@example.com"}, {Address: "h:x", From: "a@example.com"}, {Address: "h:25"}, {Address: "h:25", From: "x"}} {
		if _, err := smtpmail.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
