package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

const good = `{"api_key":"phc_test","distinct_id":"u1"}`

// A body may be as long as the limit but not longer, with or without a declared length, compressed
// or not (§9.3, §9.11).
func TestFlags_9_11_BodyLimit(t *testing.T) {
	const limit = 1000
	s := httptest.NewServer(sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.MaxBody = limit }))
	defer s.Close()
	padded := func(n int) string { return good + strings.Repeat(" ", n-len(good)) }
	send := func(text string, length int64, headers ...string) *httptest.ResponseRecorder {
		r, err := http.NewRequest("POST", s.URL+"/flags?v=2", io.MultiReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return exchange(t, s.Client(), r)
	}
	for _, length := range []int64{limit, -1} {
		if got := send(padded(limit), length); got.Code != 200 {
			t.Errorf("%d bytes: %d %s", limit, got.Code, got.Body)
		}
	}
	for _, length := range []int64{limit + 1, -1} {
		problem := checkError(t, send(padded(limit+1), length), 413)
		want := "Decompressed request body exceeded 1000 bytes (got 1001). If this is a legitimate workload, contact PostHog support."
		if problem["detail"] != want || problem["code"] != "request_too_large" {
			t.Errorf("declared %d: %v", length, problem)
		}
	}
	for _, bomb := range []string{packed(t, gzip.NewWriter, 900<<10), packed(t, zlib.NewWriter, 100<<10), packed(t, gzip.NewWriter, limit+1)} {
		encoding := "gzip"
		if bomb[0] == 'x' { // the zlib header
			encoding = "deflate"
		}
		problem := checkError(t, send(bomb, -1, "Content-Encoding", encoding), 413)
		if detail := problem["detail"].(string); !strings.HasPrefix(detail, "Decompressed request body exceeded 1000 bytes (got ") {
			t.Errorf("%s", detail)
		}
	}
}

// promise is a body that declares a large length and arrives in small parts. It records the size of
// the buffers that it is offered beyond the bytes read so far.
type promise struct {
	rest     io.Reader
	came     int
	greatest int // size of the offered buffer minus the bytes read before
}

func (p *promise) Read(b []byte) (int, error) {
	p.greatest = max(p.greatest, len(b)-p.came)
	n, err := p.rest.Read(b[:min(len(b), 4000)])
	p.came += n
	return n, err
}

// A declared length by itself reserves no memory: a client that declares 10 MiB and sends few bytes
// causes few allocations.
func TestHTTP_DeclaredLengthTakesNoMemory(t *testing.T) {
	const declared = 10 << 20
	for name, length := range map[string]int64{"declared": declared, "not declared": -1} {
		t.Run(name, func(t *testing.T) {
			h := sharedWorld(t).handler(t, nil, nil) // a new handler has empty pools
			for _, text := range []string{good, good + strings.Repeat(" ", declared-len(good))} {
				p := &promise{rest: strings.NewReader(text)}
				r := httptest.NewRequest("POST", "/flags?v=2", p)
				r.ContentLength = length
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != 200 {
					t.Errorf("%d bytes: %d %s", len(text), w.Code, truncate(w.Body.Bytes()))
				}
				if p.greatest > 64<<10 {
					t.Errorf("%d bytes: room for %d more than had come", len(text), p.greatest)
				}
			}
		})
	}
}

