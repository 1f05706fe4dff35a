package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

const oneEvent = `{"api_key":"phc_x","event":"e","distinct_id":"u"}`

// sendAllFirst writes the whole request before it reads the response, like simple clients, and
// returns the response.
func sendAllFirst(t *testing.T, s *httptest.Server, head string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(conn, body); err != nil {
		t.Fatalf("the body could not be sent: %v", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return readAll(t, res)
}

// blanks returns a body of n spaces.
func blanks(n int64) io.Reader { return io.LimitReader(blank{}, n) }

type blank struct{}

func (blank) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// A body over the limit on the wire is 413, and the client receives the response even if it writes
// the whole body before reading (§4.6, §18.1 row 18).
func TestCapture_4_6_TooLargeOnTheWire(t *testing.T) {
	h, _ := captureHandler(t, nil)
	s := httptest.NewServer(h)
	defer s.Close()
	const v1 = "Authorization: Bearer phc_x\r\nContent-Type: application/json\r\nPostHog-Sdk-Info: a/1\r\nPostHog-Attempt: 1\r\n" +
		"PostHog-Request-Id: 01a1f992-0000-7000-8000-000000000000\r\nPostHog-Request-Timestamp: 2026-07-15T12:00:00Z\r\nUser-Agent: x\r\n"
	for _, c := range []struct {
		path, headers string
		limit         int64
	}{{"/batch/", "", 20971520}, {"/s/", "", 25 << 20}, {"/i/v1/analytics/events", v1, 10 << 20}} {
		head := "POST " + c.path + " HTTP/1.1\r\nHost: x\r\n" + c.headers
		declared := sendAllFirst(t, s, fmt.Sprintf("%sContent-Length: %d\r\n\r\n", head, c.limit+1<<20), blanks(c.limit+1<<20))
		chunked := sendAllFirst(t, s, fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n", head, c.limit+1),
			io.MultiReader(blanks(c.limit+1), strings.NewReader("\r\n0\r\n\r\n")))
		for name, got := range map[string]*httptest.ResponseRecorder{"declared": declared, "chunked": chunked} {
			if got.Code != 413 || !strings.Contains(got.Body.String(), "payload_too_large") {
				t.Errorf("%s, %s: %d %s", c.path, name, got.Code, got.Body)
			}
		}
		// A body of exactly the limit is not too long: it fails because spaces are not an event.
		exact := sendAllFirst(t, s, fmt.Sprintf("%sContent-Length: %d\r\n\r\n", head, c.limit), blanks(c.limit))
		if exact.Code != 400 {
			t.Errorf("%s, of the limit: %d %s", c.path, exact.Code, exact.Body)
		}
	}
	if inUse := h.Stats().BudgetInUse; inUse != 0 {
		t.Errorf("%d bytes of the budget were not given back", inUse)
	}
}

// A client that sends Expect: 100-continue gets the refusal immediately, and does not send the body
// (§14.2 item 7).
func TestCapture_14_2_Expect(t *testing.T) {
	h, into := captureHandler(t, nil)
	s := httptest.NewServer(h)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(conn)
	_, _ = fmt.Fprintf(conn, "POST /e/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(oneEvent))
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = r.ReadString('\n')
	_, _ = io.WriteString(conn, oneEvent)
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 200 || len(into.take()) != 1 {
		t.Fatal(res, err)
	} else {
		_, _ = io.Copy(io.Discard, res.Body)
	}
	// The connection remains open for a request with a body that is refused.
	_, _ = io.WriteString(conn, "POST /e/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 413 {
		t.Fatal(res, err)
	}
}

// compressWith returns the text compressed by a writer.
func compressWith(t testing.TB, text io.Reader, to func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var out bytes.Buffer
	w := to(&out)
	if _, err := io.Copy(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packers are the compressing writers by Content-Encoding.
var packers = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w)
		return z
	},
}

var headersV1 = []string{"Authorization", "Bearer phc_x", "Content-Type", "application/json", "PostHog-Sdk-Info", "a/1", "PostHog-Attempt", "1",
	"PostHog-Request-Id", "01a1f992-0000-7000-8000-000000000000", "PostHog-Request-Timestamp", "2026-07-15T12:00:00Z", "User-Agent", "x"}

const oneEventV1 = `{"created_at":"2026-07-15T12:00:00Z","batch":[{"event":"e","uuid":"0190d0c0-0000-7000-8000-000000000001",` +
	`"distinct_id":"u","timestamp":"2026-07-15T12:00:00Z","properties":{}}]}`

// Every encoding of protocol v1, one body after the other, so that decoders are reused (§6.1).
func TestCapture_6_1_Encodings(t *testing.T) {
	h, into := captureHandler(t, nil)
	for name, to := range packers {
		for _, length := range []int{0, 100, 300_000} {
			text := strings.Repeat(" ", length) + oneEventV1
			packed := compressWith(t, strings.NewReader(text), to)
			for range 3 {
				w := ask(h, "POST", "/i/v1/analytics/events", string(packed), append(headersV1, "Content-Encoding", name)...)
				if w.Code != 200 || len(into.take()) != 1 {
					t.Errorf("%s of %d: %d %s", name, len(text), w.Code, w.Body)
				}
				w = ask(h, "POST", "/i/v1/analytics/events", string(packed[:len(packed)-5]), append(headersV1, "Content-Encoding", name)...)
				if w.Code != 400 || len(into.take()) != 0 {
					t.Errorf("%s of %d, cut off: %d %s", name, len(text), w.Code, w.Body)
				}
			}
		}
	}
}

// Protocol v1 allows 50 MiB after decompression (§4.6).
func TestCapture_4_6_V1Unpacked(t *testing.T) {
	h, _ := captureHandler(t, nil)
	for more, status := range []int{400, 413} { // spaces are not JSON
		packed := compressWith(t, blanks(int64(50<<20+more)), packers["gzip"])
		if w := ask(h, "POST", "/i/v1/analytics/events", string(packed), append(headersV1, "Content-Encoding", "gzip")...); w.Code != status {
			t.Errorf("%d more: %d %s", more, w.Code, w.Body)
		}
	}
}

// A zstd frame may request a larger window than decoders must support (RFC 8878, 3.1.1.1.2): it is
// refused.
func TestCapture_6_1_ZstdWindow(t *testing.T) {
	h, _ := captureHandler(t, nil)
	z := func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithWindowSize(64<<20))
		return z
	}
	packed := compressWith(t, io.MultiReader(blanks(9<<20), strings.NewReader(oneEventV1)), z)
	w := ask(h, "POST", "/i/v1/analytics/events", string(packed), append(headersV1, "Content-Encoding", "zstd")...)
	if w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A body that never ends is 408, one that ends early is 400, and no events of either are stored
// (§4.2).
func TestCapture_4_2_UnfinishedBodies(t *testing.T) {
	h, into := captureHandler(t, nil)
	const head = "POST /e/ HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		part   string
		close  bool
		status int
		code   string
	}{
		"ends early":        {head + "Content-Length: 100\r\n\r\n" + oneEvent, true, 400, "invalid_payload"},
		"stalls":            {head + "Content-Length: 100\r\n\r\n" + oneEvent, false, 408, "timeout"},
		"stalls in a chunk": {head + "Transfer-Encoding: chunked\r\n\r\n29\r\n{\"api_key", false, 408, "timeout"},
		"bad chunk":         {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", false, 400, "invalid_payload"},
	} {
		t.Run(name, func(t *testing.T) {
			within := longTime
			if strings.HasPrefix(name, "stalls") {
				within = 50 * time.Millisecond
			}
			if problem := checkError(t, slowClient(t, impatient(t, h, within), c.part, c.close), c.status); problem["code"] != c.code {
				t.Errorf("%v", problem)
			}
		})
	}
	if got := into.take(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// A router around the handler may have a lower limit for bodies.
func TestCapture_4_6_OuterBodyLimit(t *testing.T) {
	inner, _ := captureHandler(t, nil)
	s := httptest.NewServer(http.MaxBytesHandler(inner, 10))
	defer s.Close()
	r, err := http.NewRequest("POST", s.URL+"/e/", io.MultiReader(strings.NewReader(oneEvent)))
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, exchange(t, s.Client(), r), 413)
}

// For any input, capture responds without a 5xx status and releases its memory.
func FuzzCaptureBody(f *testing.F) {
	for _, file := range []string{"http.json", "httpv1.json"} {
		for _, c := range captureCases(f, file) {
			if c.Want.Status < 500 {
				h := c.Request.Headers
				f.Add(c.Request.Method, c.Request.Path, h["Content-Type"], h["Content-Encoding"], c.Request.body(f))
			}
		}
	}
	for name, to := range packers {
		f.Add("POST", "/i/v1/analytics/events", "application/json", name, compressWith(f, strings.NewReader(oneEventV1), to))
	}
	h, into := captureHandler(f, func(c *httpapi.Config) { c.MaxCaptureBody = 1 << 20 })
	f.Fuzz(func(t *testing.T, method, target, contentType, encoding string, text []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n") || bytes.Contains(text, []byte("phc_down")) {
			return // net/http does not accept it, or the store is unavailable
		}
		r := httptest.NewRequest("POST", "/", bytes.NewReader(text))
		r.Method, r.URL = method, u
		for i := 0; i+1 < len(headersV1); i += 2 {
			r.Header.Set(headersV1[i], headersV1[i+1])
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		stored := into.take()
		switch {
		case w.Code >= 500:
			t.Errorf("%d %s", w.Code, w.Body)
		case w.Code >= 400 && len(stored) > 0:
			t.Errorf("%d, and %d events were stored", w.Code, len(stored))
		}
		if inUse := h.Stats().BudgetInUse; inUse != 0 {
			t.Errorf("%d bytes of the budget were not given back", inUse)
		}
	})
}
