package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/flags"
)

// This file answers the OpenFeature Remote Evaluation Protocol, OFREP 0.3: one flag
// (what OpenFeature's server SDKs ask for) and all flags (what its web and mobile
// SDKs keep). The project's public key comes as a bearer token or in X-API-Key.
//
// Limits, quota, GeoIP and inactive flags are those of POST /flags. An evaluation
// that ends in 304 is one all the same and is counted: only the answer could tell
// that nothing has changed. Over the quota both answer 429, the one refusal that
// the protocol has for it, with Retry-After.
//
// What a request is for (§9.9) is told by its browser headers, else by what it asks:
// the protocol gives one flag to servers and all flags to clients.

const (
	ofrepBulk   = "/ofrep/v1/evaluate/flags"
	ofrepEvents = "/ofrep/v1/events"
	// maxOFREPKey is the longest flag key that is looked up, in bytes.
	maxOFREPKey = 1024
)

// ofrepEndpoints are the rows of OFREP.
var ofrepEndpoints = slices.Concat(
	serving(forOFREP, ofrepBulk, methods{"POST": ofrepHandler(postOFREPFlags)}),
	serving(forOFREP, "/ofrep/v1/evaluate/flags/{key}", methods{"POST": ofrepHandler(postOFREPFlag)}),
	uncompressed(serving(forOFREP, ofrepEvents, methods{"GET": ofrepHandler(getOFREPEvents)})),
	serving(forOFREP, "/ofrep/v1/configuration", methods{"GET": ofrepHandler(getOFREPConfiguration)}),
)

// ofrepExpose are the headers that pages of other origins may read.
var ofrepExpose = []string{"ETag, Retry-After, x-posthog-rate-limit-warning"}

// ofrepHandler gives the errors of a handler OFREP's form.
func ofrepHandler(h handler) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		if len(r.Header["Origin"]) > 0 {
			w.Header()["Access-Control-Expose-Headers"] = ofrepExpose
		}
		if err := h(s, w, r); err != nil {
			return ofrepProblem(err, parameter(r, "key"))
		}
		return nil
	}
}

func answerMissingOFREPMethod(_ *server, _ *area, _ http.ResponseWriter, r *http.Request) error {
	return ofrepProblem(&problemMethod, parameter(r, "key"))
}

// postOFREPFlags answers for all flags. The ETag is a hash of the answer, so it
// changes when any flag's answer does.
func postOFREPFlags(s *server, w http.ResponseWriter, r *http.Request) error {
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	if err := s.decideOFREP(w, r, sc, ""); err != nil {
		return err
	}
	sc.out = appendOFREPFlags(sc.out[:0], &sc.answer.Decisions, s.hint(r))
	tag := ofrepTag(sc.out)
	w.Header()["Etag"] = []string{`W/"` + tag + `"`}
	if matches := r.Header["If-None-Match"]; len(matches) > 0 && matchesETag(matches, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	s.write(w, http.StatusOK, sc.out)
	return nil
}

// appendOFREPFlags writes the answer for all flags. A flag that failed is an entry
// with an error code; flags that are not answered at all (§6) show in metadata.
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

// postOFREPFlag answers for one flag. An inactive one is DISABLED and leaves the
// value to the caller's default; one that failed is 400, where the protocol puts it
// whoever's fault it is.
func postOFREPFlag(s *server, w http.ResponseWriter, r *http.Request) error {
	sc := s.scratch.Get().(*scratch)
	defer s.release(sc)
	key := parameter(r, "key")
	if err := s.decideOFREP(w, r, sc, key); err != nil {
		return err
	}
	d := sc.answer.Decisions.Find(key)
	if d == nil {
		absent := flags.Decision{Key: key, Reason: flags.Reason{Condition: flags.NoCondition}}
		switch set, sel := sc.answer.Set, &sc.request.Selection; {
		case set.IsDisabled(key, sel):
			absent.Reason.Code = flags.FlagDisabled
		case set.IsUnanswered(key, sel):
			absent.Reason.Code = flags.FlagCycle
		default:
			return &problemOFREPNotFound
		}
		d = &absent
	}
	sc.out = d.AppendOFREP(sc.out[:0])
	status := http.StatusOK
	if _, failed := d.OpenFeature(); failed != "" {
		status = http.StatusBadRequest
	}
	s.write(w, status, sc.out)
	return nil
}

// decideOFREP decides one flag, or all when key is empty: limits by address and by
// key, the body, then what the Decider checks.
func (s *server) decideOFREP(w http.ResponseWriter, r *http.Request, sc *scratch, key string) error {
	token := ofrepKey(r)
	if token == "" {
		return &problemOFREPNoKey
	}
	if s.limits.enabled {
		address := s.clientIP(r).String()
		limited := token
		if len(token) > maxLimitedToken {
			limited = "ip:" + address
		}
		if !s.limits.ip.allow(s, w, address) || !s.limits.token.allow(s, w, limited) {
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
		req.IP, req.IPFromHeader = s.locatedIP(r)
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
	s.usage.add(token, usageFlags, publicKey, sdkOf(r), 1)
	s.evaluations.add(token, sc.answer.Decisions.List)
	return nil
}

// readOFREP reads the body. The key of a long one is looked up before.
func (s *server) readOFREP(w http.ResponseWriter, r *http.Request, sc *scratch, token string) error {
	s.begin(sc, w, r)
	if r.ContentLength < 0 || r.ContentLength > firstRead || header(r.Header, "Content-Encoding") != "" {
		if _, _, err := s.Decider.Project(r.Context(), token); errors.Is(err, flags.ErrUnknownKey) {
			sc.lease.refusalDelay = largeDelay
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

// unknownOFREPKey tells whoever sends a key of another kind.
func unknownOFREPKey(err error, token string) error {
	if errors.Is(err, flags.ErrUnknownKey) && usageKey(token) != publicKey {
		return &problemOFREPSecretKey
	}
	return err
}

// ofrepKey is the key that a request brings, empty for none.
func ofrepKey(r *http.Request) string {
	if key := bearer(r); key != "" {
		return key
	}
	if keys := r.Header["X-Api-Key"]; len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// ofrepRuntime tells where the caller runs. What Node sends (Sec-Fetch-Mode) does
// not count as a browser's here.
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

// ofrepConfiguration is what the protocol's configuration told providers until it
// was taken out of OFREP before 0.2: that polling is welcome and how often, in
// milliseconds, and that answers are not to be kept by server providers.
const ofrepConfiguration = `{"name":"bunting","capabilities":{` +
	`"cacheInvalidation":{"polling":{"enabled":true,"minPollingIntervalMs":30000}},` +
	`"flagEvaluation":{"supportedTypes":["boolean","string","int","float","object"]},` +
	`"caching":{"enabled":false}}}`

var ofrepConfigurationTag = ofrepTag([]byte(ofrepConfiguration))

func getOFREPConfiguration(s *server, w http.ResponseWriter, r *http.Request) error {
	token := ofrepKey(r)
	if token == "" {
		return &problemOFREPNoKey
	}
	if s.limits.enabled && !s.limits.ip.allow(s, w, s.clientIP(r).String()) {
		return &problemRateLimited
	}
	if _, _, err := s.Decider.Project(r.Context(), token); err != nil {
		return err
	}
	w.Header()["Etag"] = []string{`W/"` + ofrepConfigurationTag + `"`}
	if matchesETag(r.Header["If-None-Match"], ofrepConfigurationTag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	s.write(w, http.StatusOK, []byte(ofrepConfiguration))
	return nil
}
