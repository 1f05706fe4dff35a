package exports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// Limits of requests.
const (
	batchRows     = 1000
	batchBytes    = 2 << 20          // the event that exceeds it is still added
	httpAttempts  = 4                // per batch
	maxRetryAfter = 30 * time.Second // the run ends if the server requests a longer wait
	maxRedirects  = 3
	maxAnswer     = 4 << 10 // bytes that are read of a response
)

// historicalAge is the minimum age of all events of a batch that is marked as a migration (decision
// 16).
const historicalAge = 48 * time.Hour

// endpoint is a /batch/ endpoint of Bunting or PostHog.
type endpoint struct {
	URL   string `json:"url"`
	Token string `json:"token"`

	to        *url.URL
	guard     guard
	transport *http.Transport
	client    *http.Client
}

func (r *Runner) openHTTP(d batchexports.ExportDestination) (destination, error) {
	e := &endpoint{guard: r.guard}
	err := settings(d, e)
	if err == nil && e.URL != "" {
		e.to, err = parseURL("url", e.URL)
	}
	if err != nil {
		return nil, err
	}
	e.transport = r.guard.transport(r.RootCAs)
	e.client = &http.Client{Transport: e.transport, CheckRedirect: redirect}
	return e, nil
}

// redirect follows up to maxRedirects redirects if they preserve the body and TLS. The address of
// each is checked when the client connects to it.
func redirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return rejectf("The server redirects more than %d times.", maxRedirects)
	case next.Method != http.MethodPost:
		return rejectf("The server redirects in a way that loses the request's body: give the URL that it redirects to.")
	case next.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return rejectf("The server redirects from https to http.")
	}
	return nil
}

// eventColumns are the columns of an event that are sent, in the order of appendEvent.
var eventColumns = []string{"uuid", "event", "distinct_id", "timestamp", "properties", "elements_chain"}

func (e *endpoint) run(ctx context.Context, rows *rows) (batchexports.RunTotals, error) {
	if rows.job.Model != "events" {
		return batchexports.RunTotals{}, rejectf("HTTP batch exports only support the events model")
	}
	at := make([]int, len(eventColumns))
	for i, name := range eventColumns {
		at[i] = slices.IndexFunc(rows.job.Columns, func(c batchexports.Column) bool { return c.Name == name })
		if at[i] < 0 && i < 3 {
			return batchexports.RunTotals{}, rejectf("HTTP batch exports need the columns uuid, event and distinct_id.")
		}
	}
	b := &batch{endpoint: e, indexes: at}
	err := rows.each(ctx, func(row []any) error { return b.add(ctx, row) })
	if err == nil {
		err = b.send(ctx)
	}
	return b.done, err
}

// batch collects events for a request.
type batch struct {
	*endpoint
	indexes []int // of eventColumns in a row; negative if the column is missing
	events  bytes.Buffer
	rows    int64
	newest  time.Time
	done    batchexports.RunTotals
}

func (b *batch) add(ctx context.Context, row []any) error {
	if b.rows > 0 {
		b.events.WriteByte(',')
	}
	newest, err := appendEvent(&b.events, row, b.indexes)
	if err != nil {
		return err
	}
	if b.rows++; newest.After(b.newest) {
		b.newest = newest
	}
	if b.rows < batchRows && b.events.Len() < batchBytes {
		return nil
	}
	return b.send(ctx)
}

// appendEvent writes a row as an event of a batch, and returns its time. The uuid lets the server
// detect events that are sent repeatedly.
func appendEvent(out *bytes.Buffer, row []any, indexes []int) (time.Time, error) {
	column := func(i int) any {
		if indexes[i] < 0 {
			return nil
		}
		return row[indexes[i]]
	}
	text := func(i int) string {
		s, _ := column(i).(string)
		return s
	}
	event := struct {
		UUID       string          `json:"uuid"`
		Event      string          `json:"event"`
		DistinctID string          `json:"distinct_id"`
		Timestamp  *time.Time      `json:"timestamp,omitempty"`
		Properties json.RawMessage `json:"properties"`
	}{UUID: text(0), Event: text(1), DistinctID: text(2)}
	when, ok := column(3).(time.Time)
	if ok {
		event.Timestamp = &when
	}
	properties, _ := column(4).(json.RawMessage)
	event.Properties = withoutGeoIP(properties, text(5))
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return when, enc.Encode(event)
}

