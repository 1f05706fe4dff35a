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
)

// newProxy returns a proxy that forwards requests to the upstream unchanged.
func (h *Handler) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			h.setUpstream(r.Out)
			forwardedFor(r)
			if isAmong(flagPaths, mergeSlashes(r.In.URL.Path)) {
				r.Out.Header.Del("Accept-Encoding") // the transport then decompresses responses, which are parsed here
			}
		},
		Transport: h.config.Transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			if r.Context().Err() != nil { // the client has disconnected
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

// forwardedFor appends the client's address to X-Forwarded-For.
func forwardedFor(r *httputil.ProxyRequest) {
	named := r.In.Header.Values("X-Forwarded-For")
	if ip, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		named = append(named[:len(named):len(named)], ip)
	}
	if len(named) > 0 {
		r.Out.Header.Set("X-Forwarded-For", strings.Join(named, ", "))
	}
}

// errUnanswered is the error for a gateway status, which means that the upstream is unavailable.
var errUnanswered = errors.New("the upstream is unavailable")

// answerUpstream responds with the upstream, or with this server if the upstream is unavailable,
// and queues the request for this server.
func (h *Handler) answerUpstream(w http.ResponseWriter, r *http.Request) {
	h.report.requests.Add(1)
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	full := io.MultiReader(bytes.NewReader(body), r.Body)
	if err != nil || len(body) > maxBody { // forward the body without buffering it
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
	requestPart, recorded := &part{budget: h.bytes, limit: maxBody}, &recorder{ResponseWriter: w, part: &part{budget: h.bytes, limit: maxAnswer}}
	defer requestPart.drop("") // in case of a panic
	defer recorded.part.drop("")
	if h.sample.isSampled() {
		requestPart.add(body)
	} else {
		requestPart.dropReason, recorded.part.dropReason = notSampled, notSampled
	}
	proxy := *h.proxy
	var failure error
	proxy.ModifyResponse = func(response *http.Response) error {
		switch response.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return errUnanswered // the proxy closes the body
		}
		return nil
	}
	proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) { failure = err }
	proxy.ServeHTTP(recorded, out)
	switch {
	case failure == nil:
		h.enqueue(&job{request: clone, by: Upstream, response: answer{status: recorded.status}}, requestPart, recorded.part)
	case r.Context().Err() != nil:
		h.report.skip(callerDisconnected)
	default:
		h.logFailure(failure)
		h.report.upstreamErrors.Add(1)
		h.report.skip(upstreamFailed)
		clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.config.Next.ServeHTTP(w, clone.WithContext(r.Context()))
	}
}

// readCloser reads from one value and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// eventsToBoth responds with the upstream, and then sends the same events to this server, so that
// it has the same persons.
func (h *Handler) eventsToBoth(w http.ResponseWriter, r *http.Request) {
	clone := cloneRequest(r)
	body := &bodyRecorder{ReadCloser: r.Body, part: &part{budget: h.bytes, limit: maxEvents}}
	defer body.part.drop("") // no effect if the body is queued
	r.Body = body
	status := &recorder{ResponseWriter: w, part: &part{budget: h.bytes}}
	h.proxy.ServeHTTP(status, r)
	if status.status >= 200 && status.status < 300 {
		body.finish()
		h.enqueue(&job{request: clone, by: Upstream, events: true}, body.part, &part{budget: h.bytes})
	}
}
