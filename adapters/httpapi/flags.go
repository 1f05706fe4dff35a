package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// scratch is the memory of one flags request, used again by another.
type scratch struct {
	lease         memoryLease
	raw, unpacked []byte
	body          flagsBody
	request       flags.Request
	answer        flags.Answer
	out           []byte
}

// release empties the scratch.
func (s *server) release(sc *scratch) {
	sc.empty()
	sc.lease.release()
	sc.lease = memoryLease{}
	sc.body.lease = nil
	s.scratch.Put(sc)
}

// empty lets go what has grown out of proportion.
func (sc *scratch) empty() {
	sc.body.reset()
	sc.request = flags.Request{}
	if cap(sc.raw)+cap(sc.unpacked)+cap(sc.out) > 1<<20 {
		sc.raw, sc.unpacked, sc.out = nil, nil, nil
	}
}

// releaseDelayed keeps the sender of a body that is refused waiting, but nothing of the body.
func (sc *scratch) releaseDelayed() {
	sc.empty()
	sc.lease.releaseDelayed()
}

// shape is one of the answers of §9.6.
type shape uint8

const (
	shapeV2     shape = iota // flags: {key: {…}}
	shapeLegacy              // featureFlags: {key: value}, with payloads
	shapeMap                 // featureFlags: {key: value} of enabled flags
	shapeList                // featureFlags: [key] of enabled flags
)

// format is how a flags answer is written.
type format struct {
	shape  shape
	config bool
}

// flagsFormat chooses the answer of /flags (§9.5).
func flagsFormat(q flagsQuery) format {
	switch {
	case !q.HasV && !q.HasConfig:
		return format{shapeV2, true}
	case q.HasV && q.V >= 2:
		return format{shapeV2, q.Config}
	}
	return format{shapeLegacy, q.Config}
}

// decideFormat chooses the answer of /decide, which gives its configuration
// unless told not to.
func decideFormat(q flagsQuery) format {
	f := format{shapeList, q.Config || !q.HasConfig}
	switch {
	case !q.HasV:
	case q.V == 2:
		f.shape = shapeMap
	case q.V == 3:
		f.shape = shapeLegacy
	case q.V >= 4:
		f.shape = shapeV2
	}
	return f
}

// withFormat answers in the format that a path and its query choose.
func withFormat(choose func(flagsQuery) format, answer func(*server, http.ResponseWriter, *http.Request, flagsQuery, format) error) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		q := parseQuery(r.URL.RawQuery)
		return answer(s, w, r, q, choose(q))
	}
}

// evaluate answers POST /flags and /decide, in the order of §9.10: address
// limit, decoding, token limit, and then what the Decider checks.
func (s *server) evaluate(w http.ResponseWriter, r *http.Request, q flagsQuery, f format) error {
	if s.limits.enabled && !s.limits.ip.allow(s, w, s.clientIP(r).String()) {
		return &problemRateLimited
	}
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	s.begin(sc, w, r)
	decodeErr := s.decode(r, q.Compression, sc)
	exchangeOf(r.Context()).noteToken(sc.body.Token)
	if s.limits.enabled {
		key := sc.body.Token
		if key == "" || len(key) > maxLimitedToken {
			key = "ip:" + s.clientIP(r).String()
		}
		if !s.limits.token.allow(s, w, key) {
			return &problemRateLimited
		}
	}
	if decodeErr != nil {
		sc.releaseDelayed()
		return decodeErr
	}
	if sc.body.Token == "" {
		return problemNoToken.with("", "token")
	}
	s.buildRequest(r, q.OnlySurveyFlags, sc)
	if err := s.Decider.Decide(r.Context(), &sc.request, &sc.answer); err != nil {
		return err
	}
	if !sc.answer.QuotaLimited {
		s.usage.add(sc.body.Token, usageFlags, publicKey, sdkOf(r), 1)
		s.evaluations.add(sc.body.Token, sc.answer.Decisions.List)
	}
	sc.out = appendAnswer(sc.out[:0], f, &sc.answer, s.requestID(r), sc.request.DisableFlags)
	s.write(w, http.StatusOK, sc.out)
	return nil
}

// begin makes the lease of a request, whose memory counts for the budget of flags.
func (s *server) begin(sc *scratch, w http.ResponseWriter, r *http.Request) {
	sc.lease = memoryLease{ctx: r.Context(), budget: s.flagsBudget, server: s, body: pacedBody{w: w, r: r}}
	sc.body.lease = &sc.lease
}

// decode reads and unpacks the body and parses its fields. The key of a long body is
// looked for as soon as it is there.
func (s *server) decode(r *http.Request, compression string, sc *scratch) error {
	sc.lease.key = &sc.body.Token
	body, err := s.readUnpacked(r, compression, sc)
	if err != nil {
		return err
	}
	if bodyErr := parseFlagsBody(body, &sc.body); bodyErr != nil {
		return bodyErr.orCause()
	}
	return nil
}

// orCause is the error to be answered.
func (e *bodyError) orCause() error {
	if e.cause != nil {
		return e.cause
	}
	return e
}

// readUnpacked reads and unpacks the body, into the memory of sc.
func (s *server) readUnpacked(r *http.Request, compression string, sc *scratch) ([]byte, error) {
	raw, err := readBody(&sc.lease, s.MaxBody, sc.raw[:0])
	sc.raw = raw
	if err != nil {
		return nil, err
	}
	if err := sc.lease.acquire(int64(cap(sc.unpacked))); err != nil {
		return nil, err
	}
	body, bodyErr := unpack(raw, header(r.Header, "Content-Type"), header(r.Header, "Content-Encoding"), compression, s.MaxBody, sc.unpacked, &sc.lease)
	if bodyErr != nil {
		return nil, bodyErr.orCause()
	}
	if len(body) > firstRead { // it is not copied, so that it is not used again
		sc.raw, sc.unpacked = nil, nil
		return body, nil
	}
	if len(body) > 0 && len(raw) > 0 && &body[0] != &raw[0] {
		sc.unpacked = body[:0]
	}
	return body, nil
}

