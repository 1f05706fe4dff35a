package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// liveScript answers the requests of a follower: each connection with the next stream, and each
// request for stored events with the next page. A stream may begin with a status.
type liveScript struct {
	streams, pages []string
	requests       []string
}

func (s *liveScript) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.URL.RequestURI())
	list, live := &s.pages, strings.Contains(r.URL.Path, "/live/")
	if live {
		list = &s.streams
	}
	if len(*list) == 0 {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"detail":"no more"}`)
		return
	}
	text := (*list)[0]
	*list = (*list)[1:]
	if status := 0; strings.HasPrefix(text, "5") {
		_, _ = fmt.Sscan(text, &status)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		return
	}
	_, _ = io.WriteString(w, text)
}

// storedEvent and sentEvent are an event in a page and in a stream.
func storedEvent(n int) string {
	return fmt.Sprintf(`{"uuid":"%d","event":"e%d","distinct_id":"d","timestamp":"T%d","properties":{}}`, n, n, n)
}

func sentEvent(n int) string { return "event: event\ndata: " + storedEvent(n) + "\n\n" }

func storedPage(numbers ...int) string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = storedEvent(n)
	}
	return `{"results":[` + strings.Join(list, ",") + `]}`
}

// followed runs a follower against a script until it returns. It returns the numbers of the printed
// events, the pauses, the standard error and the error.
func followed(t *testing.T, s *liveScript, lines int, event string) (printed []string, pauses []time.Duration, stderr string, err error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := newAPIClient(server.URL, "phx_good")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.pause = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}
	var out, errors bytes.Buffer
	asJSON, none := false, ""
	m := &manager{Program: &cli.Program{Stdout: &out, Stderr: &errors}, project: &projectRef{ID: 1}, asJSON: &asJSON, client: c}
	c.onRetry = func(why string, _ time.Duration) { _, _ = fmt.Fprintln(&errors, why) }
	err = (&follower{tailOptions: &tailOptions{lines: &lines, event: &event, distinctID: &none}, manager: m, printed: newRecentEvents(nil)}).run(t.Context())
	for line := range strings.Lines(out.String()) {
		printed = append(printed, strings.Fields(line)[0])
	}
	return printed, pauses, errors.String(), err
}

// Following prints the newest stored events, then those of the stream, each a single time. After a
// lost connection it prints what was missed.
func TestEvents_Follow(t *testing.T) {
	t.Parallel()
	s := &liveScript{
		streams: []string{
			"retry: 1500\n\n: hello\n\n" + sentEvent(1) + sentEvent(2) + sentEvent(4) + "event: dropped\ndata: {\"n\":3}\n\nevent: other\ndata: {}\n\n" + sentEvent(5) + "event: event\ndata: {\"uuid\":\"cut off",
			sentEvent(6) + sentEvent(9),
		},
		pages: []string{storedPage(3, 2, 1), storedPage(8, 7, 6, 5, 4, 3)},
	}
	printed, pauses, stderr, err := followed(t, s, 2, "")
	if err == nil || err.Error() != "the server answered 403: no more" {
		t.Errorf("the end is %v", err)
	}
	if diff := gocmp.Diff(strings.Fields("T2 T3 T4 T5 T6 T7 T8 T9"), printed); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	// The first stream asks for 1.5 seconds, the second for nothing: then it is the shortest pause.
	if diff := gocmp.Diff([]time.Duration{1500 * time.Millisecond, minPause}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	for _, want := range []string{"warning: 3 events are not printed: there are too many\n", "the stream of events has ended: the server has closed it\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr %q, want %q in it", stderr, want)
		}
	}
	live := "/api/projects/1/events/live/"
	if diff := gocmp.Diff([]string{live, "/api/projects/1/events/?limit=500", live, "/api/projects/1/events/?limit=500", live}, s.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// The filters are those of the stream and of the stored events. A server that stays away ends the
// command after apiTries attempts, with the pauses that it requests.
func TestEvents_FollowGivesUp(t *testing.T) {
	t.Parallel()
	s := &liveScript{streams: strings.Fields(strings.Repeat("503 ", 2*apiTries))}
	s.streams = append([]string{": \n\n"}, s.streams...)
	s.pages = []string{storedPage()}
	printed, pauses, _, err := followed(t, s, 1, "a b")
	if err == nil || !strings.HasPrefix(err.Error(), "after 10 tries: the server answered 503") {
		t.Errorf("the end is %v", err)
	}
	if len(printed) > 0 || len(pauses) != apiTries || pauses[1] != 7*time.Second {
		t.Errorf("printed %v, pauses %v", printed, pauses)
	}
	if len(s.requests) != apiTries+2 || s.requests[0] != "/api/projects/1/events/live/?event=a+b" || s.requests[1] != "/api/projects/1/events/?event=a+b&limit=500" {
		t.Errorf("requests %v", s.requests)
	}
}

// More events than a request returns may have been missed without a connection.
func TestEvents_FollowWarnsOfAGap(t *testing.T) {
	t.Parallel()
	numbers := make([]int, maxTail)
	for i := range numbers {
		numbers[i] = 1000 - i
	}
	s := &liveScript{streams: []string{": \n\n", ": \n\n"}, pages: []string{storedPage(1), storedPage(numbers...)}}
	printed, _, stderr, _ := followed(t, s, 1, "")
	if len(printed) != 1+maxTail || !strings.Contains(stderr, "warning: more than 500 events arrived without a connection: some of them are not printed\n") {
		t.Errorf("%d are printed, stderr %q", len(printed), stderr)
	}
}

// endlessBody is a body that sends a text and is then silent until the request is cancelled.
type endlessBody struct {
	io.Reader
	done <-chan struct{}
}

func (b endlessBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.done
	return 0, context.Canceled
}

type silentServer string

func (s silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(endlessBody{strings.NewReader(string(s)), r.Context().Done()})}, nil
}

// A stream that is silent for a minute has ended; a comment shows that it is alive.
func TestEventStream_Silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &apiClient{server: "http://bunting.example", http: &http.Client{Transport: silentServer(": alive\n\n" + sentEvent(1))}}
		s, _, err := c.openStream(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		began := time.Now()
		if m, err := s.next(); err != nil || m.event != "event" {
			t.Errorf("the message is %+v, %v", m, err)
		}
		if m, err := s.next(); err == nil || err.Error() != "nothing came for 1m0s" || time.Since(began) != streamSilence {
			t.Errorf("after %s: %+v, %v", time.Since(began), m, err)
		}
	})
}