// packed returns n compressed spaces.
func packed[W io.WriteCloser](t *testing.T, writer func(io.Writer) W, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := writer(&out)
	if _, err := w.Write(bytes.Repeat([]byte(" "), n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A bomb of 10 KB that would expand to 10 MB or more is stopped at the default limit, with one gzip
// member and with 100.
func TestFlags_9_11_Bomb(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	for _, bomb := range []string{
		packed(t, gzip.NewWriter, httpapi.DefaultMaxBody+1),
		strings.Repeat(packed(t, gzip.NewWriter, 1<<20), 100),
	} {
		problem := checkError(t, ask(h, "POST", "/flags?v=2", bomb), 413)
		if detail := problem["detail"].(string); !strings.Contains(detail, fmt.Sprintf("exceeded %d bytes", httpapi.DefaultMaxBody)) {
			t.Errorf("%s", detail)
		}
	}
}

// Unusual bodies get the documented status, and an error names the position.
func TestFlags_9_11_StrangeBodies(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String()
	}
	with := func(member string) string { return `{"api_key":"phc_test","distinct_id":"u1",` + member + `}` }
	for name, c := range map[string]struct {
		text, attr string
		status     int
	}{
		"10,000 deep, in a field":     {with(`"person_properties":` + deep(10_000)), "person_properties", 400},
		"10,000 deep, elsewhere":      {with(`"x":` + deep(10_000)), "x", 400},
		"10,000 lists":                {strings.Repeat("[", 10_000), "", 400},
		"a million open lists":        {with(`"person_properties":{"a":` + strings.Repeat("[", 1_000_000)), "person_properties", 400},
		"a million open strings":      {strings.Repeat(`{"`, 1_000_000), "", 400},
		"100,000 members":             {with(members(100_000) + `"z":1`), "", 200},
		"5,000 properties":            {with(`"person_properties":{` + members(5_000) + `"plan":"pro"}`), "", 200},
		"65,536 properties":           {with(`"person_properties":{` + members(65_535) + `"plan":"pro"}`), "", 200},
		"65,537 properties":           {with(`"person_properties":{` + members(65_536) + `"plan":"pro"}`), "person_properties", 400},
		"65,537 properties inside":    {with(`"group_properties":{"company":{"x":{` + members(65_536) + `"plan":"pro"}}}`), "group_properties.company.x", 400},
		"65,537 groups":               {with(`"groups":{` + members(65_536) + `"z":1}`), "groups", 400},
		"one name 100,000 times":      {with(strings.Repeat(`"distinct_id":"u",`, 100_000) + `"z":1`), "", 200},
		"numbers beyond float64":      {with(`"person_properties":{"a":1e999999999}`), "person_properties.a", 400},
		"numbers at its edges":        {with(`"person_properties":{"a":1.7e308,"b":1e-999999999,"c":` + strings.Repeat("9", 300) + `}`), "", 200},
		"a number of 100,000 digits":  {`{"api_key":"phc_test","distinct_id":` + strings.Repeat("9", 100_000) + `}`, "distinct_id", 400},
		"a distinct id of 5 MB":       {`{"api_key":"phc_test","distinct_id":"` + strings.Repeat("é", 5<<20/2) + `"}`, "", 200},
		"a token of 1 MB":             {`{"distinct_id":"u1","api_key":"` + strings.Repeat("x", 1<<20) + `"}`, "", 401},
		"a key of 1 MB":               {with(`"person_properties":{"` + strings.Repeat("x", 1<<20) + `":1}`), "", 200},
		"100,000 flag keys":           {with(`"flag_keys":[` + strings.Repeat(`"plain",`, 100_000) + `"beta"]`), "", 200},
		"100,000 contexts":            {with(`"evaluation_contexts":[` + strings.Repeat(`"x",`, 100_000) + `"checkout"]`), "", 200},
		"broken UTF-8 in a key":       {with("\"person_properties\":{\"\xff\xfe\":\"\xc3\x28\"}"), "", 200},
		"broken UTF-8 in the token":   {"{\"api_key\":\"\xff\xfe\",\"distinct_id\":\"u1\"}", "", 401},
		"half a surrogate pair":       {`{"api_key":"phc_test","distinct_id":"\ud800"}`, "", 200},
		"zero bytes in the id":        {`{"api_key":"phc_test","distinct_id":"\u0000"}`, "", 200},
		"a zero byte as it is":        {"{\"api_key\":\"phc_test\",\"distinct_id\":\"\x00\"}", "", 200},
		"a wrong type in a long list": {with(`"flag_keys":[` + strings.Repeat(`"a",`, 1000) + `{}]`), "flag_keys.1000", 400},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, "POST", "/flags?v=2", c.text)
			if c.status == 200 {
				if got := decoded(t, w); got.Status != 200 || got.Errors || len(got.Flags) == 0 {
					t.Errorf("%d %s", w.Code, truncate(w.Body.Bytes()))
				}
				return
			}
			problem := checkError(t, w, c.status)
			if attr, _ := problem["attr"].(string); !strings.HasPrefix(attr, c.attr) || len(attr) > 400 {
				t.Errorf("attr %q", attr)
			}
			if detail := problem["detail"].(string); len(detail) > 1000 || c.status == 400 && !strings.Contains(detail, "At byte ") {
				t.Errorf("detail %q", truncate([]byte(detail)))
			}
		})
	}
}

// Invalid headers and queries have no effect.
func TestHTTP_GarbageAroundTheBody(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	garbage := []string{"", " ", ",", "\x00\x01\xff", strings.Repeat("1.2.3.4,", 100_000), strings.Repeat("[", 10_000), "fe80::1%eth0", "%", "W/", `"`, strings.Repeat("x", 1<<20), "1.2.3.4:99999", "ünï"}
	for _, name := range []string{"X-Forwarded-For", "HTTP_X_FORWARDED_FOR", "User-Agent", "X-Request-Id", "Origin", "Referer", "Authorization", "If-None-Match", "Access-Control-Request-Method"} {
		for _, v := range garbage {
			got := decideFlags(t, h, good, name, v)
			if got.Status != 200 || !got.on("plain") {
				t.Errorf("%s: %q: %+v", name, truncate([]byte(v)), got)
			}
			if w := ask(h, "GET", "/flags/definitions?token=phc_test", "", name, v); w.Code != 401 {
				t.Errorf("definitions, %s: %q: %d", name, truncate([]byte(v)), w.Code)
			}
		}
	}
	for _, query := range []string{"%", "%zz", "v=%", "&&&=&=&", "v=2&v=1", "config=%00", strings.Repeat("a=b&", 100_000), "v=" + strings.Repeat("9", 10_000), ";v=1", "compression=%67zip-js%"} {
		r := httptest.NewRequest("POST", "/flags", strings.NewReader(good))
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("?%s: %d", truncate([]byte(query)), w.Code)
		}
		value(t, w.Body.Bytes())
	}
}

