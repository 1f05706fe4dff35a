package sdk

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/flags"
)

// This file serves the OpenFeature Remote Evaluation Protocol, OFREP 0.3. It evaluates one flag,
// for OpenFeature's server SDKs, or all flags, for its web and mobile SDKs, which cache them. The
// project's public key is a bearer token or the header X-API-Key.
//
// Limits, quota, GeoIP and inactive flags are those of POST /flags. A request for all flags is
// counted even if the response is 304, because the server has to evaluate the flags to find that
// the response is unchanged. Over the quota both endpoints respond with 429 and Retry-After, the
// only error of the protocol for this case.
//
// The runtime of the caller (§9.9) is found by the browser headers of a request, otherwise by its
// endpoint: in the protocol servers request one flag and clients request all flags.

// OFREPEndpoints returns the endpoints of OFREP.
func (s *Service) OFREPEndpoints() []frame.Endpoint {
	return slices.Concat(
		frame.Serving(forOFREP, ofrepBulk, frame.Methods{"POST": ofrepHandler(s.postOFREPFlags)}),
		frame.Serving(forOFREP, "/ofrep/v1/evaluate/flags/{key}", frame.Methods{"POST": ofrepHandler(s.postOFREPFlag)}),
		frame.Uncompressed(frame.Serving(forOFREP, ofrepEvents, frame.Methods{"GET": ofrepHandler(s.getOFREPEvents)})),
		frame.Serving(forOFREP, "/ofrep/v1/configuration", frame.Methods{"GET": ofrepHandler(s.getOFREPConfiguration)}),
	)
}

// ofrepExpose are the response headers that web pages of other origins may read.
var ofrepExpose = []string{"ETag, Retry-After, x-posthog-rate-limit-warning"}

// ofrepHandler converts the errors of a handler to OFREP's error responses.
func ofrepHandler(h frame.Handler) frame.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if len(r.Header["Origin"]) > 0 {
			w.Header()["Access-Control-Expose-Headers"] = ofrepExpose
		}
		if err := h(w, r); err != nil {
			return ofrepProblem(err, frame.PathValue(r, "key"))
		}
		return nil
	}
}

func answerMissingOFREPMethod(_ *frame.Server, _ *frame.Area, _ http.ResponseWriter, r *http.Request) error {
	return ofrepProblem(&problem.Method, frame.PathValue(r, "key"))
}

