package exports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
)

// Webhooks sends webhooks to public addresses and to the allowed networks, with the same checks as
// exports. NewWebhooks returns one. It may be used concurrently.
type Webhooks struct {
	https, http sender // http may only be used for the allowed networks
}

// sender is a client with its guard.
type sender struct {
	guard  guard
	client *http.Client
}

// NewWebhooks returns a Webhooks. It uses RootCAs, Allowed and Timeout of c.
func NewWebhooks(c Config) *Webhooks {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	open := func(onlyAllowed bool) sender {
		g := guard{c.Allowed, c.Timeout, onlyAllowed}
		return sender{g, &http.Client{
			Transport:     g.transport(c.RootCAs),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
	return &Webhooks{https: open(false), http: open(true)}
}

// sender returns the sender for a scheme.
func (w *Webhooks) sender(scheme string) sender {
	if scheme == "http" {
		return w.http
	}
	return w.https
}

// maxAddress is the maximum length of the address of a webhook, in bytes.
const maxAddress = 2000

// Check returns an error if no webhook can be sent to an address: its form is wrong, or it is an IP
// address that is not allowed. The addresses of a name are checked when a webhook is sent.
func (w *Webhooks) Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxAddress:
		return fmt.Errorf("the address may have at most %d bytes", maxAddress)
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("give an address such as https://example.com/path")
	case u.User != nil:
		return errors.New("the address must not contain a user or a password")
	}
	g := w.sender(u.Scheme).guard
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !g.isAllowed(ip) || g.onlyAllowed && len(g.allowed) == 0 {
		if g.onlyAllowed {
			return errors.New("http may only be used for the networks of --export-networks: use https")
		}
		return errors.New("the address is not public, and this server does not allow it (--export-networks)")
	}
	return nil
}

// Post sends a JSON document. It returns an error unless the status is 2xx. The error contains
// neither the address nor the response, because users without access to the server's network may read
// it.
func (w *Webhooks) Post(ctx context.Context, address string, headers map[string]string, body []byte) error {
	if err := w.Check(address); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is invalid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "bunting")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	response, err := w.sender(r.URL.Scheme).client.Do(r)
	if err != nil {
		return explainNet(err)
	}
	// Read the rest of a short response, so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	_ = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the receiver answered with the status %d", response.StatusCode)
	}
	return nil
}
