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
	answered answer
	by       Side
	// events: it carries events for this server, and is not compared.
	events bool
	size   int64
	due    time.Time // when it may begin
}

// settle is how long a comparison waits, so that it does not compete for the
// processor with the answer that is on its way.
const settle = 5 * time.Millisecond

// answer is what one side said.
type answer struct {
	status int
	body   []byte
	err    error // of the connection
}

// budget is how many bytes may wait.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

func (b *budget) give(n int64) { b.left.Add(n) }

// sampler chooses requests.
type sampler struct{ share float64 }

func (s sampler) chosen() bool {
	return s.share == 0 || s.share == 1 || rand.Float64() < s.share
}

// part is a body or an answer that is kept to be compared, within the budget.
type part struct {
	budget *budget
	most   int // bytes
	text   bytes.Buffer
	lost   string // why it is not kept, empty where it is
}

func (p *part) add(b []byte) {
	switch {
	case p.lost != "":
	case p.text.Len()+len(b) > p.most:
		p.drop(tooLong)
	case !p.budget.take(int64(len(b))):
		p.drop(queueFull)
	default:
		p.text.Write(b)
	}
}

// drop gives back what is kept, if anything is.
func (p *part) drop(reason string) {
	p.budget.give(int64(p.text.Len()))
	p.text, p.lost = bytes.Buffer{}, reason
}

// copying passes a body on and keeps it.
type copying struct {
	io.ReadCloser
	kept *part
	end  bool // it was read to its end
}

func (c *copying) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.kept.add(p[:n])
	c.end = c.end || err == io.EOF
	return n, err
}

// finish reads what nobody wanted to read, so that the other side gets it all.
func (c *copying) finish() {
	if !c.end && c.kept.lost == "" {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, int64(c.kept.most)+1))
	}
	if !c.end && c.kept.lost == "" {
		c.kept.drop(unreadable)
	}
}

// recorder passes an answer on and keeps it.
type recorder struct {
	http.ResponseWriter
	status int
	kept   *part
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
	r.kept.add(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answerSelf answers from this server, and has the upstream asked afterwards.
func (h *Handler) answerSelf(w http.ResponseWriter, r *http.Request) {
	h.report.requests.Add(1)
	if !h.sample.chosen() {
		h.report.skip(notSampled)
		h.config.Next.ServeHTTP(w, r)
		return
	}
	asked := again(r) // before anybody changes it
	body := &copying{ReadCloser: r.Body, kept: &part{budget: &h.bytes, most: maxBody}}
	answered := &recorder{ResponseWriter: w, kept: &part{budget: &h.bytes, most: maxAnswer}}
	defer body.kept.drop("") // after a panic
	defer answered.kept.drop("")
	r.Body = body
	r.Header.Del("Accept-Encoding") // the answer is read here
	h.config.Next.ServeHTTP(answered, r)
	body.finish()
	h.enqueue(&job{request: asked, by: Self, answered: answer{status: answered.status}}, body.kept, answered.kept)
}

// enqueue leaves a job to the workers, if there is room for it and its parts are
// there.
func (h *Handler) enqueue(j *job, body, answered *part) {
	j.body, j.answered.body = body.text.Bytes(), answered.text.Bytes()
	j.size = int64(len(j.body) + len(j.answered.body))
	reason := cmp.Or(body.lost, answered.lost)
	if reason == "" {
		reason = queueFull
		j.due = time.Now().Add(settle)
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
	h.unseen(j, reason)
}

// unseen counts a job that is not done.
func (h *Handler) unseen(j *job, reason string) {
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
			h.do(j)
		} else {
			h.unseen(j, queueFull)
		}
		h.bytes.give(j.size)
	}
}

func (h *Handler) do(j *job) {
	time.Sleep(time.Until(j.due))
	ctx, cancel := context.WithTimeout(h.ctx, h.config.Timeout)
	defer cancel()
	r := j.request.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(j.body)), int64(len(j.body))
	if j.by == Self {
		h.compare(j, j.answered, h.askUpstream(r))
		return
	}
	other := &kept{header: http.Header{}}
	h.config.Next.ServeHTTP(other, r)
	if j.events {
		if other.status != http.StatusOK {
			h.report.eventsLost.Add(1)
		}
		return
	}
	h.compare(j, answer{status: other.status, body: other.body.Bytes()}, j.answered)
}

// kept is an answer that nobody waits for.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }
func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *kept) Write(p []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(p)
}

// again is a request that can be sent once more, without its body.
func again(r *http.Request) *http.Request {
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
	h.aim(out)
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

// aim turns a request to the upstream.
func (h *Handler) aim(r *http.Request) {
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
		h.report.failing(h.config.Logger, upstream.err, time.Now())
		return
	}
	h.report.compare(distinctID(j.request, j.body), self, upstream)
}
