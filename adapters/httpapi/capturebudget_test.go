package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// peakMemory runs f and returns the highest observed use of the budget, in bytes.
func peakMemory(h *httpapi.Handler, f func()) (highest uint64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		highest = max(highest, h.Stats().BudgetInUse)
		select {
		case <-done:
			return highest
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// Compression bombs are stopped at the limit, with 413, and use no more memory than the budget
// (§18.1 row 17).
func TestCapture_18_1_Bombs(t *testing.T) {
	const mebibyte = 1 << 20
	h, _ := captureHandler(t, func(c *httpapi.Config) { c.Budget, c.MaxCaptureBody = 32*mebibyte, mebibyte })
	gz := compressWith(t, blanks(40*mebibyte), packers["gzip"])
	many := bytes.Repeat(compressWith(t, blanks(mebibyte), packers["gzip"]), 40)
	inBase64 := "H4sIAAAAAAAA" // truncated: the rest is not gzip
	for name, c := range map[string]struct {
		target, text string
		headers      []string
		status       int
	}{
		"gzip":              {"/e/", string(gz), nil, 413},
		"gzip in pieces":    {"/e/", string(many), nil, 413},
		"gzip, recordings":  {"/s/", string(gz), nil, 413},
		"half of base64":    {"/e/", inBase64, nil, 400},
		"a lie in the tail": {"/e/", string(gz[:len(gz)-4]) + "\x10\x00\x00\x00", nil, 413},
		"lz64":              {"/e/?compression=lz64", "BIbwoKkK" + strings.Repeat("A", 1<<19), nil, 400},
		"v1 gzip":           {"/i/v1/analytics/events", string(gz), append(headersV1, "Content-Encoding", "gzip"), 413},
		"v1 deflate":        {"/i/v1/analytics/events", string(compressWith(t, blanks(40*mebibyte), packers["deflate"])), append(headersV1, "Content-Encoding", "deflate"), 413},
		"v1 br":             {"/i/v1/analytics/events", string(compressWith(t, blanks(40*mebibyte), packers["br"])), append(headersV1, "Content-Encoding", "br"), 413},
		"v1 zstd":           {"/i/v1/analytics/events", string(compressWith(t, blanks(40*mebibyte), packers["zstd"])), append(headersV1, "Content-Encoding", "zstd"), 413},
	} {
		t.Run(name, func(t *testing.T) {
			var w *httptest.ResponseRecorder
			highest := peakMemory(h, func() { w = ask(h, "POST", c.target, c.text, c.headers...) })
			if w.Code != c.status {
				t.Errorf("%d %s", w.Code, truncate(w.Body.Bytes()))
			}
			if highest > 32*mebibyte {
				t.Errorf("%d bytes were in use", highest)
			}
			if inUse := h.Stats().BudgetInUse; inUse != 0 {
				t.Errorf("%d bytes of the budget were not given back", inUse)
			}
		})
	}
}

// If the memory is in use, new bodies wait, then get 503 with Retry-After. Requests in progress are
// not affected, and a body that is larger than the whole budget is refused as too large (decision
// 14).
func TestCapture_Decision14_Budget(t *testing.T) {
	h, into := captureHandler(t, func(c *httpapi.Config) { c.Budget = 1200 << 10 })
	s := httptest.NewServer(h)
	defer s.Close()
	post := func(blanks int) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/e/", strings.NewReader(oneEvent+strings.Repeat(" ", blanks)))
		if err != nil {
			return nil, err
		}
		res, err := s.Client().Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		return res, err
	}
	if res, err := post(1000 << 10); err != nil || res.StatusCode != 413 {
		t.Fatal(res, err)
	}
	into.block = make(chan struct{})
	release := sync.OnceFunc(func() { close(into.block) })
	defer release()
	var slow sync.WaitGroup
	// Each of these uses 230 KB until it is stored: the body, the stored form, the items. One is in
	// a quarter of its own, two are in two others. With few processors only two are processed.
	busy := min(3, max(2, runtime.GOMAXPROCS(0)/2))
	for i := range busy {
		slow.Go(func() {
			if res, err := post(100 << 10); err != nil || res.StatusCode != 200 {
				t.Error(res, err)
			}
		})
		eventually(t, "the store has it", func() bool { return into.blockedCalls.Load() > int32(i) })
	}
	res, err := post(100 << 10) // after waiting for the time in admission.TestBudget_Patience
	if err != nil || res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" {
		t.Fatal(res, err)
	}
	if rejections := h.Stats().BudgetRefused; rejections != 1 {
		t.Errorf("%d were refused", rejections)
	}
	waiting := make(chan int)
	go func() { // this one waits until it is served
		res, err := post(100 << 10)
		if err != nil {
			t.Error(err)
			waiting <- 0
			return
		}
		waiting <- res.StatusCode
	}()
	time.Sleep(100 * time.Millisecond)
	release()
	if got := <-waiting; got != 200 {
		t.Errorf("who waited got %d", got)
	}
	slow.Wait()
	if got := len(into.take()); got != busy+1 {
		t.Errorf("%d events", got)
	}
}

// Bodies with many small members count with their decoded size.
func TestCapture_Decision14_DecodedMemory(t *testing.T) {
	h, _ := captureHandler(t, func(c *httpapi.Config) { c.Budget = 1 << 20 })
	text := `{"api_key":"phc_x","batch":[` + strings.Repeat(`{"event":""},`, 10_000) + `{"event":""}]}` // 130 KB, 10,000 items
	checkError(t, ask(h, "POST", "/batch/", text), 413)
	if inUse := h.Stats().BudgetInUse; inUse != 0 {
		t.Errorf("%d bytes of the budget were not given back", inUse)
	}
}

// A declared length by itself uses little of the budget: memory is reserved as bytes arrive.
func TestCapture_Decision14_PromisesTakeNothing(t *testing.T) {
	h, _ := captureHandler(t, nil)
	r, w := io.Pipe()
	req := httptest.NewRequest("POST", "/e/", r)
	req.ContentLength = 20 << 20
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(httptest.NewRecorder(), req)
	}()
	_, _ = io.WriteString(w, oneEvent)
	if inUse := h.Stats().BudgetInUse; inUse == 0 || inUse > 16<<10 {
		t.Errorf("%d bytes for the promise of 20 MiB", inUse)
	}
	_ = w.CloseWithError(io.ErrUnexpectedEOF)
	<-done
}
