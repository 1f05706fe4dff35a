package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// apiTimeout is the time limit of one request, maxAnswer the size limit of its response in
	// bytes.
	apiTimeout = 2 * time.Minute
	maxAnswer  = 64 << 20
	// apiTries is the number of attempts of a request while the server does not respond or returns
	// a temporary error. The pauses between attempts double, up to maxPause.
	apiTries = 10
	minPause = 500 * time.Millisecond
	maxPause = 30 * time.Second
	// maxSilence is how long a server that has never responded is tried: it is probably stopped, or
	// has another address.
	maxSilence = 3 * time.Second
	// maxRetryAfter is the longest pause that a server may request.
	maxRetryAfter = 5 * time.Minute
)

// apiClient sends requests to a server, and retries those that may succeed later.
type apiClient struct {
	server string // without a trailing slash
	key    string // personal key; if empty, none is sent
	http   *http.Client
	// retriesSilence: if a server that has responded before stops responding, it is tried apiTries
	// times, since it may be restarting.
	retriesSilence, hasAnswered bool

	now func() time.Time
	// pause waits for d, or returns early with the context's error.
	pause func(ctx context.Context, d time.Duration) error
	// onRetry is called before a pause.
	onRetry func(why string, pause time.Duration)
	// onWarning is called for parts of a request that had no effect. It may be nil.
	onWarning func(text string)
}

// newAPIClient returns a client for a server's URL. Connecting times out after maxSilence.
func newAPIClient(server, key string) (*apiClient, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--server: must be a URL such as http://127.0.0.1:8000, not %q", server)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: maxSilence}).DialContext
	client := &http.Client{
		Timeout:   apiTimeout,
		Transport: transport,
		// The server does not redirect, and the key must not be sent to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &apiClient{server: strings.TrimRight(server, "/"), key: key, http: client, now: time.Now, pause: pause, onRetry: func(string, time.Duration) {}}, nil
}

func (c *apiClient) close() { c.http.CloseIdleConnections() }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// apiError is a response without a success status.
type apiError struct {
	Status int
	Detail string
}

func (e *apiError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server answered %d: %s", e.Status, e.Detail)
}

// isRepeatable reports whether the same request may succeed later.
func (e *apiError) isRepeatable() bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// do sends a request, with retries if they may help, and decodes the response into into unless it
// is nil. path must begin with a slash.
func (c *apiClient) do(ctx context.Context, method, path string, body []byte, into any) error {
	wait, began := minPause, c.now()
	for try := 1; ; try++ {
		answer, after, err := c.sendOnce(ctx, method, path, body)
		if err == nil {
			if into == nil {
				return nil
			}
			if err = json.Unmarshal(answer, into); err != nil {
				err = fmt.Errorf("the server's response to %s %s cannot be read: %w", method, path, err)
			}
			return err
		}
		var refusal *apiError
		if ctx.Err() != nil || errors.As(err, &refusal) && !refusal.isRepeatable() {
			return err
		}
		d := cmp.Or(min(after, maxRetryAfter), wait)
		if refusal == nil && !(c.retriesSilence && c.hasAnswered) {
			remaining := maxSilence - c.now().Sub(began)
			if remaining <= 0 {
				return c.unreachableError(err)
			}
			d = min(d, remaining)
		}
		if try == apiTries {
			return fmt.Errorf("after %d tries: %w", try, err)
		}
		c.onRetry(err.Error(), d)
		if err := c.pause(ctx, d); err != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// unreachableError returns the error for a server that does not respond.
func (c *apiClient) unreachableError(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the path, which is not the cause
	}
	return fmt.Errorf("no answer from %s: %w\nis the server running? choose another one with --server or BUNTING_SERVER", c.server, err)
}

// send sends value as JSON and decodes the response into into. Both may be nil.
func (c *apiClient) send(ctx context.Context, method, path string, value, into any) error {
	var body []byte
	if value != nil {
		var err error
		if body, err = json.Marshal(value); err != nil {
			return err
		}
	}
	return c.do(ctx, method, path, body, into)
}

// pages reads all pages of a list.
func pages[T any](ctx context.Context, c *apiClient, path string) (out []T, err error) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for {
		var page struct {
			Count   int
			Results []T
		}
		if err := c.send(ctx, "GET", fmt.Sprintf("%s%slimit=500&offset=%d", path, separator, len(out)), nil, &page); err != nil {
			return nil, err
		}
		out = append(out, page.Results...)
		if len(page.Results) == 0 || len(out) >= page.Count {
			return out, nil
		}
	}
}

// sendOnce sends a request without retries. after is the pause that the server requests.
func (c *apiClient) sendOnce(ctx context.Context, method, path string, body []byte) (answer []byte, after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("User-Agent", "bunting/"+cli.ReadBuild().Version)
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w, err := c.http.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = w.Body.Close() }()
	c.hasAnswered = true
	answer, err = io.ReadAll(io.LimitReader(w.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(answer) > maxAnswer:
		return nil, 0, &apiError{Status: w.StatusCode, Detail: fmt.Sprintf("more than %d MiB", maxAnswer>>20)}
	case w.StatusCode/100 == 2:
		for _, text := range w.Header.Values("Bunting-Warning") {
			if c.onWarning != nil {
				c.onWarning(text)
			}
		}
		return answer, 0, nil
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(answer, &problem) // errors of other servers may not be JSON
	return nil, wire.RetryAfter(w.Header.Get("Retry-After"), w.Header.Get("Date"), time.Now()), &apiError{w.StatusCode, problem.Detail}
}
