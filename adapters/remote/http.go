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

// httpClient is the client that makes all requests, and whether its connections are
// ours to close.
func httpClient(custom *http.Client) (c *http.Client, owned bool) {
	c = &http.Client{}
	if custom != nil {
		*c = *custom
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok { // else the program has put another in its place
		t = t.Clone()
		// A connection over HTTP/2 on which nothing comes any more would be used again and again.
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

// canFollow reports whether a redirect is followed: not one that turns a POST into a
// GET, since what is sent would be lost, nor one that gives up encryption, nor one
// that would carry the key to another server.
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

// redirectTarget says where a redirect leads that was not followed, empty for none.
func redirectTarget(resp *http.Response) string {
	to, err := resp.Location()
	if resp.StatusCode/100 != 3 || err != nil {
		return ""
	}
	return (&url.URL{Scheme: to.Scheme, Host: to.Host}).String()
}

// newRequest makes a POST that may be sent again on a new connection when an old one
// turns out to be closed: questions change nothing, and events have their uuids.
func newRequest(ctx context.Context, url string, body *bytes.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", library+"/"+libraryVersion)
	req.Header["Idempotency-Key"] = []string{} // told to net/http, not to the server
	return req, nil
}

// retryAfterOf is how long a server asks to be left alone.
func retryAfterOf(h http.Header, now time.Time) time.Duration {
	return wire.RetryAfter(h.Get("Retry-After"), h.Get("Date"), now)
}
