package shadow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// job is a request to which one side has responded and which is to be sent to the other.
type job struct {
	request  *http.Request // to be sent to the other side; its body is in body
	body     []byte
	response answer
	by       Side
	// events is set for a request with events for this server, which is not compared.
	events bool
	size   int64
	due    time.Time // the earliest start
}

// settleDelay is the wait before a comparison, so that it does not compete for the processor with
// the response in progress.
const settleDelay = 5 * time.Millisecond

// answer is the response of one side.
type answer struct {
	status int
	body   []byte
	err    error // of the connection
}

// sampler selects requests at random.
type sampler struct{ share float64 }

func (s sampler) isSampled() bool {
	return s.share == 0 || s.share == 1 || rand.Float64() < s.share
}

// part is a request or response body that is buffered for the comparison, within the budget.
type part struct {
	budget     *semaphore.Weighted // of bytes
	limit      int                 // in bytes
	text       bytes.Buffer
	dropReason string // why it is not buffered; empty if it is
}

// add buffers b, or drops the part if it exceeds its limit or the budget.
func (p *part) add(b []byte) {
	switch {
	case p.dropReason != "":
	case p.text.Len()+len(b) > p.limit:
		p.drop(tooLong)
	case !p.budget.TryAcquire(int64(len(b))):
		p.drop(queueFull)
	default:
		p.text.Write(b)
	}
}

// drop releases the buffer and its share of the budget.
func (p *part) drop(reason string) {
	p.budget.Release(int64(p.text.Len()))
	p.text, p.dropReason = bytes.Buffer{}, reason
}

// bodyRecorder is a request body that also copies the read bytes to a part.
type bodyRecorder struct {
	io.ReadCloser
	part *part
	end  bool // it was read to its end
}

func (c *bodyRecorder) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.part.add(p[:n])
	c.end = c.end || err == io.EOF
	return n, err
}

// finish reads the part of the body that the handler did not read, so that the other side receives
// the whole body.
func (c *bodyRecorder) finish() {
	if !c.end && c.part.dropReason == "" {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, int64(c.part.limit)+1))
	}
	if !c.end && c.part.dropReason == "" {
		c.part.drop(unreadable)
	}
}

// recorder is a ResponseWriter that also writes the response to a part.
type recorder struct {
	http.ResponseWriter
	status int
	part   *part
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 { // informational responses precede the response
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.part.add(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap implements the interface of http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answerSelf responds with this server, and queues the request for the upstream.
func (h *Handler) answerSelf(w http.ResponseWriter, r *http.Request) {
	h.report.requests.Add(1)
	if !h.sample.isSampled() {
		h.report.skip(notSampled)
		h.config.Next.ServeHTTP(w, r)
		return
	}
	clone := cloneRequest(r) // before the handler can modify the request
	body := &bodyRecorder{ReadCloser: r.Body, part: &part{budget: h.bytes, limit: maxBody}}
	recorded := &recorder{ResponseWriter: w, part: &part{budget: h.bytes, limit: maxAnswer}}
	defer body.part.drop("") // in case of a panic
	defer recorded.part.drop("")
	r.Body = body
	r.Header.Del("Accept-Encoding") // the response is parsed here, so it must not be compressed
	h.config.Next.ServeHTTP(recorded, r)
	body.finish()
	h.enqueue(&job{request: clone, by: Self, response: answer{status: recorded.status}}, body.part, recorded.part)
}

// enqueue queues a job, unless the queue is full or one of its parts was dropped.
func (h *Handler) enqueue(j *job, body, response *part) {
	j.body, j.response.body = body.text.Bytes(), response.text.Bytes()
	j.size = int64(len(j.body) + len(j.response.body))
	reason := cmp.Or(body.dropReason, response.dropReason)
	if reason == "" {
		reason = queueFull
		j.due = time.Now().Add(settleDelay)
		h.closing.RLock()
		if !h.closed {
			select {
			case h.queue <- j:
				reason = ""
			default:
			}
		}
		h.closing.RUnlock()
	}
	if reason == "" { // the worker releases their share of the budget
		body.text, response.text = bytes.Buffer{}, bytes.Buffer{}
		return
	}
	h.countSkipped(j, reason)
}

// countSkipped counts a job that is not executed.
func (h *Handler) countSkipped(j *job, reason string) {
	if j.events {
		h.report.eventsLost.Add(1)
		return
	}
	h.report.skip(reason)
}

// work executes jobs until Close.
func (h *Handler) work() {
	for j := range h.queue {
		if h.ctx.Err() == nil {
			h.run(j)
		} else {
			h.countSkipped(j, queueFull)
		}
		h.bytes.Release(j.size)
	}
}

// run sends a job's request to the other side and compares the responses.
func (h *Handler) run(j *job) {
	time.Sleep(time.Until(j.due))
	ctx, cancel := context.WithTimeout(h.ctx, h.config.Timeout)
	defer cancel()
	r := j.request.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(j.body)), int64(len(j.body))
	if j.by == Self {
		h.compare(j, j.response, h.askUpstream(r))
		return
	}
	other := &memoryResponse{header: http.Header{}}
	h.config.Next.ServeHTTP(other, r)
	if j.events {
		if other.status != http.StatusOK {
			h.report.eventsLost.Add(1)
		}
		return
	}
	h.compare(j, answer{status: other.status, body: other.body.Bytes()}, j.response)
}

// memoryResponse is a ResponseWriter without a client.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *memoryResponse) Header() http.Header { return k.header }
func (k *memoryResponse) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *memoryResponse) Write(p []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(p)
}

// cloneRequest returns a copy of a request that can be sent to the other side, without its body.
func cloneRequest(r *http.Request) *http.Request {
	// The comparison must not end when the client disconnects.
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.Body = http.NoBody
	out.Header.Del("Accept-Encoding") // responses are parsed here, so they must not be compressed
	return out
}

// forwarded are the headers that are sent to both sides. Credentials for this server, such as
// Authorization, are not among them, because flags do not need them. The client's address is
// forwarded, so that the upstream locates the same address.
var forwarded = []string{
	"Content-Type", "Content-Encoding", "User-Agent", "Origin", "Accept-Language", "X-Forwarded-For",
}

// askUpstream sends a request to the upstream and returns the response.
func (h *Handler) askUpstream(r *http.Request) answer {
	out := r.Clone(r.Context())
	h.setUpstream(out)
	out.RequestURI = ""
	out.Header = http.Header{}
	for _, name := range forwarded {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if out.Header.Get("X-Forwarded-For") == "" {
		if ip, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			out.Header.Set("X-Forwarded-For", ip)
		}
	}
	response, err := h.config.Transport.RoundTrip(out)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errors.New("the response is too long")
	}
	return answer{response.StatusCode, body, err}
}

// setUpstream changes the URL of a request to the upstream's.
func (h *Handler) setUpstream(r *http.Request) {
	u := *r.URL
	u.Scheme, u.Host = h.config.Upstream.Scheme, h.config.Upstream.Host
	u.Path = strings.TrimSuffix(h.config.Upstream.Path, "/") + u.Path
	u.RawPath = ""
	r.URL, r.Host = &u, u.Host
}

// compare counts the differences between the two responses.
func (h *Handler) compare(j *job, self, upstream answer) {
	if upstream.err != nil {
		h.report.skip(upstreamFailed)
		h.logFailure(upstream.err)
		return
	}
	h.report.compare(distinctID(j.request, j.body), self, upstream)
}
