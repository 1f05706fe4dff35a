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
	"sync/atomic"
	"time"
)

// job is a request that one side has answered and the other is to be asked.
type job struct {
	request  *http.Request // to be asked again; its body is in body
	body     []byte
	response answer
	by       Side
	// events: it carries events for this server, and is not compared.
	events bool
	size   int64
	due    time.Time // when it may begin
}

// settleDelay is how long a comparison waits, so that it does not compete for the
// processor with the answer that is on its way.
const settleDelay = 5 * time.Millisecond

// answer is what one side said.
type answer struct {
	status int
	body   []byte
	err    error // of the connection
}

// budget is how many bytes may wait.
type budget struct{ free atomic.Int64 }

func (b *budget) acquire(n int64) bool {
	if b.free.Add(-n) >= 0 {
		return true
	}
	b.free.Add(n)
	return false
}

func (b *budget) release(n int64) { b.free.Add(n) }

// sampler chooses requests.
type sampler struct{ share float64 }

func (s sampler) isSampled() bool {
	return s.share == 0 || s.share == 1 || rand.Float64() < s.share
}

// part is a body or an answer that is kept to be compared, within the budget.
type part struct {
	budget     *budget
	limit      int // bytes
	text       bytes.Buffer
	dropReason string // why it is not kept, empty where it is
}

func (p *part) add(b []byte) {
	switch {
	case p.dropReason != "":
	case p.text.Len()+len(b) > p.limit:
		p.drop(tooLong)
	case !p.budget.acquire(int64(len(b))):
		p.drop(queueFull)
	default:
		p.text.Write(b)
	}
}

// drop gives back what is kept, if anything is.
func (p *part) drop(reason string) {
	p.budget.release(int64(p.text.Len()))
	p.text, p.dropReason = bytes.Buffer{}, reason
}

// bodyRecorder passes a body on and keeps it.
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

// finish reads what nobody wanted to read, so that the other side gets it all.
func (c *bodyRecorder) finish() {
	if !c.end && c.part.dropReason == "" {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, int64(c.part.limit)+1))
	}
	if !c.end && c.part.dropReason == "" {
		c.part.drop(unreadable)
	}
}

// recorder passes an answer on and keeps it.
type recorder struct {
	http.ResponseWriter
	status int
	part   *part
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 { // 1xx come before the answer
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

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answerSelf answers from this server, and has the upstream asked afterwards.
func (h *Handler) answerSelf(w http.ResponseWriter, r *http.Request) {
	h.report.requests.Add(1)
	if !h.sample.isSampled() {
		h.report.skip(notSampled)
		h.config.Next.ServeHTTP(w, r)
		return
	}
	clone := cloneRequest(r) // before anybody changes it
	body := &bodyRecorder{ReadCloser: r.Body, part: &part{budget: &h.bytes, limit: maxBody}}
	answered := &recorder{ResponseWriter: w, part: &part{budget: &h.bytes, limit: maxAnswer}}
	defer body.part.drop("") // after a panic
	defer answered.part.drop("")
	r.Body = body
	r.Header.Del("Accept-Encoding") // the answer is read here
	h.config.Next.ServeHTTP(answered, r)
	body.finish()
	h.enqueue(&job{request: clone, by: Self, response: answer{status: answered.status}}, body.part, answered.part)
}

// enqueue leaves a job to the workers, if there is room for it and its parts are
// there.
func (h *Handler) enqueue(j *job, body, answered *part) {
	j.body, j.response.body = body.text.Bytes(), answered.text.Bytes()
	j.size = int64(len(j.body) + len(j.response.body))
	reason := cmp.Or(body.dropReason, answered.dropReason)
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
	if reason == "" { // the worker gives back what they took
		body.text, answered.text = bytes.Buffer{}, bytes.Buffer{}
		return
	}
	h.countSkipped(j, reason)
}

// countSkipped counts a job that is not done.
func (h *Handler) countSkipped(j *job, reason string) {
	if j.events {
		h.report.eventsLost.Add(1)
		return
	}
	h.report.skip(reason)
}

// work compares until Close.
func (h *Handler) work() {
	for j := range h.queue {
		if h.ctx.Err() == nil {
			h.run(j)
		} else {
			h.countSkipped(j, queueFull)
		}
		h.bytes.release(j.size)
	}
}

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

// memoryResponse is an answer that nobody waits for.
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

// cloneRequest is a request that can be sent once more, without its body.
func cloneRequest(r *http.Request) *http.Request {
	// Whoever waits for the answer must not end the comparison by going away.
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.Body = http.NoBody
	out.Header.Del("Accept-Encoding") // answers are read here
	return out
}

// forwarded are the headers that both sides are to see alike. What opens this server,
// such as Authorization, is none of them: flags need no such key. The caller's address
// is told to the upstream, so that it locates the same one.
var forwarded = []string{
	"Content-Type", "Content-Encoding", "User-Agent", "Origin", "Accept-Language", "X-Forwarded-For",
}

// askUpstream sends a request to the upstream.
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
		err = errors.New("the answer is too long")
	}
	return answer{response.StatusCode, body, err}
}

// setUpstream turns a request to the upstream.
func (h *Handler) setUpstream(r *http.Request) {
	u := *r.URL
	u.Scheme, u.Host = h.config.Upstream.Scheme, h.config.Upstream.Host
	u.Path = strings.TrimSuffix(h.config.Upstream.Path, "/") + u.Path
	u.RawPath = ""
	r.URL, r.Host = &u, u.Host
}

// compare counts what differs between the two answers.
func (h *Handler) compare(j *job, self, upstream answer) {
	if upstream.err != nil {
		h.report.skip(upstreamFailed)
		h.report.logFailure(h.config.Logger, upstream.err, time.Now())
		return
	}
	h.report.compare(distinctID(j.request, j.body), self, upstream)
}
