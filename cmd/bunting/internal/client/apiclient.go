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

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// apiTimeout bounds one request, maxAnswer its answer in bytes.
	apiTimeout = 2 * time.Minute
	maxAnswer  = 64 << 20
	// apiTries is how often a request is tried while the server does not answer or
	// asks to come again; the pauses between double up to maxPause.
	apiTries = 10
	minPause = 500 * time.Millisecond
	maxPause = 30 * time.Second
	// maxSilence is how long a server is tried that gives no answer at all: it is
	// stopped, or elsewhere.
	maxSilence = 3 * time.Second
	// maxRetryAfter is the longest pause that a server may ask for.
	maxRetryAfter = 5 * time.Minute
)

// apiClient talks to a server, and tries again what may work later.
type apiClient struct {
	server string // without a slash at the end
	key    string // personal; empty: none is sent
	http   *http.Client
	// retriesSilence: a server that has answered once is tried apiTries times when it is
	// silent later, as it may be starting anew.
	retriesSilence, hasAnswered bool

	now func() time.Time
	// pause waits, or returns early with the context's error.
	pause func(ctx context.Context, d time.Duration) error
	// onRetry is called before a pause.
	onRetry func(why string, pause time.Duration)
	// onWarning is called for what a request asked for and had no effect; may be nil.
	onWarning func(text string)
}

func newAPIClient(server, key string) (*apiClient, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--server: want a URL such as http://127.0.0.1:8000, not %q", server)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: maxSilence}).DialContext
	client := &http.Client{
		Timeout:   apiTimeout,
		Transport: transport,
		// The server makes no redirects, and a key is not for another host.
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

// apiError is an answer that is no success.
type apiError struct {
	Status int
	Detail string
}

func (e *apiError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Status, e.Detail)
}

// isRepeatable reports whether the same request may work later.
func (e *apiError) isRepeatable() bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// do sends a request, again while that may help, and decodes the answer unless
// into is nil. A path begins with a slash.
func (c *apiClient) do(ctx context.Context, method, path string, body []byte, into any) error {
	wait, began := minPause, c.now()
	for try := 1; ; try++ {
		answer, after, err := c.sendOnce(ctx, method, path, body)
		if err == nil {
			if into == nil {
				return nil
			}
			if err = json.Unmarshal(answer, into); err != nil {
				err = fmt.Errorf("the server's answer to %s %s cannot be read: %w", method, path, err)
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

// unreachableError says that nobody answers.
func (c *apiClient) unreachableError(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the path, which is not at fault
	}
	return fmt.Errorf("no answer from %s: %w\nis it running? --server or BUNTING_SERVER names another one", c.server, err)
}

// send sends a value as JSON and reads the answer; value and into may be nil.
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

// sendOnce sends a request once. after is how long the server asks to wait.
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
	_ = json.Unmarshal(answer, &problem) // another server's error may be no JSON
	return nil, wire.RetryAfter(w.Header.Get("Retry-After"), w.Header.Get("Date"), time.Now()), &apiError{w.StatusCode, problem.Detail}
}
