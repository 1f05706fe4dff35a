package sdk

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/capture/jsontext"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// scratch is the memory of one flags request. It is pooled and reused by other requests.
type scratch struct {
	decider       *serving.Decider
	lease         admission.Lease
	raw, unpacked []byte
	body          flagsBody
	request       serving.Request
	answer        serving.Answer
	out           []byte
	checkStart    func(text []byte) error // inspect, stored here because a method value is an allocation
}

func newScratch(d *serving.Decider) *scratch {
	sc := &scratch{decider: d}
	sc.checkStart, sc.body.check = sc.inspect, sc.checkKey
	return sc
}

// inspect checks the project key of a body as soon as its beginning has arrived.
func (sc *scratch) inspect(text []byte) error {
	if !unpack.StartsObject(text) {
		if !sc.lease.Arrived { // it may be packed
			sc.lease.OnFirstChunk = sc.checkStart
		}
		return nil
	}
	if token := leadingFlagsKey(string(text[:admission.FirstChunk])); token != "" {
		return sc.checkKey(token)
	}
	return nil
}

// checkKey returns an error if no project has the key, and sets the token of the body to it, for
// logs and limits. Other errors are ignored here, because the evaluation reports them later.
func (sc *scratch) checkKey(token string) error {
	_, _, err := sc.decider.Project(sc.lease.Ctx, token)
	if !errors.Is(err, flags.ErrUnknownKey) {
		return nil
	}
	sc.body.Token = token
	return err
}

// release empties the scratch and returns it to the pool.
func (s *Service) release(sc *scratch) {
	sc.empty()
	sc.lease.Release()
	sc.lease = admission.Lease{}
	sc.body.lease = nil
	s.scratch.Put(sc)
}

// empty resets the scratch, and drops buffers that have become too large to pool.
func (sc *scratch) empty() {
	sc.body.reset()
	sc.request = serving.Request{}
	if cap(sc.raw)+cap(sc.unpacked)+cap(sc.out) > 1<<20 {
		sc.raw, sc.unpacked, sc.out = nil, nil, nil
	}
}

// ReleaseDelayed releases the memory of a rejected body, and delays the response to its sender.
func (sc *scratch) releaseDelayed() {
	sc.empty()
	sc.lease.ReleaseDelayed()
}

// withFormat returns a handler that calls answer with the parsed query and the format that choose
// returns for it.
func withFormat(choose func(flagsQuery) format, answer func(http.ResponseWriter, *http.Request, flagsQuery, format) error) frame.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := parseQuery(r.URL.RawQuery)
		return answer(w, r, q, choose(q))
	}
}

// evaluate handles POST /flags and /decide, with the checks in the order of §9.10: the rate limit
// of the address, decoding, the rate limit of the token, and then the checks of the Decider.
func (s *Service) evaluate(w http.ResponseWriter, r *http.Request, q flagsQuery, f format) error {
	if s.limits.Enabled && !s.limits.IP.Allow(w, s.ClientIP(r).String()) {
		return &problemRateLimited
	}
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	s.begin(sc, w, r)
	decodeErr := s.decode(r, q.Compression, sc)
	frame.ExchangeOf(r.Context()).NoteToken(sc.body.Token)
	if s.limits.Enabled {
		key := sc.body.Token
		if key == "" || len(key) > admission.MaxLimitedToken {
			key = "ip:" + s.ClientIP(r).String()
		}
		if !s.limits.Token.Allow(w, key) {
			return &problemRateLimited
		}
	}
	if decodeErr != nil {
		sc.releaseDelayed()
		return decodeErr
	}
	if sc.body.Token == "" {
		return problemNoToken.With("", "token")
	}
	s.buildRequest(r, q.OnlySurveyFlags, sc)
	if err := s.Decider.Decide(r.Context(), &sc.request, &sc.answer); err != nil {
		return err
	}
	if !sc.answer.QuotaLimited {
		s.Usage.Add(sc.body.Token, frame.UsageFlags, frame.PublicKey, frame.SDKOf(r), 1)
		s.Evaluations.add(sc.body.Token, sc.answer.Decisions.List)
	}
	sc.out = appendAnswer(sc.out[:0], f, &sc.answer, s.requestID(r), sc.request.DisableFlags)
	frame.Write(w, http.StatusOK, sc.out)
	return nil
}

// begin initializes the lease of a request. Its memory counts for the budget of flags requests.
func (s *Service) begin(sc *scratch, w http.ResponseWriter, r *http.Request) {
	sc.lease = admission.Lease{Ctx: r.Context(), Budget: s.flagsBudget, Client: s, Body: admission.PacedBody{W: w, R: r}}
	sc.body.lease = &sc.lease
}