// postOFREPFlags evaluates all flags. The ETag is a hash of the response, so it changes if the
// result of a flag changes.
func (s *Service) postOFREPFlags(w http.ResponseWriter, r *http.Request) error {
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	if err := s.decideOFREP(w, r, sc, ""); err != nil {
		return err
	}
	sc.out = appendOFREPFlags(sc.out[:0], &sc.answer.Decisions, s.hint(r))
	tag := ofrepTag(sc.out)
	w.Header()["Etag"] = []string{`W/"` + tag + `"`}
	if matches := r.Header["If-None-Match"]; len(matches) > 0 && frame.MatchesETag(matches, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	frame.Write(w, http.StatusOK, sc.out)
	return nil
}

// appendOFREPFlags appends the response for all flags. A flag whose evaluation failed is an entry
// with an error code. Flags that could not be evaluated at all (§6) have no entry, but set
// errorsWhileComputingFlags in the metadata.
func appendOFREPFlags(b []byte, d *flags.Decisions, hint streamHint) []byte {
	b = append(b, `{"flags":[`...)
	for i := range d.List {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.List[i].AppendOFREP(b)
	}
	b = hint.append(append(b, ']'))
	if d.Errors {
		b = append(b, `,"metadata":{"errorsWhileComputingFlags":true}`...)
	}
	return append(b, '}')
}

func ofrepTag(answer []byte) string {
	high, low := murmur3.Sum128(answer)
	return strconv.FormatUint(high, 36) + strconv.FormatUint(low, 36)
}

// postOFREPFlag evaluates one flag. For an inactive flag the reason is DISABLED and the caller
// uses its default value. If the evaluation failed, the status is 400, because the protocol has
// no other status for a failed evaluation.
func (s *Service) postOFREPFlag(w http.ResponseWriter, r *http.Request) error {
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	key := frame.PathValue(r, "key")
	if err := s.decideOFREP(w, r, sc, key); err != nil {
		return err
	}
	d := sc.answer.Decisions.Find(key)
	if d == nil {
		absent, found := sc.answer.Set.AbsentDecision(key, &sc.request.Selection)
		if !found {
			return &problemOFREPNotFound
		}
		d = &absent
	}
	sc.out = d.AppendOFREP(sc.out[:0])
	status := http.StatusOK
	if _, failed := d.OpenFeature(); failed != "" {
		status = http.StatusBadRequest
	}
	frame.Write(w, status, sc.out)
	return nil
}

// decideOFREP evaluates one flag, or all flags if key is empty. It checks the limits by address
// and by key, then the body, then calls the Decider.
func (s *Service) decideOFREP(w http.ResponseWriter, r *http.Request, sc *scratch, key string) error {
	token := ofrepKey(r)
	if token == "" {
		return &problemOFREPNoKey
	}
	if s.limits.Enabled {
		address := s.ClientIP(r).String()
		limited := token
		if len(token) > admission.MaxLimitedToken {
			limited = "ip:" + address
		}
		if !s.limits.IP.Allow(w, address) || !s.limits.Token.Allow(w, limited) {
			return &problemRateLimited
		}
	}
	if err := s.readOFREP(w, r, sc, token); err != nil {
		sc.releaseDelayed()
		return err
	}
	b, req := &sc.body, &sc.request
	req.APIKey, req.NoDistinctID, req.GeoIPDisable = token, !b.HasDistinctID, b.GeoIPDisable
	req.Subject = flags.Subject{
		DistinctID: b.DistinctID, AnonymousID: b.AnonDistinctID,
		Groups: b.Groups, Person: b.PersonProperties, GroupProperties: b.GroupProperties,
	}
	if !b.GeoIPDisable {
		req.IP, req.IPFromHeader = s.LocatedIP(r)
	}
	req.Selection = flags.Selection{Runtime: ofrepRuntime(r.Header, key == "")}
	if key != "" {
		if len(key) > maxOFREPKey {
			return &problemOFREPNotFound
		}
		b.FlagKeys = append(b.FlagKeys[:0], key)
		req.Selection.Keys = b.FlagKeys
	}
	if key == "" && strings.Contains(r.URL.RawQuery, versionParameter) {
		s.catchUp(r, token)
	}
	if err := s.Decider.Decide(r.Context(), req, &sc.answer); err != nil {
		return unknownOFREPKey(err, token)
	}
	if sc.answer.QuotaLimited {
		return &problemOFREPQuota
	}
	s.Usage.Add(token, frame.UsageFlags, frame.PublicKey, frame.SDKOf(r), 1)
	s.Evaluations.add(token, sc.answer.Decisions.List)
	return nil
}

// readOFREP reads the body of a request. If the body may be large, readOFREP checks the project
// key first.
func (s *Service) readOFREP(w http.ResponseWriter, r *http.Request, sc *scratch, token string) error {
	s.begin(sc, w, r)
	if r.ContentLength < 0 || r.ContentLength > unpack.FirstRead || frame.Header(r.Header, "Content-Encoding") != "" {
		if _, _, err := s.Decider.Project(r.Context(), token); errors.Is(err, flags.ErrUnknownKey) {
			sc.lease.RefusalDelay = admission.LargeDelay
			return unknownOFREPKey(err, token)
		}
	}
	body, err := s.readUnpacked(r, "", sc)
	if err != nil {
		return err
	}
	fault, code := parseOFREPBody(body, &sc.body)
	switch {
	case fault == nil:
		return nil
	case fault.Err != nil:
		return fault.Err
	}
	return ofrepFault(fault, code)
}

// unknownOFREPKey returns the error for an unknown key. Secret and personal keys have an error of
// their own.
func unknownOFREPKey(err error, token string) error {
	if errors.Is(err, flags.ErrUnknownKey) && frame.UsageKey(token) != frame.PublicKey {
		return &problemOFREPSecretKey
	}
	return err
}

// ofrepRuntime returns the runtime of the caller, client or server; all reports whether the
// request is for all flags. Sec-Fetch-Mode does not mark a browser here, because Node sends it
// too.
func ofrepRuntime(h http.Header, all bool) string {
	if agents := h["User-Agent"]; len(agents) > 0 {
		switch {
		case containsAny(agents[0], browserMarks):
			return "client"
		case containsAny(agents[0], serverMarks):
			return "server"
		}
	}
	if all || len(h["Origin"]) > 0 {
		return "client"
	}
	return "server"
}

// ofrepConfiguration is the document of the protocol's configuration endpoint, which was removed
// from OFREP before 0.2. Providers of earlier versions read from it that they may poll, the
// shortest polling interval in milliseconds, and that server providers must not cache results.
const ofrepConfiguration = `{"name":"bunting","capabilities":{` +
	`"cacheInvalidation":{"polling":{"enabled":true,"minPollingIntervalMs":30000}},` +
	`"flagEvaluation":{"supportedTypes":["boolean","string","int","float","object"]},` +
	`"caching":{"enabled":false}}}`

var ofrepConfigurationTag = ofrepTag([]byte(ofrepConfiguration))

func (s *Service) getOFREPConfiguration(w http.ResponseWriter, r *http.Request) error {
	token := ofrepKey(r)
	if token == "" {
		return &problemOFREPNoKey
	}
	if s.limits.Enabled && !s.limits.IP.Allow(w, s.ClientIP(r).String()) {
		return &problemRateLimited
	}
	if _, _, err := s.Decider.Project(r.Context(), token); err != nil {
		return err
	}
	w.Header()["Etag"] = []string{`W/"` + ofrepConfigurationTag + `"`}
	if frame.MatchesETag(r.Header["If-None-Match"], ofrepConfigurationTag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	frame.Write(w, http.StatusOK, []byte(ofrepConfiguration))
	return nil
}

var forOFREP = &frame.Area{Prefixes: frame.NoPrefix, Pages: true, Allow: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions}, Missing: answerMissingOFREPMethod}
