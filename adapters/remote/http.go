package remote

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// httpClient returns the client for all requests. owned reports whether the package may close its
// idle connections. The caller's client is copied, not modified.
func httpClient(custom *http.Client) (c *http.Client, owned bool) {
	c = &http.Client{}
	if custom != nil {
		*c = *custom
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok { // otherwise the program has replaced the default transport
		t = t.Clone()
		// Without pings, net/http would reuse an HTTP/2 connection on which no more data arrives.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second}
		c.Transport, owned = t, true
	}
	follow := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case !canFollow(via[0], req):
			return http.ErrUseLastResponse
		case follow != nil:
			return follow(req, via)
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return c, owned
}

// canFollow reports whether to follow a redirect. It rejects redirects that turn a POST into a GET,
// since the body would be lost, that give up encryption, and that would send the key to another
// server.
func canFollow(first, next *http.Request) bool {
	from, to := first.URL, next.URL
	switch {
	case next.Method != first.Method, from.Scheme == "https" && to.Scheme != "https":
		return false
	case first.Header.Get("Authorization") == "" || strings.EqualFold(to.Host, from.Host):
		return true
	}
	return from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(to.Hostname(), from.Hostname())
}

// redirectTarget returns the server to which resp redirects, or "" if it is not a redirect.
func redirectTarget(resp *http.Response) string {
	to, err := resp.Location()
	if resp.StatusCode/100 != 3 || err != nil {
		return ""
	}
	return (&url.URL{Scheme: to.Scheme, Host: to.Host}).String()
}

// newRequest returns a POST request that net/http may repeat on a new connection if the old one was
// closed. That is safe: requests for flags change no data, and events have uuids.
func newRequest(ctx context.Context, url string, body *bytes.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", library+"/"+libraryVersion)
	req.Header["Idempotency-Key"] = []string{} // tells net/http that the request is idempotent; a header without values is not sent
	return req, nil
}

// retryAfterOf returns how long the server requests clients to wait.
func retryAfterOf(h http.Header, now time.Time) time.Duration {
	return wire.RetryAfter(h.Get("Retry-After"), h.Get("Date"), now)
}