// decode reads and unpacks the body and parses its fields. The key of a long body is checked as
// soon as it has been read.
func (s *Service) decode(r *http.Request, compression string, sc *scratch) error {
	sc.lease.OnFirstChunk = sc.checkStart
	body, err := s.readUnpacked(r, compression, sc)
	if err != nil {
		return err
	}
	if bodyErr := parseFlagsBody(body, &sc.body); bodyErr != nil {
		return bodyErr.OrCause()
	}
	return nil
}

// readUnpacked reads and unpacks the body, into the buffers of sc if they are large enough.
func (s *Service) readUnpacked(r *http.Request, compression string, sc *scratch) ([]byte, error) {
	raw, err := readBody(&sc.lease, s.MaxBody, sc.raw[:0])
	sc.raw = raw
	if err != nil {
		return nil, err
	}
	if err := sc.lease.Acquire(int64(cap(sc.unpacked))); err != nil {
		return nil, err
	}
	body, bodyErr := unpack.Body(raw, frame.Header(r.Header, "Content-Type"), frame.Header(r.Header, "Content-Encoding"), compression, s.MaxBody, sc.unpacked, &sc.lease)
	if bodyErr != nil {
		return nil, bodyErr.OrCause()
	}
	if len(body) > unpack.FirstRead { // long bodies are not copied (see bodyText), so their buffers must not be reused
		sc.raw, sc.unpacked = nil, nil
		return body, nil
	}
	if len(body) > 0 && len(raw) > 0 && &body[0] != &raw[0] {
		sc.unpacked = body[:0]
	}
	return body, nil
}

// readBody reads a body of at most limit bytes into buf.
func readBody(l *admission.Lease, limit int64, buf []byte) ([]byte, error) {
	r := l.Body.R
	if r.ContentLength > limit {
		return buf, unpack.BodyTooLarge(limit, r.ContentLength)
	}
	if n := min(r.ContentLength, unpack.FirstRead); n > int64(cap(buf)) {
		buf = make([]byte, 0, n)
	}
	if err := l.Acquire(int64(cap(buf))); err != nil {
		return buf, err
	}
	out, err := unpack.ReadUpTo(buf, &l.Body, limit, l)
	if err != nil {
		var rejection *problem.Body
		var outer *http.MaxBytesError // from a MaxBytesReader of an outer router
		switch {
		case errors.As(err, &rejection):
			return buf, rejection.OrCause()
		case errors.As(err, &outer):
			return buf, unpack.BodyTooLarge(outer.Limit, outer.Limit+1)
		}
		return buf, &problemBodyUnreadable
	}
	l.Body.Finish()
	l.MarkArrived()
	return out, nil
}

// buildRequest builds the request to the Decider from the body.
func (s *Service) buildRequest(r *http.Request, surveysOnly bool, sc *scratch) {
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
		req.IP, req.IPFromHeader = s.LocatedIP(r)
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

// requestID returns the X-REQUEST-ID of the caller in lower case if it is a UUID, otherwise the ID
// that the server has assigned to the request if that is a UUID, and otherwise a new UUID.
func (s *Service) requestID(r *http.Request) string {
	if id := r.Header["X-Request-Id"]; len(id) > 0 && frame.IsUUID(id[0]) {
		return strings.ToLower(id[0])
	}
	if x := frame.ExchangeOf(r.Context()); x != nil && frame.IsUUID(x.ID) {
		return x.ID
	}
	return ids.Random()
}

// minimal responds without authentication and without flags (§9.1).
func (s *Service) minimal(w http.ResponseWriter, r *http.Request, _ flagsQuery, f format) error {
	if f.shape != shapeV2 {
		f.shape = shapeLegacy
	}
	f.config = true
	answer := serving.Answer{At: s.Decider.Now()}
	frame.Write(w, http.StatusOK, appendAnswer(nil, f, &answer, s.requestID(r), true))
	return nil
}

// sdkRuntimes maps the names of PostHog SDKs in the User-Agent to their runtimes (§9.9).
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

// runtimeOf returns the runtime of the caller: that declared in the body, or else derived from the
// User-Agent, or else client if the request has headers that only browsers send. It returns an
// empty string if the runtime is unknown (§9.9).
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

// project returns the project with the given token.
func (s *Service) project(ctx context.Context, token string) (flags.Project, *flags.Set, error) {
	if token == "" {
		return flags.Project{}, nil, problemTokenParameter.With("", "token")
	}
	return s.Decider.Project(ctx, token)
}

// leadingFlagsKey returns the project key in the beginning of a body, or an empty string if the key
// is not in text.
func leadingFlagsKey(text string) string {
	r := jsontext.Reader{Src: text}
	r.Space()
	if r.Peek() != '{' || !r.Enter() {
		return ""
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		if field, _ := flagsFieldOf(key); field == tokenField && r.Peek() == '"' {
			token, _ := r.Text()
			if r.Fault != nil || token != "" {
				return token
			}
		} else if !r.Skip() {
			return ""
		}
	}
	return ""
}