// slowClient sends a part of a request and waits for the response.
func slowClient(t *testing.T, s *httptest.Server, part string, thenClose bool) *httptest.ResponseRecorder {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, part); err != nil {
		t.Fatal(err)
	}
	if thenClose {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, res)
}

// impatient serves h with a ReadTimeout for bodies only: headers may take an hour.
func impatient(t *testing.T, h http.Handler, within time.Duration) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadTimeout, s.Config.ReadHeaderTimeout = within, longTime
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A body that ends early, stalls until the server's ReadTimeout, or is not validly chunked is an
// error of the client: 400.
func TestFlags_9_11_UnfinishedBodies(t *testing.T) {
	s := impatient(t, sharedWorld(t).handler(t, nil, nil), 50*time.Millisecond)
	const head = "POST /flags?v=2 HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		part  string
		close bool
	}{
		"ends early":          {head + "Content-Length: 100\r\n\r\n" + good, true},
		"stalls":              {head + "Content-Length: 100\r\n\r\n" + good, false},
		"stalls in a chunk":   {head + "Transfer-Encoding: chunked\r\n\r\n29\r\n{\"api_key", false},
		"ends between chunks": {head + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n", true},
		"bad chunk":           {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			problem := checkError(t, slowClient(t, s, c.part, c.close), 400)
			if detail := problem["detail"].(string); !strings.HasPrefix(detail, "Failed to decode request: ") {
				t.Errorf("%s", detail)
			}
		})
	}
}

// A long body with an unknown key is refused as soon as the key has been read, compressed or not,
// by /flags and by OFREP, which has the key in a header.
func TestFlags_9_10_KeyOfALongBody(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	body := `{"distinct_id":"u","api_key":"phc_nobody","person_properties":{"a":"` + strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ path, body, encoding, key string }{
		"/flags":         {"/flags?v=2", body, "", ""},
		"/flags, packed": {"/flags?v=2", string(compressWith(t, strings.NewReader(body), packers["gzip"])), "gzip", ""},
		"/decide":        {"/decide?v=3", body, "", ""},
		"OFREP":          {"/ofrep/v1/evaluate/flags", body, "", "phc_nobody"},
	} {
		p := &promise{rest: strings.NewReader(c.body)}
		r := httptest.NewRequest("POST", c.path, p)
		r.ContentLength = int64(len(c.body))
		r.Header.Set("Content-Encoding", c.encoding)
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 401 { // reading the whole body would return 400, since it is not JSON
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if p.came > 100<<10 {
			t.Errorf("%s: %d bytes were read", name, p.came)
		}
	}
	if w := ask(h, "POST", "/flags?v=2", good+strings.Repeat(" ", 1<<20)); w.Code != 200 {
		t.Errorf("a long body with a key: %d %s", w.Code, w.Body)
	}
}

// A long packed body with an unknown key is refused once its beginning has been unpacked. The rest
// of it is broken, and would be another error.
func TestHTTP_KeyOfALongPackedBody(t *testing.T) {
	noise := make([]byte, 256<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	body := `{"api_key":"phc_nobody","distinct_id":"u","event":"e","properties":{"a":"` + hex.EncodeToString(noise) + `"}}`
	gz := compressWith(t, strings.NewReader(body), packers["gzip"])
	intake, _ := captureHandler(t, nil)
	flags := sharedWorld(t).handler(t, nil, nil)
	for path, h := range map[string]http.Handler{"/flags?v=2": flags, "/decide?v=3": flags, "/e/": intake, "/batch/": intake} {
		for length, want := range map[int]int{len(gz): 401, len(gz) / 2: 401, 100: 400} { // 100 bytes are not enough for a check
			if w := ask(h, "POST", path, string(gz[:length]), "Content-Encoding", "gzip"); w.Code != want {
				t.Errorf("%s, %d bytes: %d %s", path, length, w.Code, truncate(w.Body.Bytes()))
			}
		}
	}
}

// The memory of all requests for flags is limited, including decoded members, and released
// afterwards.
func TestFlags_Budget(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.FlagsBudget = 16 << 20 })
	var list strings.Builder
	for i := range 30 {
		fmt.Fprintf(&list, `"p%d":{%s"z":1},`, i, strings.Repeat(`"k":{},`, 10_000))
	}
	w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u","person_properties":{`+list.String()+`"z":1}}`)
	checkError(t, w, 413)
	if w := ask(h, "POST", "/flags?v=2", good); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if inUse := h.(*httpapi.Handler).Stats().FlagsInUse; inUse != 0 {
		t.Errorf("%d bytes were not given back", inUse)
	}
}
