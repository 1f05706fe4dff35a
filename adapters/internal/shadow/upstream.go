package shadow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// newProxy carries requests to the upstream as they are.
func (h *Handler) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			h.setUpstream(r.Out)
			forwardedFor(r)
			if isAmong(flagPaths, mergeSlashes(r.In.URL.Path)) {
				r.Out.Header.Del("Accept-Encoding") // the transport then unpacks: answers are read here
			}
		},
		Transport: h.config.Transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			if r.Context().Err() != nil { // the caller has gone
				return
			}
			h.report.upstreamErrors.Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, `{"type":"server_error","code":"upstream_unavailable","detail":"The upstream service does not answer.","attr":null}`)
		},
	}
}

// forwardedFor adds the caller to those that it names itself.
func forwardedFor(r *httputil.ProxyRequest) {
	named := r.In.Header.Values("X-Forwarded-For")
	if ip, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		named = append(named[:len(named):len(named)], ip)
	}
	if len(named) > 0 {
		r.Out.Header.Set("X-Forwarded-For", strings.Join(named, ", "))
	}
}

// errUnanswered says that the upstream has no answer of its own.
var errUnanswered = errors.New("the upstream is unavailable")

// answerUpstream answers from the upstream, or from here where it is unavailable,
// and asks this server afterwards.
func (h *Handler) answerUpstream(w http.ResponseWriter, r *http.Request) {
	h.report.requests.Add(1)
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	full := io.MultiReader(bytes.NewReader(body), r.Body)
	if err != nil || len(body) > maxBody { // as it comes: nothing is kept of it
		h.report.skip(tooLong)
		r.Body = readCloser{full, r.Body}
		h.proxy.ServeHTTP(w, r)
		return
	}
	clone := cloneRequest(r)
	ctx, cancel := context.WithTimeout(r.Context(), h.config.Timeout)
	defer cancel()
	out := r.WithContext(ctx)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	requestPart, answered := &part{budget: &h.bytes, limit: maxBody}, &recorder{ResponseWriter: w, part: &part{budget: &h.bytes, limit: maxAnswer}}
	defer requestPart.drop("") // after a panic
	defer answered.part.drop("")
	if h.sample.isSampled() {
		requestPart.add(body)
	} else {
		requestPart.dropReason, answered.part.dropReason = notSampled, notSampled
	}
	proxy := *h.proxy
	var failure error
	proxy.ModifyResponse = func(response *http.Response) error {
		switch response.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return errUnanswered // its body is closed by the proxy
		}
		return nil
	}
	proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) { failure = err }
	proxy.ServeHTTP(answered, out)
	switch {
	case failure == nil:
		h.enqueue(&job{request: clone, by: Upstream, response: answer{status: answered.status}}, requestPart, answered.part)
	case r.Context().Err() != nil:
		h.report.skip(callerGone)
	default:
		h.report.logFailure(h.config.Logger, failure, time.Now())
		h.report.upstreamErrors.Add(1)
		h.report.skip(upstreamFailed)
		clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.config.Next.ServeHTTP(w, clone.WithContext(r.Context()))
	}
}

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// eventsToBoth has the upstream answer, then gives this server the same events, so
// that it knows the same people.
func (h *Handler) eventsToBoth(w http.ResponseWriter, r *http.Request) {
	clone := cloneRequest(r)
	body := &bodyRecorder{ReadCloser: r.Body, part: &part{budget: &h.bytes, limit: maxEvents}}
	defer body.part.drop("") // unless it is queued
	r.Body = body
	status := &recorder{ResponseWriter: w, part: &part{budget: &h.bytes}}
	h.proxy.ServeHTTP(status, r)
	if status.status >= 200 && status.status < 300 {
		body.finish()
		h.enqueue(&job{request: clone, by: Upstream, events: true}, body.part, &part{budget: &h.bytes})
	}
}