// withoutGeoIP adds properties that keep the receiver from locating the event at this server's
// address, and the clicked elements, which are stored in a column of their own.
func withoutGeoIP(properties json.RawMessage, elements string) json.RawMessage {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(properties), []byte("{"))
	if !ok {
		rest = []byte("}")
	}
	var more []string
	add := func(name, value string) {
		if !hasMember(properties, name) {
			more = append(more, `"`+name+`":`+value)
		}
	}
	add("$geoip_disable", "true")
	add("$ip", "null")
	if elements != "" {
		quoted, _ := json.Marshal(elements) // encoding a string never fails
		add("$elements_chain", string(quoted))
	}
	text := "{" + strings.Join(more, ",")
	if rest = bytes.TrimSpace(rest); len(more) > 0 && rest[0] != '}' {
		text += ","
	}
	return append(json.RawMessage(text), rest...)
}

// hasMember reports whether a JSON object has a member with a name, not counting objects in it.
// The name must not need escapes.
func hasMember(object json.RawMessage, name string) bool {
	if !bytes.Contains(object, []byte(`"`+name+`"`)) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	_, ok := members[name]
	return ok
}

// send sends the collected events.
func (b *batch) send(ctx context.Context) error {
	if b.rows == 0 {
		return nil
	}
	n, err := b.post(ctx, b.events.Bytes(), b.newest.Before(time.Now().Add(-historicalAge)))
	if err != nil {
		return err
	}
	b.done.Rows += b.rows
	b.done.Bytes += n
	b.events.Reset()
	b.rows, b.newest = 0, time.Time{}
	return nil
}

// post sends events, with retries, and returns the size of the request.
func (e *endpoint) post(ctx context.Context, events []byte, historical bool) (int64, error) {
	token, err := json.Marshal(e.Token)
	if err != nil {
		return 0, err
	}
	var body bytes.Buffer
	body.Grow(len(events) + len(token) + 64)
	fmt.Fprintf(&body, `{"api_key":%s,`, token)
	if historical {
		body.WriteString(`"historical_migration":true,`)
	}
	body.WriteString(`"batch":[`)
	body.Write(events)
	body.WriteString(`]}`)
	for attempt := 1; ; attempt++ {
		err := e.exchange(ctx, body.Bytes())
		var later *retryError
		if !errors.As(err, &later) || attempt == httpAttempts || later.wait > maxRetryAfter {
			return int64(body.Len()), err
		}
		wait := later.wait
		if wait <= 0 {
			wait = time.Second << (attempt - 1)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		case <-timer.C:
		}
	}
}

// retryError is the error for a response after which the request may succeed later.
type retryError struct {
	text string
	wait time.Duration // the server's Retry-After, or zero
}

func (e *retryError) Error() string { return e.text }

// exchange sends a request once.
func (e *endpoint) exchange(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.to.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "bunting")
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // an incomplete response is sufficient
	_ = resp.Body.Close()
	text := fmt.Sprintf("The server answers %d%s", resp.StatusCode, detail(answer))
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return rejectf("The server does not take the token. %s", text)
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		return &retryError{text, wire.RetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), time.Now())}
	}
	return rejectf("%s", text)
}

// detail returns the reason in a response, or "" without a reason.
func detail(answer []byte) string {
	var reason struct{ Detail, Error, Message string }
	_ = json.Unmarshal(answer, &reason) // most errors are JSON, but they need not be
	for _, text := range []string{reason.Detail, reason.Error, reason.Message} {
		if text != "" {
			return ": " + text
		}
	}
	return ""
}

func (e *endpoint) needs(bool) []string { return []string{"url", e.URL, "token", e.Token} }

func (e *endpoint) secrets() []string {
	out := []string{e.Token}
	if e.to != nil {
		if password, ok := e.to.User.Password(); ok {
			out = append(out, password)
		}
	}
	return out
}

func (e *endpoint) explain(err error) error { return explainNet(err) }
func (e *endpoint) close()                  { e.transport.CloseIdleConnections() }

func (e *endpoint) steps() []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error { return e.guard.testDial(ctx, hostPort(e.to)) },
		func(ctx context.Context) error {
			// A server that checks the token first rejects an invalid one; other servers may report
			// that the batch is empty.
			body, err := json.Marshal(map[string]any{"api_key": e.Token, "batch": []any{}})
			if err != nil {
				return err
			}
			err = e.exchange(ctx, body)
			var target *batchexports.PermanentError
			if errors.As(err, &target) && strings.HasPrefix(target.Reason, "The server answers 400") {
				return nil
			}
			return err
		},
		func(ctx context.Context) error {
			var event bytes.Buffer
			row := []any{ids.Random(), testName, testName, time.Now().UTC(), json.RawMessage(`{"$process_person_profile":false}`)}
			if _, err := appendEvent(&event, row, []int{0, 1, 2, 3, 4, -1}); err != nil {
				return err
			}
			_, err := e.post(ctx, event.Bytes(), false)
			return err
		},
	}
}
