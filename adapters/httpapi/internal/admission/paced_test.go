package admission

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a ResponseWriter that records the read deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.at = at; return nil }

// The time in which the server itself waits between two reads, for memory, does not count as
// slowness of the client; the client's own pauses do.
func TestPacedBody_OwnTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server, sender time.Duration // delay of each before the second read ends
		left           time.Duration // the time for a third one
	}{
		"nobody waits":         {0, 0, paceInterval},
		"the server":           {20 * time.Second, 0, paceInterval},
		"the sender":           {0, 2 * time.Second, paceInterval - 2*time.Second},
		"both":                 {20 * time.Second, 2 * time.Second, paceInterval - 2*time.Second},
		"the server, too long": {59 * time.Second, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := io.Pipe()
				w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
				ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{ReadTimeout: time.Minute})
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/batch", from)
				r.ContentLength = 100_000
				body := PacedBody{W: w, R: r}
				go func() {
					_, _ = io.Copy(to, strings.NewReader(strings.Repeat("x", 100)))
					time.Sleep(test.server + test.sender)
					_, _ = io.Copy(to, strings.NewReader(strings.Repeat("x", 200)))
				}()
				buf := make([]byte, 100)
				for _, pause := range []time.Duration{0, test.server, 0} {
					time.Sleep(pause)
					if _, err := io.ReadFull(&body, buf); err != nil {
						t.Fatal(err)
					}
				}
				if remaining := time.Until(w.at); remaining != test.left {
					t.Errorf("%s are left, want %s", remaining, test.left)
				}
			})
		})
	}
}