// firstRead is the memory, in bytes, that a body gets for its declared length
// alone. The rest it gets as it arrives: a caller who promises much and sends
// nothing holds no more than this.
const firstRead = 64 << 10

// readBody reads a body of at most limit bytes into buf.
func readBody(l *memoryLease, limit int64, buf []byte) ([]byte, error) {
	r := l.body.r
	if r.ContentLength > limit {
		return buf, bodyTooLarge(limit, r.ContentLength)
	}
	if n := min(r.ContentLength, firstRead); n > int64(cap(buf)) {
		buf = make([]byte, 0, n)
	}
	if err := l.acquire(int64(cap(buf))); err != nil {
		return buf, err
	}
	out, err := readUpTo(buf, &l.body, limit, l)
	if err != nil {
		var rejection *bodyError
		var outer *http.MaxBytesError // of a router around this one
		switch {
		case errors.As(err, &rejection):
			return buf, rejection.orCause()
		case errors.As(err, &outer):
			return buf, bodyTooLarge(outer.Limit, outer.Limit+1)
		}
		return buf, &problemBodyUnreadable
	}
	l.body.finish()
	l.markArrived()
	return out, nil
}

// buildRequest turns the body into the Decider's question.
func (s *server) buildRequest(r *http.Request, surveysOnly bool, sc *scratch) {
	b, req := &sc.body, &sc.request
	req.APIKey = b.Token
	req.NoDistinctID = !b.HasDistinctID
	req.DisableFlags = b.DisableFlags
	req.GeoIPDisable = b.GeoIPDisable
	req.Subject = flags.Subject{
		DistinctID: b.DistinctID, AnonymousID: b.AnonDistinctID, DeviceID: b.DeviceID,
		Groups: b.Groups, Person: b.PersonProperties, GroupProperties: b.GroupProperties,
	}
	if !b.GeoIPDisable {
		req.IP, req.IPFromHeader = s.locatedIP(r)
	}
	req.Selection = flags.Selection{
		Runtime: runtimeOf(b.EvaluationRuntime, r.Header), Contexts: b.EvaluationContexts, SurveysOnly: surveysOnly,
	}
	if b.HasFlagKeys {
		req.Selection.Keys = b.FlagKeys
		if req.Selection.Keys == nil {
			req.Selection.Keys = []string{}
		}
	}
}

// requestID is the caller's X-REQUEST-ID when that is a UUID, in lower case,
// else the one that was made for the request, else a fresh one.
func (s *server) requestID(r *http.Request) string {
	if id := r.Header["X-Request-Id"]; len(id) > 0 && isUUID(id[0]) {
		return strings.ToLower(id[0])
	}
	if x := exchangeOf(r.Context()); x != nil && isUUID(x.id) {
		return x.id
	}
	return wire.RandomUUID()
}

// minimal answers without authentication and without flags (§9.1).
func (s *server) minimal(w http.ResponseWriter, r *http.Request, _ flagsQuery, f format) error {
	if f.shape != shapeV2 {
		f.shape = shapeLegacy
	}
	f.config = true
	answer := flags.Answer{At: s.Decider.Now()}
	s.write(w, http.StatusOK, appendAnswer(nil, f, &answer, s.requestID(r), true))
	return nil
}

// sdkRuntimes are the PostHog SDKs by the name in their User-Agent (§9.9).
var sdkRuntimes = map[string]string{
	"python": "server", "ruby": "server", "php": "server", "java": "server", "go": "server", "node": "server",
	"dotnet": "server", "elixir": "server", "rs": "server", "server": "server",
	"js": "client", "android": "client", "ios": "client", "react-native": "client", "flutter": "client",
}

var (
	browserMarks = []string{"Mozilla/", "Chrome/", "Safari/", "Firefox/", "Edge/"}
	serverMarks  = []string{"curl/", "python-requests/"}
	browserOnly  = []string{"Origin", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Site"}
)

// runtimeOf tells where the caller runs: what the body says, else what the
// User-Agent tells, else what only browsers send; empty when unknown (§9.9).
func runtimeOf(declared string, h http.Header) string {
	if declared != "" {
		switch declared = strings.ToLower(declared); declared {
		case "server", "client":
			return declared
		}
		return "all"
	}
	if agents := h["User-Agent"]; len(agents) > 0 {
		agent := agents[0]
		if sdk, isSDK := strings.CutPrefix(agent, "posthog-"); isSDK {
			name, _, _ := strings.Cut(sdk, "/")
			if runtime := sdkRuntimes[name]; runtime != "" {
				return runtime
			}
		}
		if containsAny(agent, browserMarks) {
			return "client"
		}
		if containsAny(agent, serverMarks) {
			return "server"
		}
	}
	for _, name := range browserOnly {
		if len(h[name]) > 0 {
			return "client"
		}
	}
	return ""
}

func containsAny(s string, marks []string) bool {
	for _, mark := range marks {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// project finds the project that a token names.
func (s *server) project(ctx context.Context, token string) (flags.Project, *flags.Set, error) {
	if token == "" {
		return flags.Project{}, nil, problemTokenParameter.with("", "token")
	}
	return s.Decider.Project(ctx, token)
}
